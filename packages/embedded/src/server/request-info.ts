import type { Attributes } from "./frontend.ts";

/** A request's method and path, parsed without knowledge of the served types. */
export type RequestInfo = Attributes &
  Readonly<{
    isResource: boolean;
    /** Whether the path has segments after the subresource; nothing is served there. */
    tooDeep: boolean;
  }>;

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

const namespaceSubresources = new Set(["status", "finalize"]);

/**
 * Parses a path like a real server: `/api/v1/…` and `/apis/<group>/<version>/…` are resources, all other paths are not.
 */
export function parseRequestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const plain: RequestInfo = {
    isResource: false,
    verb: method.toLowerCase(),
    group: "",
    version: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
    tooDeep: false,
    path,
  };
  let parts = path.split("/").filter((part) => part !== "");
  const prefix = parts[0];
  if (prefix !== "api" && prefix !== "apis") return plain;
  const groupParts = prefix === "api" ? 2 : 3;
  if (parts.length <= groupParts) return plain;
  const group = prefix === "apis" ? (parts[1] ?? "") : "";
  const version = parts[groupParts - 1] ?? "";
  parts = parts.slice(groupParts);

  let verb = verbs[method] ?? method.toLowerCase();
  // Deprecated form of a watch: /api/v1/watch/pods.
  const watched = parts[0] === "watch" && parts.length > 1 && verb === "get";
  if (watched) parts = parts.slice(1);

  let namespace = "";
  if (parts[0] === "namespaces") {
    namespace = parts[1] ?? "";
    if (parts.length > 2 && !namespaceSubresources.has(parts[2] ?? "")) parts = parts.slice(2);
  }
  const [resource = "", name = "", subresource = ""] = parts;
  if (name === "" && verb === "get") verb = isTrueParameter(query.get("watch")) ? "watch" : "list";
  if (name === "" && verb === "delete") verb = "deletecollection";
  if (watched) verb = "watch";
  return {
    ...plain,
    isResource: true,
    verb,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    tooDeep: parts.length > 3,
  };
}

/** Whether a query parameter is set to anything but "false" or "0". */
export const isTrueParameter = (value: string | null): boolean => value !== null && value !== "false" && value !== "0";

export const attributesOf = (info: RequestInfo): Attributes => ({
  verb: info.verb,
  group: info.group,
  version: info.version,
  resource: info.resource,
  subresource: info.subresource,
  namespace: info.namespace,
  name: info.name,
  path: info.path,
});
