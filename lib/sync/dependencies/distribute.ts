import { createHash } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import { referenceTypes } from "../../api/workload-kinds.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import type { ObjectKey, WorkloadAddress } from "../../model/key.ts";
import { referenceId } from "../decide.ts";
import { manifestOf } from "../desired/manifest.ts";
import { isTokenSecret } from "../desired/server-fields.ts";
import type { Downstream } from "../downstream.ts";
import { downstreamNamespace, type Locator } from "../ownership/namespace-map.ts";
import type { Blocker } from "../targets/decide.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import type { Reference } from "./references.ts";

/** What comes along with a workload, in the state in which it was seen. */
export type Dependencies = Readonly<{
  references: readonly Reference[];
  /** Those that are there. */
  present: readonly Reference[];
  /** Those that are not there and that the workload cannot do without. */
  missing: readonly Reference[];
  /** The same text as long as nothing of it changes; empty for nothing. */
  fingerprint: string;
}>;

/** Looks in which version everything is that a workload refers to. */
export async function readDependencies(
  hub: Pick<WorkloadHub, "referenceVersion">,
  { cluster, namespace }: Readonly<{ cluster: string; namespace: string }>,
  references: readonly Reference[],
  signal: AbortSignal,
): Promise<Dependencies> {
  const versions = await allSettledOrThrow(
    references.map(({ kind, name }) =>
      hub.referenceVersion({ logicalCluster: cluster, namespace, kind, name }, signal),
    ),
  );
  const missing = references.filter(({ optional }, index) => !optional && versions[index] === undefined);
  const present = references.filter((_, index) => versions[index] !== undefined);
  const lines = references.map((reference, index) => `${referenceId(reference)}@${versions[index] ?? "missing"}`);
  const fingerprint =
    lines.length === 0 ? "" : createHash("sha256").update(lines.join("\n")).digest("hex").slice(0, 32);
  return { references, present, missing, fingerprint };
}

/** Where what comes along is on a cluster. */
export function dependencyAddress(locator: Locator, { kind, name }: Pick<Reference, "kind" | "name">): WorkloadAddress {
  return { type: referenceTypes[kind], namespace: downstreamNamespace(locator), name };
}

export type SendTools = Readonly<{ hub: Pick<WorkloadHub, "readReference">; fleet: Downstream }>;

/**
 * Writes everything that comes along with a workload to a cluster, so that it is there before the workload. An obstacle when
 * something is missing in the hub, or the cluster has something of that name that is not ours.
 */
export async function applyDependencies(
  { hub, fleet }: SendTools,
  { key, locator, company }: Readonly<{ key: ObjectKey; locator: Locator; company: Dependencies }>,
  signal: AbortSignal,
): Promise<Blocker | undefined> {
  if (company.missing.length > 0) return missingWords(company.missing);
  if (company.references.length > 0) await fleet.ensureNamespace(key, locator, signal);
  for (const reference of company.references) {
    const object = await hub.readReference(
      { ...reference, logicalCluster: locator.logicalCluster, namespace: locator.namespace },
      signal,
    );
    if (object === undefined) {
      if (reference.optional) continue;
      return missingWords([reference]);
    }
    if (isTokenSecret(object)) continue; // each cluster makes its own
    const { kind, name } = reference;
    const origin = { ...locator, registration: key.name, apiVersion: "v1", kind, name };
    const at = dependencyAddress(locator, reference);
    const sighting = await fleet.readCopy({ registration: key, object: at }, origin, signal);
    if (sighting.kind === "foreign") {
      return { reason: "ForeignObject", message: `${kind} "${name}" is there already: ${sighting.who}` };
    }
    await fleet.apply(
      { registration: key, object: at },
      manifestOf(object, { origin, namespace: at.namespace }),
      signal,
    );
  }
  return undefined;
}

/**
 * A text that is the same as long as a cluster has everything that came along as it was written there. Undefined when that
 * cannot be seen now.
 */
export async function dependenciesHash(
  fleet: Pick<Downstream, "readCopy">,
  { key, locator, company }: Readonly<{ key: ObjectKey; locator: Locator; company: Dependencies }>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const lines = await allSettledOrThrow(
    company.present.map(async ({ kind, name }) => {
      const origin = { ...locator, registration: key.name, apiVersion: "v1", kind, name };
      const sighting = await fleet.readCopy(
        { registration: key, object: dependencyAddress(locator, { kind, name }) },
        origin,
        signal,
      );
      if (sighting.kind !== "there") return sighting.kind;
      const { uid, resourceVersion } = sighting.copy;
      // Of the others the cluster itself writes a part.
      const isOursAlone = kind === "ConfigMap" || kind === "Secret";
      return isOursAlone ? `${uid}@${resourceVersion}` : uid;
    }),
  );
  if (lines.includes("unknown")) return undefined;
  return lines.length === 0 ? "" : createHash("sha256").update(lines.join("\n")).digest("hex").slice(0, 16);
}

function missingWords(missing: readonly Reference[]): Blocker {
  const names = missing.map(({ kind, name }) => `${kind} "${name}"`).join(", ");
  return { reason: "ReferenceMissing", message: `not in the workload's namespace: ${names}` };
}

/**
 * Takes away from a cluster what came along with a workload and is needed by nobody there any more; answers whether it is
 * gone, for the cluster may take its time.
 */
export async function removeDependency(
  fleet: Downstream,
  {
    key,
    locator,
    references,
  }: Readonly<{ key: ObjectKey; locator: Locator; references: readonly Pick<Reference, "kind" | "name">[] }>,
  signal: AbortSignal,
): Promise<boolean> {
  let isGone = true;
  for (const { kind, name } of references) {
    const origin = { ...locator, registration: key.name, apiVersion: "v1", kind, name };
    const address = { registration: key, object: dependencyAddress(locator, { kind, name }) };
    const sighting = await fleet.readCopy(address, origin, signal);
    if (sighting.kind === "unknown") throw new ControllerError("unreachable", sighting.why);
    // A claim holds data, and going with its last user would lose it. It goes with the claim in the hub.
    if (sighting.kind !== "there" || kind === "PersistentVolumeClaim") continue;
    await fleet.remove(address, sighting.copy.uid, signal);
    const after = await fleet.readCopy(address, origin, signal);
    if (after.kind === "there" || after.kind === "unknown") isGone = false;
  }
  return isGone;
}
