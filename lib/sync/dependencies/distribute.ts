import { createHash } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import { referenceTypes } from "../../api/workload-kinds.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import type { ObjectKey, WorkloadAddress } from "../../model/key.ts";
import { manifestOf } from "../desired/manifest.ts";
import { isTokenSecret } from "../desired/server-fields.ts";
import type { Downstream } from "../downstream.ts";
import { downstreamNamespace, type Locator } from "../ownership/namespace-map.ts";
import type { Blocker } from "../targets/decide.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import type { Reference } from "./references.ts";
import { referenceId } from "./references.ts";

/** The dependencies of a workload, in the versions in which they were read. */
export type Dependencies = Readonly<{
  references: readonly Reference[];
  /** References to objects that exist. */
  present: readonly Reference[];
  /** Required references to objects that do not exist. */
  missing: readonly Reference[];
  /** Changes whenever an object or its version changes; empty without references. */
  hash: string;
}>;

/** Reads the versions of all objects that a workload references. */
export async function readDependencies(
  workloads: Pick<WorkloadHub, "referenceVersion">,
  {
    key: { logicalCluster },
    address: { namespace },
    intent: { references },
  }: Readonly<{
    key: Readonly<{ logicalCluster: string }>;
    address: Readonly<{ namespace: string }>;
    intent: Readonly<{ references: readonly Reference[] }>;
  }>,
  signal: AbortSignal,
): Promise<Dependencies> {
  const versions = await allSettledOrThrow(
    references.map(({ kind, name }) => workloads.referenceVersion({ logicalCluster, namespace, kind, name }, signal)),
  );
  const missing = references.filter(({ optional }, index) => !optional && versions[index] === undefined);
  const present = references.filter((_, index) => versions[index] !== undefined);
  const lines = references.map((reference, index) => `${referenceId(reference)}@${versions[index] ?? "missing"}`);
  const hash = lines.length === 0 ? "" : createHash("sha256").update(lines.join("\n")).digest("hex").slice(0, 32);
  return { references, present, missing, hash };
}

function dependencyAddress(locator: Locator, { kind, name }: Pick<Reference, "kind" | "name">): WorkloadAddress {
  return { type: referenceTypes[kind], namespace: downstreamNamespace(locator), name };
}

type DependencyTools = Readonly<{ workloads: Pick<WorkloadHub, "readReference">; downstream: Downstream }>;

/** The dependencies of a workload on one cluster. */
type DependencyTarget = Readonly<{ registration: ObjectKey; locator: Locator; dependencies: Dependencies }>;

/**
 * Writes all dependencies of a workload to a cluster, so that they exist before the workload. Returns a blocker when one is
 * missing upstream, or when the cluster has an object of that name that is not ours.
 */
export async function applyDependencies(
  { workloads, downstream }: DependencyTools,
  { registration, locator, dependencies }: DependencyTarget,
  signal: AbortSignal,
): Promise<Blocker | undefined> {
  if (dependencies.missing.length > 0) return missingBlocker(dependencies.missing);
  if (dependencies.references.length > 0) await downstream.ensureNamespace(registration, locator, signal);
  for (const reference of dependencies.references) {
    const source = await workloads.readReference(
      { ...reference, logicalCluster: locator.logicalCluster, namespace: locator.namespace },
      signal,
    );
    if (source === undefined) {
      if (reference.optional) continue;
      return missingBlocker([reference]);
    }
    if (isTokenSecret(source)) continue; // each cluster creates its own
    const { kind, name } = reference;
    const owner = { ...locator, registration: registration.name, apiVersion: "v1", kind, name };
    const object = dependencyAddress(locator, reference);
    const downstreamState = await downstream.readCopy({ registration, object }, owner, signal);
    if (downstreamState.kind === "foreign") {
      const message = `the cluster already has ${kind} "${name}": ${downstreamState.message}`;
      return { reason: "ForeignObject", message };
    }
    const manifest = manifestOf(source, { owner, namespace: object.namespace });
    await downstream.apply({ registration, object }, manifest, signal);
  }
  return undefined;
}

/**
 * A hash of the dependencies as a cluster has them, which changes when another client changes or deletes one there. Undefined when
 * they cannot be read now.
 */
export async function hashDependencies(
  downstream: Pick<Downstream, "readCopy">,
  { registration, locator, dependencies }: DependencyTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  const lines = await allSettledOrThrow(
    dependencies.present.map(async ({ kind, name }) => {
      const owner = { ...locator, registration: registration.name, apiVersion: "v1", kind, name };
      const object = dependencyAddress(locator, { kind, name });
      const downstreamState = await downstream.readCopy({ registration, object }, owner, signal);
      if (downstreamState.kind !== "there") return downstreamState.kind;
      const { uid, resourceVersion } = downstreamState.copy;
      // The cluster itself writes to objects of the other kinds, so their version changes without drift.
      const isWrittenByUsOnly = kind === "ConfigMap" || kind === "Secret";
      return isWrittenByUsOnly ? `${uid}@${resourceVersion}` : uid;
    }),
  );
  if (lines.includes("unknown")) return undefined;
  return lines.length === 0 ? "" : createHash("sha256").update(lines.join("\n")).digest("hex").slice(0, 16);
}

function missingBlocker(missing: readonly Reference[]): Blocker {
  const names = missing.map(({ kind, name }) => `${kind} "${name}"`).join(", ");
  return { reason: "ReferenceMissing", message: `not in the workload's namespace: ${names}` };
}

/** Deletes dependencies that no workload on the cluster needs; returns whether they are gone, because deletion may take time. */
export async function removeDependencies(
  downstream: Downstream,
  {
    registration,
    locator,
    references,
  }: Readonly<{
    registration: ObjectKey;
    locator: Locator;
    references: readonly Pick<Reference, "kind" | "name">[];
  }>,
  signal: AbortSignal,
): Promise<boolean> {
  let areGone = true;
  for (const { kind, name } of references) {
    const owner = { ...locator, registration: registration.name, apiVersion: "v1", kind, name };
    const address = { registration, object: dependencyAddress(locator, { kind, name }) };
    const downstreamState = await downstream.readCopy(address, owner, signal);
    if (downstreamState.kind === "unknown") throw new ControllerError("unreachable", downstreamState.message);
    // A claim holds data, which would be lost with its last user. It is deleted with the claim upstream.
    if (downstreamState.kind !== "there" || kind === "PersistentVolumeClaim") continue;
    await downstream.remove(address, downstreamState.copy.uid, signal);
    const after = await downstream.readCopy(address, owner, signal);
    if (after.kind === "there" || after.kind === "unknown") areGone = false;
  }
  return areGone;
}
