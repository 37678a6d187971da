import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { matchesFields, matchesLabels, parseFieldSelector, parseLabelSelector } from "@tmc/kube/selector.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { badRequest } from "../machinery/api-errors.ts";
import { freezeJson } from "./frozen-json.ts";
import type { ObjectSelection } from "./operations.ts";
import type { StorageChange } from "./store.ts";

/** A parsed selection. */
export type Matcher = Readonly<{
  matches: (object: KubeObject) => boolean;
  /** True without label and field selector; then a list can count its remaining items. */
  selectsAll: boolean;
  /** Set if a field selector requires one name. */
  name: string | undefined;
}>;

/** Parses the selectors for a type; throws 400 with the message of a real server. */
export function createMatcher(definition: ResourceDefinition, selection: ObjectSelection): Matcher {
  const { labelSelector = "", fieldSelector = "", visible } = selection;
  const labels = parseSelector(() => parseLabelSelector(labelSelector));
  const fields = parseSelector(() => parseFieldSelector(fieldSelector));
  for (const { field } of fields) checkField(definition, field);

  const readField = (object: KubeObject, field: string): string | undefined => {
    if (field === "metadata.name") return object.metadata.name;
    if (field === "metadata.namespace") return object.metadata.namespace;
    return definition.selectableFields?.[field]?.(object);
  };
  return {
    name: fields.find(({ field, equals }) => field === "metadata.name" && equals)?.value,
    selectsAll: labels.length === 0 && fields.length === 0,
    matches: (object) =>
      (visible === undefined || visible(object)) &&
      (labels.length === 0 || matchesLabels(labels, object.metadata.labels)) &&
      (fields.length === 0 || matchesFields(fields, (field) => readField(object, field))),
  };
}

function parseSelector<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
}

function checkField({ flavor, selectableFields }: ResourceDefinition, field: string): void {
  if (field === "metadata.name" || field === "metadata.namespace") return;
  if (selectableFields !== undefined && Object.hasOwn(selectableFields, field)) return;
  // Only built-in types without selectable fields list the supported ones in the error.
  if (flavor === "builtin" && selectableFields === undefined) {
    throw badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
  }
  throw badRequest(`field label not supported: ${field}`);
}

export type SelectedEvent = Readonly<{ type: StorageChange["type"]; object: KubeObject; revision: number }>;

/** Converts a change to the event that a watcher with a selector gets: an object that stops matching is DELETED. */
export function selectChange(matcher: Matcher, change: StorageChange): SelectedEvent | undefined {
  const { type, object, previous, revision } = change;
  const before = previous !== undefined && matcher.matches(previous);
  if (type === "DELETED") return before ? { type, object, revision } : undefined;
  const now = matcher.matches(object);
  if (now) return { type: before ? "MODIFIED" : "ADDED", object, revision };
  if (!before || previous === undefined) return undefined;
  return { type: "DELETED", object: atRevision(previous, revision), revision };
}

const restamped = new WeakMap<KubeObject, KubeObject>();

/** A previous version of an object with the revision of the change that removed it from the selection. */
function atRevision(object: KubeObject, revision: number): KubeObject {
  const known = restamped.get(object);
  if (known !== undefined) return known;
  const copy: KubeObject = freezeJson({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(revision) },
  });
  // Each version is replaced by exactly one change, so all watchers share the copy.
  restamped.set(object, copy);
  return copy;
}

const converted = new WeakMap<KubeObject, Map<string, KubeObject>>();

/** `apps/v1`; in the core group just `v1`. */
export const servedApiVersion = ({ group, version }: ResourceDefinition): string =>
  group === "" ? version : `${group}/${version}`;

/** Converts a stored object to a served version. Most versions of a type differ only in apiVersion. */
export function toServedVersion(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const apiVersion = servedApiVersion(definition);
  if (object.apiVersion === apiVersion && object.kind === definition.kind) return object;
  const key = `${apiVersion}/${definition.kind}`;
  const versions = converted.get(object) ?? new Map<string, KubeObject>();
  converted.set(object, versions);
  const known = versions.get(key);
  if (known !== undefined) return known;
  const shown = definition.conversion?.fromStored(object) ?? object;
  const copy: KubeObject = freezeJson({ ...shown, apiVersion, kind: definition.kind });
  versions.set(key, copy);
  return copy;
}

/** Converts an object of a served version to the stored one. */
export const toStoredVersion = ({ conversion }: ResourceDefinition, object: KubeObject): KubeObject =>
  conversion === undefined ? object : conversion.toStored(object);
