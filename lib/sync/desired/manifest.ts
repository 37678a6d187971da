import { byKey } from "@tmc/kube/compare.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { textsOf } from "../../model/json.ts";
import { shortHash } from "../../model/text.ts";
import { type Owner, ownershipMetadata } from "../ownership/owner.ts";
import { lastWrittenHashAnnotation } from "../ownership/record.ts";
import type { Manifest, Workload } from "../sync-objects.ts";
import { isTokenSecret, isUpstreamAnnotation, isUpstreamLabel, withoutServerFields } from "./server-fields.ts";

/** The owner of a copy, and where the copy is written. */
export type Destination = Readonly<{
  owner: Owner;
  /** The downstream namespace. */
  namespace: string;
}>;

/**
 * The manifest of a workload for a cluster: what users wrote and our ownership metadata, without any field that servers added.
 *
 * Of the metadata, only name, labels and annotations are sent. Any other field, of any server version, stays upstream. The
 * result shares parts with the workload, which is not modified.
 */
export function manifestOf(workload: Workload, { owner, namespace }: Destination): Manifest {
  const { apiVersion, kind, metadata, status: _, ...body } = workload;
  if (isTokenSecret(workload)) {
    const which = `secret "${owner.namespace}/${owner.name}"`;
    throw new ControllerError("invalid", `sync: ${which}: a service account token is valid only on its own server`);
  }
  const parts = withoutServerFields(
    { apiVersion, kind },
    { name: owner.name, labels: textsOf(metadata.labels), annotations: textsOf(metadata.annotations), body },
    // Only a plain Kubernetes upstream has no logical clusters.
    { isAssigned: owner.logicalCluster === "" },
  );
  const ownership = ownershipMetadata(owner);
  return {
    apiVersion,
    kind,
    metadata: {
      name: owner.name,
      namespace,
      labels: { ...textsOf(parts.labels, (name) => !isUpstreamLabel(name)), ...ownership.labels },
      annotations: { ...textsOf(parts.annotations, (name) => !isUpstreamAnnotation(name)), ...ownership.annotations },
    },
    ...parts.body,
  };
}

/** The hash of a manifest; it does not depend on the order of fields. */
export function manifestHash(manifest: Manifest): string {
  return shortHash(JSON.stringify(manifest, sortFields));
}

/** The manifest as it is written: with its hash, so that the copy itself says which manifest it has. */
export function withWrittenHash(manifest: Manifest, hash: string): Manifest {
  const { annotations } = manifest.metadata;
  return {
    ...manifest,
    metadata: { ...manifest.metadata, annotations: { ...annotations, [lastWrittenHashAnnotation]: hash } },
  };
}

function sortFields(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(byKey));
}
