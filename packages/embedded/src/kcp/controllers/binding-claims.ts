import { compareStrings } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt, textAt, valueAt } from "../../fields.ts";
import { isEqual } from "../../machinery/json-value.ts";
import { isNeverStored } from "../claimable-types.ts";
import {
  type AnsweredClaim,
  bindingClaims,
  claimedGroup,
  exportClaims,
  isSameClaim,
  type PermissionClaim,
} from "../claims.ts";
import type { Conditions } from "../conditions.ts";
import { clusterOf } from "../directory.ts";
import type { ControllerWorld } from "./world.ts";

/** Brings the accepted claims of a binding into force: labels what they let the export see, and says so in the status. */
export function applyClaims(
  world: ControllerWorld,
  binding: KubeObject,
  status: Record<string, unknown>,
  conditions: Conditions,
): void {
  const path = textAt(binding, "spec", "reference", "export", "path") || clusterOf(binding);
  const apiExport = world.directory.exportAt(path, textAt(binding, "spec", "reference", "export", "name"));
  if (apiExport === undefined) return;
  const asked = exportClaims(apiExport);
  const accepted = bindingClaims(binding).filter((claim) => claim.accepted);
  const applied = listAt(status, "appliedPermissionClaims");
  const expected = accepted.filter((claim) => asked.some((other) => isSameClaim(other, claim)));
  const inForce = inKeyOrder(expected).map(shown);

  const isChanged = (claim: unknown, among: readonly unknown[]): boolean =>
    !among.some((other) => isSameType(other, claim) && isEqual(valueAt(other, "selector"), valueAt(claim, "selector")));
  const changed = [
    ...inForce.filter((claim) => isChanged(claim, applied)),
    ...applied.filter((claim) => isChanged(claim, inForce)),
  ];
  for (const claim of changed) relabel(world, clusterOf(binding), textAt(claim, "group"), textAt(claim, "resource"));

  status.appliedPermissionClaims = inForce.length === 0 ? undefined : inForce;
  setValidity(conditions, asked, accepted, expected);
  conditions.markTrue("PermissionClaimsApplied");
}

const isSameType = (a: unknown, b: unknown): boolean =>
  textAt(a, "group") === textAt(b, "group") &&
  textAt(a, "resource") === textAt(b, "resource") &&
  textAt(a, "identityHash") === textAt(b, "identityHash");

const shown = ({ group, resource, identityHash, verbs, selector, defaultSelector }: AnsweredClaim) => ({
  group,
  identityHash,
  resource,
  selector,
  verbs,
  ...(defaultSelector === undefined ? {} : { defaultSelector }),
});

/** kcp works on claims as a set of texts, and writes them in their order. */
function inKeyOrder<T extends PermissionClaim>(claims: readonly T[]): T[] {
  const key = ({ resource, group, identityHash }: PermissionClaim): string => `${resource}/${group}/${identityHash}`;
  return claims.toSorted((a, b) => compareStrings(key(a), key(b)));
}

/** Writes every object of a type anew; its labels follow from the claims that are in force. */
function relabel({ catalogs, client, store }: ControllerWorld, cluster: string, group: string, resource: string): void {
  if (isNeverStored(group)) return;
  const definition = catalogs
    .of(cluster)
    .definitions()
    .find((item) => item.plural === resource && item.group === claimedGroup(group, resource));
  if (definition === undefined) return;
  for (const { metadata } of store.list(definition.storage, { cluster })) {
    client.merge(definition, { cluster, namespace: metadata.namespace }, metadata.name ?? "", {});
  }
}

function setValidity(
  conditions: Conditions,
  asked: readonly PermissionClaim[],
  accepted: readonly AnsweredClaim[],
  expected: readonly AnsweredClaim[],
): void {
  const unexpected = inKeyOrder(accepted.filter((claim) => !expected.includes(claim)));
  const mismatches = inKeyOrder(expected).flatMap((claim) => {
    const wanted = asked.find((other) => isSameClaim(other, claim));
    const parts = wanted === undefined ? [] : differences(claim, wanted);
    return parts.length === 0 ? [] : [`${claim.resource}.${claim.group} (${parts.join("; ")})`];
  });
  if (mismatches.length > 0) {
    const first = mismatches.slice(0, 5);
    conditions.markFalse("PermissionClaimsValid", {
      reason: "PermissionClaimsMismatch",
      severity: "Warning",
      message: `${mismatches.length} permission claim(s) have mismatched verbs or selectors (showing first ${first.length}): ${first.join(", ")}`,
    });
  } else if (unexpected.length > 0) {
    const first = unexpected
      .slice(0, 10)
      .map(
        ({ resource, group, identityHash }) =>
          `unexpected/invalid claim for ${resource}.${group} (identity "${identityHash}")`,
      );
    const list = first.length === 1 ? first.join("") : `[${first.join(", ")}]`;
    conditions.markFalse("PermissionClaimsValid", {
      reason: "InvalidPermissionClaims",
      severity: "Error",
      message: `${unexpected.length} unexpected and/or invalid permission claims (showing first ${first.length}): ${list}`,
    });
  } else conditions.markTrue("PermissionClaimsValid");
}

function differences(claim: AnsweredClaim, wanted: PermissionClaim): string[] {
  const isOpen = claim.verbs.includes("*") || wanted.verbs.includes("*");
  const sameVerbs = isEqual([...new Set(claim.verbs)].toSorted(), [...new Set(wanted.verbs)].toSorted());
  const list = (verbs: readonly string[]): string => `[${verbs.join(" ")}]`;
  return [
    ...(isOpen || sameVerbs ? [] : [`verbs: accepted ${list(claim.verbs)}, exported ${list(wanted.verbs)}`]),
    ...(wanted.defaultSelector === undefined || isEqual(wanted.defaultSelector, claim.selector)
      ? []
      : ["selector differs from defaultSelector"]),
  ];
}
