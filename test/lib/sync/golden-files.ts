import { readdirSync, readFileSync } from "node:fs";
import { JSON_SCHEMA, load } from "js-yaml";
import { manifestOf } from "../../../lib/sync/desired/manifest.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import type { Owner } from "../../../lib/sync/ownership/owner.ts";
import type { Manifest, Workload } from "../../../lib/sync/sync-objects.ts";

const folder = new URL("./golden/", import.meta.url);
const suffix = ".stored.yaml";

/** The objects of which there are golden files: as a hub has stored them, and as they are sent to a cluster. */
export const goldenNames: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith(suffix))
  .map((file) => file.slice(0, -suffix.length));

/** The object as a hub has stored it. */
export function stored(name: string): Workload {
  return load(readFileSync(new URL(`${name}${suffix}`, folder), "utf8"), { schema: JSON_SCHEMA }) as Workload;
}

/** The file that has what is sent to a cluster. */
export function sentFile(name: string): string {
  return new URL(`${name}.sent.yaml`, folder).pathname;
}

/** An object that kcp has stored says in which logical cluster; one from a plain Kubernetes does not. */
export function originFor({ apiVersion, kind, metadata }: Workload): Owner {
  const { name = "", namespace = "", annotations } = metadata;
  const logicalCluster = annotations?.["kcp.io/cluster"] ?? "";
  return { hub: "hub", logicalCluster, namespace, registration: "east", apiVersion, kind, name };
}

/** What a cluster is given of a workload. */
export function sent(workload: Workload): Manifest {
  const origin = originFor(workload);
  return manifestOf(workload, { origin, namespace: downstreamNamespace(origin) });
}
