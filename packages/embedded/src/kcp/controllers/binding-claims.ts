import { compareStrings } from "@tmc/kube/compare.ts";
import { textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt } from "../../machinery/fields.ts";
import { isEqual } from "../../machinery/json-value.ts";
import { isNeverStored } from "../claimable-types.ts";
import {
  type BindingClaim,
  bindingClaims,
  claimedGroup,
  exportClaims,
  isSameClaim,
  type PermissionClaim,
} from "../claims.ts";
import type { KcpConditions } from "../conditions.ts";
import { logicalClusterOf } from "../directory.ts";
import type { ControllerWorld } from "./world.ts";

/** Applies the accepted claims of a binding: labels the objects that the export may see and updates the status. */
export function applyClaims(
  world: ControllerWorld,
  binding: KubeObject,
  status: Record<string, unknown>,
  conditions: KcpConditions,
): void {
  const path = textAt(binding, "spec", "reference", "export", "path") || logicalClusterOf(binding);
  const apiExport = world.directory.exportAt(path, textAt(binding, "spec", "reference", "export", "name"));
  if (apiExport === undefined) return;
  const exported = exportClaims(apiExport);
  const accepted = bindingClaims(binding).filter((claim) => claim.accepted);
  const applied = listAt(status, "appliedPermissionClaims");
  const expected = accepted.filter((claim) => exported.some((other) => isSameClaim(other, claim)));
  const inForce = inKeyOrder(expected).map(appliedClaim);

  const isChanged = (claim: unknown, among: readonly unknown[]): boolean =>
    !among.some((other) => isSameType(other, claim) && isEqual(valueAt(other, "selector"), valueAt(claim, "selector")));
  const changed = [
    ...inForce.filter((claim) => isChanged(claim, applied)),
    ...applied.filter((claim) => isChanged(claim, inForce)),
  ];
  for (const claim of changed)
    relabel(world, logicalClusterOf(binding), textAt(claim, "group"), textAt(claim, "resource"));

  status.appliedPermissionClaims = inForce.length === 0 ? undefined : inForce;
  setClaimsValid(conditions, exported, accepted, expected);
  conditions.markTrue("PermissionClaimsApplied");
}

const isSameType = (a: unknown, b: unknown): boolean =>
  textAt(a, "group") === textAt(b, "group") &&
  textAt(a, "resource") === textAt(b, "resource") &&
  textAt(a, "identityHash") === textAt(b, "identityHash");

const appliedClaim = ({ group, resource, identityHash, verbs, selector, defaultSelector }: BindingClaim) => ({
  group,
  identityHash,
  resource,
  selector,
  verbs,
  ...(defaultSelector === undefined ? {} : { defaultSelector }),
});

/** Sorts claims by key, which is kcp's order. */
function inKeyOrder<T extends PermissionClaim>(claims: readonly T[]): T[] {
  const key = ({ resource, group, identityHash }: PermissionClaim): string => `${resource}/${group}/${identityHash}`;
  return claims.toSorted((a, b) => compareStrings(key(a), key(b)));
}

/** Rewrites every object of a type; admission sets the labels of the current claims. */
function relabel(
  { catalogs, client, store }: ControllerWorld,
  logicalCluster: string,
  group: string,
  resource: string,
): void {
  if (isNeverStored(group)) return;
  const definition = catalogs
    .of(logicalCluster)
    .definitions()
    .find((item) => item.plural === resource && item.group === claimedGroup(group, resource));
  if (definition === undefined) return;
  for (const { metadata } of store.list(definition.storage, { logicalCluster })) {
    client.merge(definition, { logicalCluster, namespace: metadata.namespace }, metadata.name ?? "", {});
  }
}

function setClaimsValid(
  conditions: KcpConditions,
  exported: readonly PermissionClaim[],
  accepted: readonly BindingClaim[],
  expected: readonly BindingClaim[],
): void {
  const unexpected = inKeyOrder(accepted.filter((claim) => !expected.includes(claim)));
  const mismatches = inKeyOrder(expected).flatMap((claim) => {
    const exportedClaim = exported.find((other) => isSameClaim(other, claim));
    const parts = exportedClaim === undefined ? [] : differences(claim, exportedClaim);
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

function differences(claim: BindingClaim, exported: PermissionClaim): string[] {
  const isOpen = claim.verbs.includes("*") || exported.verbs.includes("*");
  const sameVerbs = isEqual([...new Set(claim.verbs)].toSorted(), [...new Set(exported.verbs)].toSorted());
  const list = (verbs: readonly string[]): string => `[${verbs.join(" ")}]`;
  return [
    ...(isOpen || sameVerbs ? [] : [`verbs: accepted ${list(claim.verbs)}, exported ${list(exported.verbs)}`]),
    ...(exported.defaultSelector === undefined || isEqual(exported.defaultSelector, claim.selector)
      ? []
      : ["selector differs from defaultSelector"]),
  ];
}
