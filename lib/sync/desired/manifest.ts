import { byKey } from "@tmc/kube/compare.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { textsOf } from "../../model/json.ts";
import { shortHash } from "../../model/short-hash.ts";
import { type Owner, ownershipMetadata } from "../ownership/owner.ts";
import type { Manifest, Workload } from "../sync-objects.ts";
import { isHubAnnotation, isHubLabel, isTokenSecret, withoutServerFields } from "./server-fields.ts";

/** Whose copy it will be, and where. */
export type Destination = Readonly<{
  origin: Owner;
  /** The namespace on the cluster. */
  namespace: string;
}>;

/**
 * What a cluster is given of a workload: what a person has said, our marks, and nothing that servers added.
 *
 * Of the metadata only name, labels and annotations go down, so that whatever else is there, now or in a later version of
 * some server, stays behind. The answer shares parts with the workload, which stays as it is.
 */
export function manifestOf(workload: Workload, { origin, namespace }: Destination): Manifest {
  const { apiVersion, kind, metadata, status: _, ...body } = workload;
  if (isTokenSecret(workload)) {
    const which = `secret "${origin.namespace}/${origin.name}"`;
    throw new ControllerError("invalid", `sync: ${which}: a service account's token is of no use on another server`);
  }
  const parts = withoutServerFields(
    { apiVersion, kind },
    { name: origin.name, labels: textsOf(metadata.labels), annotations: textsOf(metadata.annotations), body },
    // Only a hub that is a plain Kubernetes has no logical clusters.
    { isAssigned: origin.logicalCluster === "" },
  );
  const marks = ownershipMetadata(origin);
  return {
    apiVersion,
    kind,
    metadata: {
      name: origin.name,
      namespace,
      labels: { ...textsOf(parts.labels, (name) => !isHubLabel(name)), ...marks.labels },
      annotations: { ...textsOf(parts.annotations, (name) => !isHubAnnotation(name)), ...marks.annotations },
    },
    ...parts.body,
  };
}

/** A short text that is the same for manifests that say the same, in whatever order their fields stand. */
export function fingerprintOfManifest(manifest: Manifest): string {
  return shortHash(JSON.stringify(manifest, sortedFields));
}

function sortedFields(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(byKey));
}
