import type { Clock } from "@tmc/kube/clock.ts";
import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { cleanupFinalizer, isEstablished } from "../builtin/rules/custom-resource-definitions.ts";
import { serverUser } from "../builtin/subresources.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import { type MutableFields, recordAt, recordsAt, textsAt } from "../machinery/fields.ts";
import type { Schema } from "../machinery/schema.ts";
import type { Operations } from "../storage/operations.ts";
import type { Store } from "../storage/store.ts";
import { allVerbs, type PrinterColumn, type ResourceDefinition } from "./definition.ts";
import { findByJsonPath } from "./table.ts";

/** Storage name of custom resource definitions. */
export const crdStorage = "customresourcedefinitions.apiextensions.k8s.io";

/**
 * Returns the types of a custom resource definition, one per served version; none before it is established. Results are
 * cached per stored object.
 */
export function customDefinitionsOf(crd: KubeObject): readonly ResourceDefinition[] {
  const known = definitionsByCrd.get(crd);
  if (known !== undefined) return known;
  const definitions = isEstablished(crd)
    ? recordsAt(crd, "spec", "versions")
        .filter(({ served }) => served === true)
        .map((version) => defineVersion(crd, version))
    : [];
  definitionsByCrd.set(crd, definitions);
  return definitions;
}

// Stored objects are immutable, so a changed definition is a new key.
const definitionsByCrd = new WeakMap<KubeObject, readonly ResourceDefinition[]>();

function defineVersion(crd: KubeObject, version: MutableFields): ResourceDefinition {
  const spec = recordAt(crd, "spec");
  const names = recordAt(crd, "status", "acceptedNames");
  const group = textAt(spec, "group");
  const plural = textAt(names, "plural");
  const kind = textAt(names, "kind");
  const scale = valueAt(version, "subresources", "scale");
  const labelSelectorPath = textAt(scale, "labelSelectorPath");
  const selectable = recordsAt(version, "selectableFields").map((item) => textAt(item, "jsonPath"));
  return {
    group,
    version: textAt(version, "name"),
    plural,
    singular: textAt(names, "singular") || kind.toLowerCase(),
    kind,
    listKind: textAt(names, "listKind") || `${kind}List`,
    shortNames: textsAt(names, "shortNames"),
    categories: textsAt(names, "categories"),
    namespaced: spec.scope === "Namespaced",
    verbs: allVerbs,
    // Validated when the definition was written.
    schema: recordAt(version, "schema", "openAPIV3Schema") as Schema,
    flavor: "custom",
    status: isRecord(valueAt(version, "subresources", "status")),
    ...(isRecord(scale)
      ? {
          scale: {
            specReplicasPath: textAt(scale, "specReplicasPath"),
            statusReplicasPath: textAt(scale, "statusReplicasPath"),
            ...(labelSelectorPath === "" ? {} : { labelSelectorPath }),
          },
        }
      : {}),
    columns: recordsAt(version, "additionalPrinterColumns").map(defineColumn),
    ...(selectable.length === 0 ? {} : { selectableFields: Object.fromEntries(selectable.map(defineSelectable)) }),
    storage: `${plural}.${group}`,
    ...(crd.metadata.deletionTimestamp === undefined ? {} : { hooks: { prepareCreate: rejectCreate } }),
  };
}

const columnTypes: readonly PrinterColumn["type"][] = ["string", "integer", "number", "boolean", "date"];

function defineColumn(column: MutableFields): PrinterColumn {
  const { format, priority } = column;
  const jsonPath = textAt(column, "jsonPath");
  return {
    name: textAt(column, "name"),
    type: columnTypes.find((type) => type === column.type) ?? "string",
    description: textAt(column, "description") || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    ...(typeof format === "string" ? { format } : {}),
    ...(typeof priority === "number" ? { priority } : {}),
    jsonPath,
  };
}

function defineSelectable(path: string): [string, (object: KubeObject) => string] {
  return [path.replace(/^\./, ""), (object) => String(findByJsonPath(object, path)[0] ?? "")];
}

function rejectCreate(): never {
  const message = "create not allowed while custom resource definition is terminating";
  throw new ApiFailure(405, "MethodNotAllowed", message);
}

/**
 * Decides the status of a definition, given all definitions of its logical cluster. Its names are accepted unless
 * another definition of the group has them; then it is established. Returns undefined if the status is up to date.
 */
export function decideCrdStatus(crd: KubeObject, all: readonly KubeObject[], now: number): MutableFields | undefined {
  const taken = all
    .filter((other) => other.metadata.name !== crd.metadata.name)
    .filter((other) => valueAt(other, "spec", "group") === valueAt(crd, "spec", "group"))
    .map((other) => recordAt(other, "status", "acceptedNames"));
  const resources = new Set(
    taken.flatMap((names) => [textAt(names, "plural"), textAt(names, "singular"), ...textsAt(names, "shortNames")]),
  );
  const kinds = new Set(taken.flatMap((names) => [textAt(names, "kind"), textAt(names, "listKind")]));

  const requested = recordAt(crd, "spec", "names");
  const before = recordAt(crd, "status", "acceptedNames");
  const accepted: MutableFields = { kind: "", plural: "", ...before };
  let conflict: Readonly<{ reason: string; message: string }> | undefined;
  const accept = (name: string, isTaken: boolean, reason: string, shown: string): void => {
    if (isTaken) conflict = { reason, message: `${JSON.stringify(shown)} is already in use` };
    else if (requested[name] === undefined) delete accepted[name];
    else accepted[name] = requested[name];
  };
  for (const [name, reason, names] of [
    ["plural", "PluralConflict", resources],
    ["singular", "SingularConflict", resources],
  ] as const) {
    accept(name, names.has(textAt(requested, name)), reason, textAt(requested, name));
  }
  const takenShort = textsAt(requested, "shortNames").find((name) => resources.has(name));
  accept("shortNames", takenShort !== undefined, "ShortNamesConflict", takenShort ?? "");
  for (const [name, reason, names] of [
    ["kind", "KindConflict", kinds],
    ["listKind", "ListKindConflict", kinds],
  ] as const) {
    accept(name, names.has(textAt(requested, name)), reason, textAt(requested, name));
  }
  accept("categories", false, "", "");

  const at = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
  const conditions = recordsAt(crd, "status", "conditions");
  const namesAccepted =
    conflict === undefined
      ? { status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : { status: "False", ...conflict };
  const established =
    conflict === undefined
      ? { status: "True", reason: "InitialNamesAccepted", message: "the initial names have been accepted" }
      : { status: "False", reason: "NotAccepted", message: "not all names are accepted" };
  const next = [
    changedCondition(conditions, "NamesAccepted", namesAccepted, at),
    // An established definition stays established: its instances must not disappear because of a name conflict.
    isEstablished(crd) ? undefined : changedCondition(conditions, "Established", established, at),
    crd.metadata.deletionTimestamp === undefined
      ? undefined
      : changedCondition(
          conditions,
          "Terminating",
          { status: "True", reason: "InstanceDeletionInProgress", message: "CustomResource deletion is in progress" },
          at,
        ),
  ].filter((condition) => condition !== undefined);
  const isSame = next.length === 0 && JSON.stringify(accepted) === JSON.stringify({ kind: "", plural: "", ...before });
  if (isSame) return undefined;
  const kept = conditions.map((condition) => next.find(({ type }) => type === condition.type) ?? condition);
  const added = next.filter(({ type }) => !conditions.some((condition) => condition.type === type));
  return { ...recordAt(crd, "status"), acceptedNames: accepted, conditions: [...kept, ...added] };
}

type ConditionContent = Readonly<{ status: string; reason: string; message: string }>;

/** Returns the new condition, or undefined if it is unchanged. */
function changedCondition(
  conditions: readonly MutableFields[],
  type: string,
  outcome: ConditionContent,
  at: string,
): MutableFields | undefined {
  const present = conditions.find((condition) => condition.type === type);
  const { status, reason, message } = outcome;
  if (present?.status === status && present.reason === reason && present.message === message) return undefined;
  const since = present?.status === status ? present.lastTransitionTime : at;
  return { lastTransitionTime: since, message, reason, status, type };
}

export type CustomDefinitionsOptions = Readonly<{
  store: Store;
  operations: Operations;
  clock: Clock;
  /** The definition of the CustomResourceDefinition type itself. */
  definition: ResourceDefinition;
}>;

/**
 * Starts the controller that establishes custom resource definitions and deletes their instances with them. Returns a
 * function that stops it.
 */
export function startCustomDefinitionController({
  store,
  operations,
  clock,
  definition,
}: CustomDefinitionsOptions): () => void {
  const queued = new Map<string, Readonly<{ logicalCluster: string; name: string }>>();
  let cancel: (() => void) | undefined;
  const context = { user: serverUser };

  const reconcile = (logicalCluster: string, name: string): void => {
    const crd = store.get({ storage: crdStorage, logicalCluster, namespace: "", name });
    if (crd === undefined) return;
    const target = { definition, logicalCluster, name };
    const status = decideCrdStatus(crd, store.list(crdStorage, { logicalCluster }), clock.now());
    const present =
      status === undefined ? crd : operations.update(target, { ...crd, status }, { ...context, subresource: "status" });
    if (present.metadata.deletionTimestamp !== undefined) deleteInstances(logicalCluster, present);
  };

  const deleteInstances = (logicalCluster: string, crd: KubeObject): void => {
    const finalizers = crd.metadata.finalizers ?? [];
    const type = customDefinitionsOf(crd)[0];
    const storage = storageOf(crd);
    for (const object of store.list(storage, { logicalCluster })) {
      if (type === undefined || object.metadata.deletionTimestamp !== undefined) continue;
      const { namespace, name = "" } = object.metadata;
      operations.delete({ definition: type, logicalCluster, namespace, name }, {}, context);
    }
    if (!finalizers.includes(cleanupFinalizer) || store.list(storage, { logicalCluster }).length > 0) return;
    const metadata = { ...crd.metadata, finalizers: finalizers.filter((name) => name !== cleanupFinalizer) };
    operations.update({ definition, logicalCluster, name: crd.metadata.name ?? "" }, { ...crd, metadata }, context);
  };

  /** Deletes instances whose definition was removed despite its finalizer: no API serves them any more. */
  const removeOrphanedInstances = (logicalCluster: string, crd: KubeObject): void => {
    const storage = storageOf(crd);
    if (store.list(storage, { logicalCluster }).length === 0) return;
    clock.after(0, () => {
      if (
        store.get({ storage: crdStorage, logicalCluster, namespace: "", name: crd.metadata.name ?? "" }) !== undefined
      )
        return;
      for (const { metadata } of store.list(storage, { logicalCluster })) {
        store.delete({ storage, logicalCluster, namespace: metadata.namespace ?? "", name: metadata.name ?? "" });
      }
    });
  };

  const drain = (): void => {
    cancel = undefined;
    const keys = [...queued.values()];
    queued.clear();
    for (const { logicalCluster, name } of keys) {
      try {
        reconcile(logicalCluster, name);
      } catch (error) {
        // Conflict with another writer, whose change enqueues the key again.
        if (!(error instanceof ApiFailure)) throw error;
      }
    }
  };
  const add = (logicalCluster: string, name: string): void => {
    queued.set(`${logicalCluster}|${name}`, { logicalCluster, name });
    cancel ??= clock.after(0, drain);
  };

  for (const crd of store.list(crdStorage)) add(logicalClusterOfObject(crd), crd.metadata.name ?? "");
  const unsubscribe = store.subscribe(({ type, object, key: { storage, logicalCluster, name } }) => {
    if (storage === crdStorage) {
      add(logicalCluster, name);
      if (type === "DELETED") removeOrphanedInstances(logicalCluster, object);
      // The change may have freed a name for another definition.
      if (type !== "ADDED")
        for (const crd of store.list(crdStorage, { logicalCluster })) add(logicalCluster, crd.metadata.name ?? "");
    } else if (type === "DELETED" && !storage.includes(":")) {
      // This may have been the last instance of a terminating definition. A storage is named after its definition.
      if (store.get({ storage: crdStorage, logicalCluster, namespace: "", name: storage }) !== undefined)
        add(logicalCluster, storage);
    }
  });
  return () => {
    unsubscribe();
    cancel?.();
  };
}

function storageOf(crd: KubeObject): string {
  return `${textAt(crd, "spec", "names", "plural")}.${textAt(crd, "spec", "group")}`;
}

/** Objects in kcp carry their logical cluster in an annotation; a Kubernetes cluster has only one. */
function logicalClusterOfObject(object: KubeObject): string {
  return object.metadata.annotations?.["kcp.io/cluster"] ?? "";
}
