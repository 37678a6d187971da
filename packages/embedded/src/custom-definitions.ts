import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "./api-failure.ts";
import { cleanupFinalizer, isEstablished } from "./builtin/rules/custom-resource-definitions.ts";
import { serverUser } from "./builtin/subresources.ts";
import { allVerbs, type PrinterColumn, type ResourceDefinition } from "./definition.ts";
import { type Fields, isFields, objectAt, objectsAt, textAt, textsAt, valueAt } from "./fields.ts";
import type { Schema } from "./machinery/schema.ts";
import type { Operations } from "./operations.ts";
import type { Store } from "./store.ts";
import { findByJsonPath } from "./table.ts";

/** Where custom resource definitions are kept. */
export const crdStorage = "customresourcedefinitions.apiextensions.k8s.io";

/**
 * The types that a custom resource definition brings, one for each served version; none before it is established. The
 * same definition always gives the same objects, so that asking again costs nothing.
 */
export function definitionsOf(crd: KubeObject): readonly ResourceDefinition[] {
  const known = made.get(crd);
  if (known !== undefined) return known;
  const definitions = isEstablished(crd)
    ? objectsAt(crd, "spec", "versions")
        .filter(({ served }) => served === true)
        .map((version) => defineVersion(crd, version))
    : [];
  made.set(crd, definitions);
  return definitions;
}

// Stored objects never change: a changed definition is another object.
const made = new WeakMap<KubeObject, readonly ResourceDefinition[]>();

function defineVersion(crd: KubeObject, version: Fields): ResourceDefinition {
  const spec = objectAt(crd, "spec");
  const names = objectAt(crd, "status", "acceptedNames");
  const group = textAt(spec, "group");
  const plural = textAt(names, "plural");
  const kind = textAt(names, "kind");
  const scale = valueAt(version, "subresources", "scale");
  const labelSelectorPath = textAt(scale, "labelSelectorPath");
  const selectable = objectsAt(version, "selectableFields").map((item) => textAt(item, "jsonPath"));
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
    // Checked when the definition was written.
    schema: objectAt(version, "schema", "openAPIV3Schema") as Schema,
    flavour: "custom",
    status: isFields(valueAt(version, "subresources", "status")),
    ...(isFields(scale)
      ? {
          scale: {
            specReplicasPath: textAt(scale, "specReplicasPath"),
            statusReplicasPath: textAt(scale, "statusReplicasPath"),
            ...(labelSelectorPath === "" ? {} : { labelSelectorPath }),
          },
        }
      : {}),
    columns: objectsAt(version, "additionalPrinterColumns").map(defineColumn),
    ...(selectable.length === 0 ? {} : { selectableFields: Object.fromEntries(selectable.map(defineSelectable)) }),
    storage: `${plural}.${group}`,
    ...(crd.metadata.deletionTimestamp === undefined ? {} : { hooks: { prepareCreate: refuseCreate } }),
  };
}

const columnTypes: readonly PrinterColumn["type"][] = ["string", "integer", "number", "boolean", "date"];

function defineColumn(column: Fields): PrinterColumn {
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

function refuseCreate(): never {
  const message = "create not allowed while custom resource definition is terminating";
  throw new ApiFailure(405, "MethodNotAllowed", message);
}

/**
 * What the status of a definition should be, given all definitions of its logical cluster: its names are accepted unless
 * another one of the same group has them, and its types are served from then on. Undefined when it is so already.
 */
export function decideStatus(crd: KubeObject, all: readonly KubeObject[], now: number): Fields | undefined {
  const taken = all
    .filter((other) => other.metadata.name !== crd.metadata.name)
    .filter((other) => valueAt(other, "spec", "group") === valueAt(crd, "spec", "group"))
    .map((other) => objectAt(other, "status", "acceptedNames"));
  const resources = new Set(
    taken.flatMap((names) => [textAt(names, "plural"), textAt(names, "singular"), ...textsAt(names, "shortNames")]),
  );
  const kinds = new Set(taken.flatMap((names) => [textAt(names, "kind"), textAt(names, "listKind")]));

  const wanted = objectAt(crd, "spec", "names");
  const before = objectAt(crd, "status", "acceptedNames");
  const accepted: Fields = { kind: "", plural: "", ...before };
  let conflict: Readonly<{ reason: string; message: string }> | undefined;
  const accept = (name: string, isTaken: boolean, reason: string, shown: string): void => {
    if (isTaken) conflict = { reason, message: `${JSON.stringify(shown)} is already in use` };
    else if (wanted[name] === undefined) delete accepted[name];
    else accepted[name] = wanted[name];
  };
  for (const [name, reason, names] of [
    ["plural", "PluralConflict", resources],
    ["singular", "SingularConflict", resources],
  ] as const) {
    accept(name, names.has(textAt(wanted, name)), reason, textAt(wanted, name));
  }
  const takenShort = textsAt(wanted, "shortNames").find((name) => resources.has(name));
  accept("shortNames", takenShort !== undefined, "ShortNamesConflict", takenShort ?? "");
  for (const [name, reason, names] of [
    ["kind", "KindConflict", kinds],
    ["listKind", "ListKindConflict", kinds],
  ] as const) {
    accept(name, names.has(textAt(wanted, name)), reason, textAt(wanted, name));
  }
  accept("categories", false, "", "");

  const at = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
  const conditions = objectsAt(crd, "status", "conditions");
  const namesAccepted =
    conflict === undefined
      ? { status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : { status: "False", ...conflict };
  const established =
    conflict === undefined
      ? { status: "True", reason: "InitialNamesAccepted", message: "the initial names have been accepted" }
      : { status: "False", reason: "NotAccepted", message: "not all names are accepted" };
  const next = [
    changed(conditions, "NamesAccepted", namesAccepted, at),
    // Once established, a definition stays so: its objects must not vanish because of a name.
    isEstablished(crd) ? undefined : changed(conditions, "Established", established, at),
    crd.metadata.deletionTimestamp === undefined
      ? undefined
      : changed(
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
  return { ...objectAt(crd, "status"), acceptedNames: accepted, conditions: [...kept, ...added] };
}

type Outcome = Readonly<{ status: string; reason: string; message: string }>;

/** The condition as it should be, or undefined when it is so. */
function changed(conditions: readonly Fields[], type: string, outcome: Outcome, at: string): Fields | undefined {
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
  /** The type of custom resource definitions themselves. */
  definition: ResourceDefinition;
}>;

/** Establishes custom resource definitions, and takes their objects along when they go. The answer ends it. */
export function startCustomDefinitions({ store, operations, clock, definition }: CustomDefinitionsOptions): () => void {
  const dirty = new Map<string, Readonly<{ cluster: string; name: string }>>();
  let cancel: (() => void) | undefined;
  const context = { user: serverUser };

  const settle = (cluster: string, name: string): void => {
    const crd = store.get({ storage: crdStorage, cluster, namespace: "", name });
    if (crd === undefined) return;
    const target = { definition, cluster, name };
    const status = decideStatus(crd, store.list(crdStorage, { cluster }), clock.now());
    const present =
      status === undefined ? crd : operations.update(target, { ...crd, status }, { ...context, subresource: "status" });
    if (present.metadata.deletionTimestamp !== undefined) cleanUp(cluster, present);
  };

  const cleanUp = (cluster: string, crd: KubeObject): void => {
    const finalizers = crd.metadata.finalizers ?? [];
    const type = definitionsOf(crd)[0];
    const storage = storageOf(crd);
    for (const object of store.list(storage, { cluster })) {
      if (type === undefined || object.metadata.deletionTimestamp !== undefined) continue;
      const { namespace, name = "" } = object.metadata;
      operations.delete({ definition: type, cluster, namespace, name }, {}, context);
    }
    if (!finalizers.includes(cleanupFinalizer) || store.list(storage, { cluster }).length > 0) return;
    const metadata = { ...crd.metadata, finalizers: finalizers.filter((name) => name !== cleanupFinalizer) };
    operations.update({ definition, cluster, name: crd.metadata.name ?? "" }, { ...crd, metadata }, context);
  };

  /** A definition that someone tore away from its finalizer leaves objects that nobody could reach any more. */
  const removeLeftovers = (cluster: string, crd: KubeObject): void => {
    const storage = storageOf(crd);
    if (store.list(storage, { cluster }).length === 0) return;
    clock.after(0, () => {
      if (store.get({ storage: crdStorage, cluster, namespace: "", name: crd.metadata.name ?? "" }) !== undefined)
        return;
      for (const { metadata } of store.list(storage, { cluster })) {
        store.delete({ storage, cluster, namespace: metadata.namespace ?? "", name: metadata.name ?? "" });
      }
    });
  };

  const work = (): void => {
    cancel = undefined;
    const keys = [...dirty.values()];
    dirty.clear();
    for (const { cluster, name } of keys) {
      try {
        settle(cluster, name);
      } catch (error) {
        // Someone was faster; their change brings the key back.
        if (!(error instanceof ApiFailure)) throw error;
      }
    }
  };
  const add = (cluster: string, name: string): void => {
    dirty.set(`${cluster}|${name}`, { cluster, name });
    cancel ??= clock.after(0, work);
  };

  for (const crd of store.list(crdStorage)) add(clusterOf(crd), crd.metadata.name ?? "");
  const unsubscribe = store.subscribe(({ type, object, key: { storage, cluster, name } }) => {
    if (storage === crdStorage) {
      add(cluster, name);
      if (type === "DELETED") removeLeftovers(cluster, object);
      // A name may have become free for another definition.
      if (type !== "ADDED")
        for (const crd of store.list(crdStorage, { cluster })) add(cluster, crd.metadata.name ?? "");
    } else if (type === "DELETED" && !storage.includes(":")) {
      // Was it the last object of a definition that waits for it? The name of a storage is that of its definition.
      if (store.get({ storage: crdStorage, cluster, namespace: "", name: storage }) !== undefined)
        add(cluster, storage);
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

/** Objects of kcp say which logical cluster they are in; on a plain cluster there is only one. */
function clusterOf(object: KubeObject): string {
  return object.metadata.annotations?.["kcp.io/cluster"] ?? "";
}
