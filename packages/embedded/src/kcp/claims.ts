import { type Fields, isFields, textAt, valueAt } from "@tmc/kube/json.ts";
import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { listAt, textsAt, textsByName } from "../machinery/fields.ts";

/** A permission claim: access that an export requests beyond its own types. */
export type PermissionClaim = Readonly<{
  group: string;
  resource: string;
  verbs: readonly string[];
  identityHash: string;
  defaultSelector?: Fields | undefined;
}>;

/** A permission claim as a binding accepts or rejects it. */
export type BindingClaim = PermissionClaim & Readonly<{ selector: Fields; accepted: boolean }>;

const claimOf = (value: unknown): PermissionClaim => {
  const defaultSelector = valueAt(value, "defaultSelector");
  return {
    group: textAt(value, "group"),
    resource: textAt(value, "resource"),
    verbs: textsAt(value, "verbs"),
    identityHash: textAt(value, "identityHash"),
    ...(isFields(defaultSelector) ? { defaultSelector } : {}),
  };
};

export const exportClaims = (apiExport: unknown): readonly PermissionClaim[] =>
  listAt(apiExport, "spec", "permissionClaims").map(claimOf);

export const bindingClaims = (binding: unknown): readonly BindingClaim[] =>
  listAt(binding, "spec", "permissionClaims").map((value) => {
    const selector = valueAt(value, "selector");
    return {
      ...claimOf(value),
      selector: isFields(selector) ? selector : {},
      accepted: textAt(value, "state") === "Accepted",
    };
  });

/** Events are one type in two groups; claims use the core group. */
export const claimedGroup = (group: string, resource: string): string =>
  resource === "events" && group === "events.k8s.io" ? "" : group;

/** Whether two claims name the same type. */
export const isSameClaim = (a: PermissionClaim, b: PermissionClaim): boolean =>
  a.group === b.group && a.resource === b.resource && a.identityHash === b.identityHash;

/** Whether the selector of a claim matches an object with these labels. */
export function claimSelectorMatches(selector: Fields, labels: Readonly<Record<string, string>> | undefined): boolean {
  if (selector.matchAll === true) return true;
  const expressions = listAt(selector, "matchExpressions").map((item) => ({
    key: textAt(item, "key"),
    operator: textAt(item, "operator"),
    values: textsAt(item, "values"),
  }));
  return matchesLabels(
    selectorFromObject({ matchLabels: textsByName(selector.matchLabels), matchExpressions: expressions }),
    labels ?? {},
  );
}
