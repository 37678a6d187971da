import { readdirSync, readFileSync } from "node:fs";
import { JSON_SCHEMA, load } from "js-yaml";
import { manifestOf } from "../../../lib/sync/desired/manifest.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import type { Owner } from "../../../lib/sync/ownership/owner.ts";
import type { Manifest, Workload } from "../../../lib/sync/sync-objects.ts";

const folder = new URL("./golden/", import.meta.url);
const suffix = ".stored.yaml";

/** Names of the golden files: each object as stored upstream and as sent to a cluster. */
export const goldenNames: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith(suffix))
  .map((file) => file.slice(0, -suffix.length));

/** The object as stored upstream. */
export function stored(name: string): Workload {
  return load(readFileSync(new URL(`${name}${suffix}`, folder), "utf8"), { schema: JSON_SCHEMA }) as Workload;
}

/** The file with the manifest that is sent to a cluster. */
export function sentFile(name: string): string {
  return new URL(`${name}.sent.yaml`, folder).pathname;
}

/** The owner of a golden object. Objects of kcp have the annotation kcp.io/cluster; those of plain Kubernetes do not. */
export function ownerFor({ apiVersion, kind, metadata }: Workload): Owner {
  const { name = "", namespace = "", annotations } = metadata;
  const logicalCluster = annotations?.["kcp.io/cluster"] ?? "";
  return { hub: "hub", logicalCluster, namespace, registration: "east", apiVersion, kind, name };
}

/** The manifest of a workload for a cluster. */
export function sent(workload: Workload): Manifest {
  const owner = ownerFor(workload);
  return manifestOf(workload, { owner, namespace: downstreamNamespace(owner) });
}
