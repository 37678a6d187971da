import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { HookContext, ResourceDefinition, ResourceHooks } from "../../definition.ts";
import { isNeverStored } from "../claimable-types.ts";
import { type AnsweredClaim, bindingClaims, claimedGroup, selectorTakes } from "../claims.ts";
import { type Directory, storages } from "../directory.ts";
import {
  claimLabelPrefix,
  claimValue,
  clusterAnnotation,
  exportLabel,
  pathAnnotation,
  reflexiveClaimValue,
} from "../names.ts";

type Named = Readonly<{ group: string; plural: string; storage: string }>;
type Label = Readonly<{ claim: AnsweredClaim; key: string; value: string }>;

/** Types whose objects say by which path their workspace is reached. */
const withPath: ReadonlySet<string> = new Set([
  "apiexports.apis.kcp.io",
  "apibindings.apis.kcp.io",
  "workspacetypes.tenancy.kcp.io",
  "cachedresources.cache.kcp.io",
]);

/** Gives a type the rules that hold for every object in kcp: it says where it is, and who besides its owners may see it. */
export function createEveryObjectRules(directory: Directory): (definition: ResourceDefinition) => ResourceDefinition {
  const known = new WeakMap<ResourceDefinition, ResourceDefinition>();
  return (definition) => {
    const decorated = known.get(definition) ?? withHooks(definition, withRules(directory, definition));
    known.set(definition, decorated);
    known.set(decorated, decorated);
    return decorated;
  };
}

/** Copies a definition without looking at its schema, which may not be there before someone asks for it. */
function withHooks(definition: ResourceDefinition, hooks: ResourceHooks): ResourceDefinition {
  const properties = { ...Object.getOwnPropertyDescriptors(definition), hooks: { value: hooks, enumerable: true } };
  // The same fields as before, hooks included, which the compiler cannot see through property descriptors.
  return Object.defineProperties({}, properties) as ResourceDefinition;
}

function withRules(directory: Directory, definition: ResourceDefinition): ResourceHooks {
  const { hooks } = definition;
  const admit = (object: KubeObject, context: HookContext): void => {
    locate(directory, definition, object, context.cluster);
    setClaimLabels(object, claimLabels(directory, context.cluster, definition, object));
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
      locate(directory, definition, object, context.cluster);
    },
  };
}

function locate(directory: Directory, { group, plural }: Named, object: KubeObject, cluster: string): void {
  const annotations: Record<string, string> = { ...object.metadata.annotations, [clusterAnnotation]: cluster };
  const isLogicalCluster = plural === "logicalclusters" && group === "core.kcp.io";
  if (!isLogicalCluster && (withPath.has(`${plural}.${group}`) || annotations[pathAnnotation] !== undefined)) {
    annotations[pathAnnotation] = directory.pathOf(cluster);
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

/** The labels that the accepted claims of a binding put on objects; stored bindings never change, so this is kept. */
function labelsOf(binding: KubeObject): readonly Label[] {
  const known = labelsOfBindings.get(binding);
  if (known !== undefined) return known;
  const mark = binding.metadata.labels?.[exportLabel];
  const labels =
    mark === undefined
      ? []
      : bindingClaims(binding)
          .filter(({ accepted }) => accepted)
          .map((claim) => ({ claim, key: claimLabelPrefix + mark, value: claimValue(claim) }));
  labelsOfBindings.set(binding, labels);
  return labels;
}

function claimLabels(
  directory: Directory,
  cluster: string,
  { group, plural, storage }: Named,
  object: KubeObject,
): Readonly<Record<string, string>> {
  if (isNeverStored(group)) return {};
  const labels: Record<string, string> = {};
  for (const binding of directory.bindings(cluster)) {
    for (const { claim, key, value } of labelsOf(binding)) {
      if (claim.resource !== plural || claim.group !== claimedGroup(group, plural)) continue;
      if (selectorTakes(claim.selector, object.metadata.labels)) labels[key] = value;
    }
    // A binding is seen by the export that it binds, though nobody claimed it; from its second write on, as in kcp.
    if (storage === storages.bindings && binding.metadata.name === object.metadata.name) {
      const mark = binding.metadata.labels?.[exportLabel];
      const isKnown = textOfPhase(binding) !== "";
      if (mark !== undefined && isKnown) labels[claimLabelPrefix + mark] ??= reflexiveClaimValue;
    }
  }
  return labels;
}

function textOfPhase(binding: KubeObject): string {
  const { status } = binding;
  return typeof status === "object" && status !== null && "phase" in status ? String(status.phase) : "";
}
