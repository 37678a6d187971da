import type { Collection } from "./client.ts";
import { ControllerError } from "./fault.ts";
import type { ResourceType } from "./kube-object.ts";

/** The target of a path: a collection, an object, or a subresource. */
export type Target = Collection & Readonly<{ name?: string | undefined; subresource?: string | undefined }>;

/** Formats a type as Kubernetes messages do: `deployments.apps`, and `pods` for the core group. */
export function formatType({ group, plural }: ResourceType): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** Formats the target of a call for messages: `deployments.apps "web" in default`. */
export function formatTarget({ type, namespace, name, subresource }: Target): string {
  const resource = subresource === undefined ? formatType(type) : `${formatType(type)}/${subresource}`;
  const which = name === undefined ? resource : `${resource} "${name}"`;
  return namespace === undefined ? which : `${which} in ${namespace}`;
}

/**
 * Encodes one segment of a path. A name that would change the meaning of the path is rejected: with an empty name, a
 * deletion of one object would delete the collection.
 */
function segment(role: string, value: string): string {
  if (value === "" || value === "." || value === ".." || value.includes("/") || value.includes("%")) {
    throw new ControllerError("invalid", `${role} "${value}": cannot be part of a path`);
  }
  return encodeURIComponent(value);
}

/** The path of a collection, an object or a subresource, below the client's own path. */
export function formatResourcePath({ type, namespace, name, subresource }: Target): string {
  const version = segment("version", type.version);
  let path = type.group === "" ? `/api/${version}` : `/apis/${segment("group", type.group)}/${version}`;
  if (namespace !== undefined) path += `/namespaces/${segment("namespace", namespace)}`;
  path += `/${segment("resource", type.plural)}`;
  if (name !== undefined) path += `/${segment("name", name)}`;
  if (subresource !== undefined) {
    // Some have several segments: `proxy/metrics`.
    for (const part of subresource.split("/")) path += `/${segment("subresource", part)}`;
  }
  return path;
}

/** The query of a request, with its question mark, without undefined values. */
export function formatQuery(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  let query = "";
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    query += `${query === "" ? "?" : "&"}${name}=${encodeURIComponent(value)}`;
  }
  return query;
}
