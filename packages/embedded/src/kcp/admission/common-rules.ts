import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { HookContext, ResourceDefinition, ResourceHooks } from "../../definitions/definition.ts";
import { isNeverStored } from "../claimable-types.ts";
import { type BindingClaim, bindingClaims, claimedGroup, claimSelectorMatches } from "../claims.ts";
import { type Directory, storages } from "../directory.ts";
import {
  claimLabelPrefix,
  claimValue,
  exportLabel,
  kcpClusterAnnotation,
  pathAnnotation,
  reflexiveClaimValue,
} from "../names.ts";

type Named = Readonly<{ group: string; plural: string; storage: string }>;
type Label = Readonly<{ claim: BindingClaim; key: string; value: string }>;

/** Types whose objects carry the path of their workspace in an annotation. */
const withPath: ReadonlySet<string> = new Set([
  "apiexports.apis.kcp.io",
  "apibindings.apis.kcp.io",
  "workspacetypes.tenancy.kcp.io",
  "cachedresources.cache.kcp.io",
]);

/** Adds the rules for every object in kcp to a definition: location annotations and permission-claim labels. */
export function createCommonRules(directory: Directory): (definition: ResourceDefinition) => ResourceDefinition {
  const known = new WeakMap<ResourceDefinition, ResourceDefinition>();
  return (definition) => {
    const decorated = known.get(definition) ?? withHooks(definition, withRules(directory, definition));
    known.set(definition, decorated);
    known.set(decorated, decorated);
    return decorated;
  };
}

/** Copies a definition without reading `schema`, which is linked on first access. */
function withHooks(definition: ResourceDefinition, hooks: ResourceHooks): ResourceDefinition {
  const properties = { ...Object.getOwnPropertyDescriptors(definition), hooks: { value: hooks, enumerable: true } };
  // The compiler cannot infer the type through property descriptors.
  return Object.defineProperties({}, properties) as ResourceDefinition;
}

function withRules(directory: Directory, definition: ResourceDefinition): ResourceHooks {
  const { hooks } = definition;
  const admit = (object: KubeObject, context: HookContext): void => {
    setLocationAnnotations(directory, definition, object, context.logicalCluster);
    setClaimLabels(object, claimLabels(directory, context.logicalCluster, definition, object));
  };
  return {
    ...hooks,
    prepareCreate: (object, context) => {
      hooks?.prepareCreate?.(object, context);
      admit(object, context);
    },
    prepareUpdate: (object, old, context) => {
      hooks?.prepareUpdate?.(object, old, context);
      admit(object, context);
    },
    prepareStatus: (object, old, context) => {
      hooks?.prepareStatus?.(object, old, context);
      setLocationAnnotations(directory, definition, object, context.logicalCluster);
    },
  };
}

function setLocationAnnotations(
  directory: Directory,
  { group, plural }: Named,
  object: KubeObject,
  logicalCluster: string,
): void {
  const annotations: Record<string, string> = {
    ...object.metadata.annotations,
    [kcpClusterAnnotation]: logicalCluster,
  };
  const isLogicalCluster = plural === "logicalclusters" && group === "core.kcp.io";
  if (!isLogicalCluster && (withPath.has(`${plural}.${group}`) || annotations[pathAnnotation] !== undefined)) {
    annotations[pathAnnotation] = directory.pathOf(logicalCluster);
  }
  object.metadata.annotations = annotations;
}

function setClaimLabels(object: KubeObject, expected: Readonly<Record<string, string>>): void {
  const labels = object.metadata.labels ?? {};
  const others = Object.entries(labels).filter(([key]) => !key.startsWith(claimLabelPrefix));
  const all = { ...Object.fromEntries(others), ...expected };
  if (Object.keys(all).length > 0) object.metadata.labels = all;
  else delete object.metadata.labels;
}

const labelsOfBindings = new WeakMap<KubeObject, readonly Label[]>();

/** Labels that the accepted claims of a binding put on objects. Cached: stored bindings are immutable. */
function labelsOf(binding: KubeObject): readonly Label[] {
  const known = labelsOfBindings.get(binding);
  if (known !== undefined) return known;
  const hash = binding.metadata.labels?.[exportLabel];
  const labels =
    hash === undefined
      ? []
      : bindingClaims(binding)
          .filter(({ accepted }) => accepted)
          .map((claim) => ({ claim, key: claimLabelPrefix + hash, value: claimValue(claim) }));
  labelsOfBindings.set(binding, labels);
  return labels;
}

function claimLabels(
  directory: Directory,
  logicalCluster: string,
  { group, plural, storage }: Named,
  object: KubeObject,
): Readonly<Record<string, string>> {
  if (isNeverStored(group)) return {};
  const labels: Record<string, string> = {};
  for (const binding of directory.bindings(logicalCluster)) {
    for (const { claim, key, value } of labelsOf(binding)) {
      if (claim.resource !== plural || claim.group !== claimedGroup(group, plural)) continue;
      if (claimSelectorMatches(claim.selector, object.metadata.labels)) labels[key] = value;
    }
    // An export always sees the bindings to it, without a claim; as in kcp, from their second write on.
    if (storage === storages.bindings && binding.metadata.name === object.metadata.name) {
      const hash = binding.metadata.labels?.[exportLabel];
      const isKnown = phaseOf(binding) !== "";
      if (hash !== undefined && isKnown) labels[claimLabelPrefix + hash] ??= reflexiveClaimValue;
    }
  }
  return labels;
}

function phaseOf(binding: KubeObject): string {
  const { status } = binding;
  return typeof status === "object" && status !== null && "phase" in status ? String(status.phase) : "";
}
