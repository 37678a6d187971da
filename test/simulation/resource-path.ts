/** What the path of a request is about. */
export type ResourcePath = Readonly<{
  /** Empty on a cluster. */
  logicalCluster: string;
  plural: string;
  namespace: string;
  /** Empty for a collection. */
  name: string;
  subresource: string;
  query: string;
}>;

/** Parses the path of a request; undefined when it is about no resource. */
export function resourcePathOf(path: string): ResourcePath | undefined {
  const mark = path.indexOf("?");
  const query = mark === -1 ? "" : path.slice(mark + 1);
  let parts = (mark === -1 ? path : path.slice(0, mark)).split("/").slice(1);
  let logicalCluster = "";
  // The endpoint of an export is below /services.
  if (parts[0] === "services") parts = parts.slice(Math.max(0, parts.indexOf("clusters")));
  if (parts[0] === "clusters") {
    logicalCluster = decodeURIComponent(parts[1] ?? "");
    parts = parts.slice(2);
  }
  if (parts[0] === "api") parts = parts.slice(2);
  else if (parts[0] === "apis") parts = parts.slice(3);
  else return undefined;
  const isNamespaced = parts[0] === "namespaces" && parts.length > 2;
  const namespace = isNamespaced ? decodeURIComponent(parts[1] ?? "") : "";
  const [plural, name = "", subresource = ""] = isNamespaced ? parts.slice(2) : parts;
  return plural === undefined
    ? undefined
    : { logicalCluster, plural, namespace, name: decodeURIComponent(name), subresource, query };
}
