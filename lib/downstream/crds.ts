import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted, unlessAborted } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { formatType } from "@tmc/kube/paths.ts";
import { type TypeDefinition, typeId } from "../api/workload-kinds.ts";
import { downstreamFieldManager, type TypeState } from "../sync/downstream.ts";
import { decideDefinition, definitionManifest } from "../sync/targets/type-definition.ts";
import { isNamedNotFound } from "./errors.ts";
import type { ClusterSession } from "./session.ts";

const definitions: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
};
/** How long an answer of discovery is used: long enough for many workloads that ask at once, short enough for a new type. */
const servedTtlMs = 10_000;

/** A type that a cluster should serve. */
export type DesiredType = Readonly<{ type: ResourceType; definition: TypeDefinition; hub: string }>;

/** Discovers the types that clusters serve, and installs missing definitions. */
export interface DownstreamTypes {
  /** Whether a cluster serves a type, by discovery that is at most some seconds old. */
  serves(session: ClusterSession, type: ResourceType, signal: AbortSignal): Promise<boolean>;
  /** Applies the definition of a type if needed, and reports its state without waiting for it. */
  ensure(session: ClusterSession, desired: DesiredType, signal: AbortSignal): Promise<TypeState>;
  /** A write found that the type is not served: the next call asks the cluster again. */
  forget(session: ClusterSession, type: ResourceType): void;
}

/** Creates the interface; concurrent callers share one request. */
export function createDownstreamTypes(clock: Clock): DownstreamTypes {
  return {
    serves: (session, type, signal) => {
      const id = typeId(type);
      const known = session.served.get(id);
      if (known !== undefined && clock.monotonicMs() - known.atMs < servedTtlMs)
        return unlessAborted(known.answer, signal);
      const answer = isServed(session.client, type, neverAborted);
      const entry = { atMs: clock.monotonicMs(), answer };
      session.served.set(id, entry);
      answer.catch(() => {
        if (session.served.get(id) === entry) session.served.delete(id);
      });
      return unlessAborted(answer, signal);
    },
    ensure: async (session, desired, signal) => {
      const id = typeId(desired.type);
      const known = session.definitions.get(id);
      if (known?.fingerprint === desired.definition.fingerprint) return unlessAborted(known.state, signal);
      const state = ensureNow(session, desired);
      const entry = { fingerprint: desired.definition.fingerprint, state };
      session.definitions.set(id, entry);
      const forget = (): void => {
        if (session.definitions.get(id) === entry) session.definitions.delete(id);
      };
      // Only "served" is cached; any other state is read again by the next caller.
      state.then(({ kind }) => kind !== "served" && forget(), forget);
      return unlessAborted(state, signal);
    },
    forget: (session, type) => {
      session.definitions.delete(typeId(type));
      session.served.delete(typeId(type));
    },
  };
}

/** Takes no signal because several callers share the promise; every request has a timeout. */
async function ensureNow(session: ClusterSession, desired: DesiredType): Promise<TypeState> {
  const { definition, hub, type } = desired;
  const found = await find(session, definition.name);
  const act = decideDefinition({ desired: definition, hub }, found);
  switch (act.action) {
    case "apply":
      await write(session, desired, found);
      return { kind: "installing", message: `TMC applied the definition of ${definition.name}` };
    case "wait":
      return { kind: "installing", message: act.message };
    case "reject":
      return { kind: "rejected", message: act.message };
    case "use": {
      // A server serves a definition only shortly after it reports it as Established, and until then may list a group without
      // its resources.
      const served = await isServed(session.client, type, neverAborted).catch((error: unknown) => {
        if (faultOf(error) !== "unreachable") throw error;
        return false;
      });
      return served
        ? { kind: "served" }
        : { kind: "installing", message: `the cluster does not serve ${definition.name} yet` };
    }
  }
}

async function find({ client }: ClusterSession, name: string): Promise<KubeObject | undefined> {
  try {
    return await client.get<KubeObject>({ type: definitions, name });
  } catch (error) {
    if (isNamedNotFound(error, name)) return undefined;
    throw error;
  }
}

/** Applies a definition on the state that was read. A conflict is no error: the next call reads again. */
async function write(
  { client }: ClusterSession,
  { definition, hub }: DesiredType,
  found: KubeObject | undefined,
): Promise<void> {
  const manifest = definitionManifest(definition, hub);
  const uid = found?.metadata.uid;
  const precondition = found === undefined ? { resourceVersion: createOnlyVersion } : uid === undefined ? {} : { uid };
  const body = { ...manifest, metadata: { ...manifest.metadata, ...precondition } };
  try {
    await client.patch(
      { type: definitions, name: definition.name },
      { type: "apply", body, force: true },
      { fieldManager: downstreamFieldManager },
    );
  } catch (error) {
    if (faultOf(error) !== "conflict") throw error;
  }
}

/**
 * The resourceVersion of a create-only apply. No object ever has this version, because the first write of a store creates a
 * later one: the apply creates the object or fails. Without it, an apply would take over an object that another client has created
 * since the read.
 */
export const createOnlyVersion = "1";

type DiscoveryClient = Pick<KubeClient, "raw" | "server">;

/**
 * Whether a cluster serves a type, by its discovery API.
 *
 * A 404 is no evidence: any web server answers it for an unknown path, also a proxy in front of the cluster. Only a discovery list
 * without the type proves that the cluster has no objects of it. Any other answer fails with "unreachable".
 */
export async function isServed(client: DiscoveryClient, type: ResourceType, signal: AbortSignal): Promise<boolean> {
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
  const message = `${client.server}: ${formatType(type)}: the server returned no discovery list`;
  throw new ControllerError("unreachable", message);
}

async function listAt(
  client: DiscoveryClient,
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
    return undefined; // not a discovery list
  }
}
