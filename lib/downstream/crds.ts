import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted, unlessAborted } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { formatType } from "@tmc/kube/paths.ts";
import { type TypeDefinition, typeId } from "../api/workload-kinds.ts";
import { fieldManager, type TypeState } from "../sync/downstream.ts";
import { decideDefinition, definitionManifest } from "../sync/targets/type-definition.ts";
import { isNamedNotFound } from "./errors.ts";
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
      const answer = isServed(site.client, type, neverAborted);
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
      const isUp = await isServed(site.client, type, neverAborted).catch((error: unknown) => {
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

/**
 * No object ever has this version: a store's first write makes a later one. An apply that names it therefore creates or fails;
 * without it, an apply takes over whatever somebody else has made in the meantime.
 */
export const neverVersion = "1";

type Asked = Pick<KubeClient, "raw" | "server">;

/**
 * Asks a cluster's discovery whether it serves a type.
 *
 * Any web server answers 404 to what it does not know, a proxy in front of a cluster too, and that says nothing about what the
 * cluster has. Only an API server that lists its types without this one says that there can be no objects of it; anything
 * else fails with "unreachable".
 */
export async function isServed(client: Asked, type: ResourceType, signal: AbortSignal): Promise<boolean> {
  const { group, version, plural } = type;
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const resources = await listAt(client, { path, kind: "APIResourceList", field: "resources" }, signal);
  if (resources !== undefined) return resources.some((each) => fieldOf(each, "name") === plural);
  const groups = await listAt(client, { path: "/apis", kind: "APIGroupList", field: "groups" }, signal);
  const versions = fieldOf(
    groups?.find((each) => fieldOf(each, "name") === group),
    "versions",
  );
  const isListed = Array.isArray(versions) && versions.some((each: unknown) => fieldOf(each, "version") === version);
  if (groups !== undefined && group !== "" && !isListed) return false;
  const message = `${client.server}: ${formatType(type)}: nothing there says which types are served`;
  throw new ControllerError("unreachable", message);
}

async function listAt(
  client: Asked,
  { path, kind, field }: Readonly<{ path: string; kind: string; field: string }>,
  signal: AbortSignal,
): Promise<readonly unknown[] | undefined> {
  const { status, text } = await client.raw("GET", path, { signal });
  const body = status === 200 ? parsed(text) : undefined;
  const list = fieldOf(body, field);
  return fieldOf(body, "kind") === kind && Array.isArray(list) ? list : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no list of anything
  }
}
