import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { listAt, textAt, textsAt, textsByName, valueAt } from "../fields.ts";
import { type Fields, isObject } from "../machinery/json-value.ts";

/** What an export asks for besides its own types, or what a binding grants. */
export type PermissionClaim = Readonly<{
  group: string;
  resource: string;
  verbs: readonly string[];
  identityHash: string;
  defaultSelector?: Fields | undefined;
}>;

/** A claim as a binding answers it. */
export type AnsweredClaim = PermissionClaim & Readonly<{ selector: Fields; accepted: boolean }>;

const claimOf = (value: unknown): PermissionClaim => {
  const defaultSelector = valueAt(value, "defaultSelector");
  return {
    group: textAt(value, "group"),
    resource: textAt(value, "resource"),
    verbs: textsAt(value, "verbs"),
    identityHash: textAt(value, "identityHash"),
    ...(isObject(defaultSelector) ? { defaultSelector } : {}),
  };
};

/** The claims of an APIExport (v1alpha2). */
export const exportClaims = (apiExport: unknown): readonly PermissionClaim[] =>
  listAt(apiExport, "spec", "permissionClaims").map(claimOf);

/** The claims of an APIBinding (v1alpha2). */
export const bindingClaims = (binding: unknown): readonly AnsweredClaim[] =>
  listAt(binding, "spec", "permissionClaims").map((value) => {
    const selector = valueAt(value, "selector");
    return {
      ...claimOf(value),
      selector: isObject(selector) ? selector : {},
      accepted: textAt(value, "state") === "Accepted",
    };
  });

/** Events are one type under two groups. */
export const claimedGroup = (group: string, resource: string): string =>
  resource === "events" && group === "events.k8s.io" ? "" : group;

/** Tells whether two claims are about the same type. */
export const isSameClaim = (a: PermissionClaim, b: PermissionClaim): boolean =>
  a.group === b.group && a.resource === b.resource && a.identityHash === b.identityHash;

/** Tells whether a claim's selector takes in an object with these labels. */
export function selectorTakes(selector: Fields, labels: Readonly<Record<string, string>> | undefined): boolean {
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
