import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { matchesFields, matchesLabels, parseFieldSelector, parseLabelSelector } from "@tmc/kube/selector.ts";
import { badRequest } from "./api-errors.ts";
import type { ResourceDefinition } from "./definition.ts";
import { freezeJson } from "./frozen-json.ts";
import type { Selection } from "./operations.ts";
import type { Change } from "./store.ts";

/** A selection, read once and asked for many objects. */
export type Matcher = Readonly<{
  matches: (object: KubeObject) => boolean;
  /** True where neither labels nor fields were selected, so that what remains of a list can be counted. */
  everything: boolean;
  /** Where a field selector names the one object that is wanted. */
  name: string | undefined;
}>;

/** Reads a selection's selectors for a type; throws 400 in the words of a real server. */
export function createMatcher(definition: ResourceDefinition, selection: Selection): Matcher {
  const { labelSelector = "", fieldSelector = "", visible } = selection;
  const labels = readSelector(() => parseLabelSelector(labelSelector));
  const fields = readSelector(() => parseFieldSelector(fieldSelector));
  for (const { field } of fields) checkField(definition, field);

  const readField = (object: KubeObject, field: string): string | undefined => {
    if (field === "metadata.name") return object.metadata.name;
    if (field === "metadata.namespace") return object.metadata.namespace;
    return definition.selectableFields?.[field]?.(object);
  };
  return {
    name: fields.find(({ field, equals }) => field === "metadata.name" && equals)?.value,
    everything: labels.length === 0 && fields.length === 0,
    matches: (object) =>
      (visible === undefined || visible(object)) &&
      (labels.length === 0 || matchesLabels(labels, object.metadata.labels)) &&
      (fields.length === 0 || matchesFields(fields, (field) => readField(object, field))),
  };
}

function readSelector<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
}

function checkField({ flavour, selectableFields }: ResourceDefinition, field: string): void {
  if (field === "metadata.name" || field === "metadata.namespace") return;
  if (selectableFields !== undefined && Object.hasOwn(selectableFields, field)) return;
  // Built-in types without fields of their own say which they have; all others do not.
  if (flavour === "builtin" && selectableFields === undefined) {
    throw badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
  }
  throw badRequest(`field label not supported: ${field}`);
}

export type SelectedEvent = Readonly<{ type: Change["type"]; object: KubeObject; revision: number }>;

/** What a change looks like to whom a matcher shows only some objects: one that stops matching is DELETED, as it was. */
export function selectChange(matcher: Matcher, change: Change): SelectedEvent | undefined {
  const { type, object, previous, revision } = change;
  const before = previous !== undefined && matcher.matches(previous);
  if (type === "DELETED") return before ? { type, object, revision } : undefined;
  const now = matcher.matches(object);
  if (now) return { type: before ? "MODIFIED" : "ADDED", object, revision };
  if (!before || previous === undefined) return undefined;
  return { type: "DELETED", object: atRevision(previous, revision), revision };
}

const restamped = new WeakMap<KubeObject, KubeObject>();

/** An object as it was, with the revision of the change that took it out of sight. */
function atRevision(object: KubeObject, revision: number): KubeObject {
  const known = restamped.get(object);
  if (known !== undefined) return known;
  const copy: KubeObject = freezeJson({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(revision) },
  });
  // An object is left behind by one change only, so that all watchers share the copy.
  restamped.set(object, copy);
  return copy;
}

const converted = new WeakMap<KubeObject, Map<string, KubeObject>>();

/** `apps/v1`, and for the core group just `v1`. */
export const apiVersionOf = ({ group, version }: ResourceDefinition): string =>
  group === "" ? version : `${group}/${version}`;

/** A stored object in the version that a request asks for; most versions of a type differ in nothing but their name. */
export function asVersion(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const apiVersion = apiVersionOf(definition);
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

/** An object of a served version in the form in which the type is stored. */
export const asStored = ({ conversion }: ResourceDefinition, object: KubeObject): KubeObject =>
  conversion === undefined ? object : conversion.toStored(object);
