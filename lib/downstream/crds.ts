import type { Clock } from "@tmc/kube/clock.ts";
import { unlessAborted } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { type TypeDefinition, typeId } from "../api/workload-kinds.ts";
import { fieldManager, type TypeState } from "../sync/downstream.ts";
import { decideDefinition, definitionManifest } from "../sync/targets/type-definition.ts";
import { neverVersion } from "./create-only.ts";
import { isNamedNotFound } from "./errors.ts";
import { isServed } from "./served-type.ts";
import type { Site } from "./session.ts";

const definitions: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
};
/** So long a cluster's word on which types it serves is gone by: many workloads ask at once, and nobody need wait for long. */
const servedMs = 10_000;

/** A type that a cluster is to be given. */
export type WantedType = Readonly<{ type: ResourceType; definition: TypeDefinition; hub: string }>;

/** Which types clusters serve, and how they come to. */
export interface FleetTypes {
  /** Asks the cluster, or goes by what it said a moment ago. */
  serves(site: Site, type: ResourceType, signal: AbortSignal): Promise<boolean>;
  /** Sees to it that a cluster has the definition of a type. */
  ensure(site: Site, wanted: WantedType, signal: AbortSignal): Promise<TypeState>;
  /** It is not as it was thought to be: whoever needs it next looks. */
  forget(site: Site, type: ResourceType): void;
}

/** Creates them. What one finds out counts for all who ask at the same time. */
export function createFleetTypes(clock: Clock): FleetTypes {
  return {
    serves: (site, type, signal) => {
      const id = typeId(type);
      const known = site.served.get(id);
      if (known !== undefined && clock.now() - known.atMs < servedMs) return unlessAborted(known.answer, signal);
      const answer = isServed(site.client, type, forEver);
      const entry = { atMs: clock.now(), answer };
      site.served.set(id, entry);
      answer.catch(() => {
        if (site.served.get(id) === entry) site.served.delete(id);
      });
      return unlessAborted(answer, signal);
    },
    ensure: async (site, wanted, signal) => {
      const id = typeId(wanted.type);
      const known = site.definitions.get(id);
      if (known?.fingerprint === wanted.definition.fingerprint) return unlessAborted(known.state, signal);
      const state = ensureNow(site, wanted);
      const entry = { fingerprint: wanted.definition.fingerprint, state };
      site.definitions.set(id, entry);
      const forget = (): void => {
        if (site.definitions.get(id) === entry) site.definitions.delete(id);
      };
      // Only that it is served stays so; everything else is looked at again by whoever comes next.
      state.then(({ kind }) => kind !== "served" && forget(), forget);
      return unlessAborted(state, signal);
    },
    forget: (site, type) => {
      site.definitions.delete(typeId(type));
      site.served.delete(typeId(type));
    },
  };
}

/** One looks for all, so no single one's signal ends it; every call has its time. */
const forEver = new AbortController().signal;

async function ensureNow(site: Site, wanted: WantedType): Promise<TypeState> {
  const { definition, hub, type } = wanted;
  const found = await find(site, definition.name);
  const act = decideDefinition({ wanted: definition, hub }, found);
  switch (act.do) {
    case "apply":
      await write(site, wanted, found);
      return { kind: "coming", why: `the cluster was given the definition of ${definition.name}` };
    case "wait":
      return { kind: "coming", why: act.why };
    case "refuse":
      return { kind: "refused", why: act.why };
    case "use": {
      // A server takes up a definition that it calls established only a moment later, and for a moment names a group without
      // saying what is in it.
      const isUp = await isServed(site.client, type, forEver).catch((error: unknown) => {
        if (faultOf(error) !== "unreachable") throw error;
        return false;
      });
      return isUp ? { kind: "served" } : { kind: "coming", why: `the cluster does not serve ${definition.name} yet` };
    }
  }
}

async function find({ client }: Site, name: string): Promise<KubeObject | undefined> {
  try {
    return await client.get<KubeObject>({ type: definitions, name });
  } catch (error) {
    if (isNamedNotFound(error, name)) return undefined;
    throw error;
  }
}

/** Writes what was decided on what was found. Whoever was faster is looked at the next time. */
async function write({ client }: Site, { definition, hub }: WantedType, found: KubeObject | undefined): Promise<void> {
  const manifest = definitionManifest(definition, hub);
  const uid = found?.metadata.uid;
  const guard = found === undefined ? { resourceVersion: neverVersion } : uid === undefined ? {} : { uid };
  const body = { ...manifest, metadata: { ...manifest.metadata, ...guard } };
  try {
    await client.patch(
      { type: definitions, name: definition.name },
      { type: "apply", body, force: true },
      { fieldManager },
    );
  } catch (error) {
    if (faultOf(error) !== "conflict") throw error;
  }
}
