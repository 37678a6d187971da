import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { parseServerAddress } from "@tmc/kube/kubeconfig/server-address.ts";
import { accountNamespace, hubRecordName } from "../api/export-access.ts";
import { managedByTmc } from "../api/group.ts";
import { hubIdAnnotation } from "../sync/ownership/record.ts";
import type { ExportAddress } from "./export/address.ts";
import {
  decideHubIdentity,
  type HubFacts,
  type HubIdentityReason,
  type HubRecord,
  hubIdPattern,
  legacyHubId,
} from "./hub-identity.ts";
import { asUpstreamError, undefinedIfGone } from "./hub-requests.ts";
import { clientOf, logicalClusters } from "./logical-cluster.ts";
import { recordResource } from "./watched-resources.ts";

const core = (plural: string): ResourceType => ({ group: "", version: "v1", plural });
const namespaces = core("namespaces");
const configMaps = core("configmaps");

/** The ConfigMap with the identity of the hub. */
export const hubRecordAddress = { type: configMaps, namespace: accountNamespace, name: hubRecordName } as const;

/** Which part of a hub a process serves: an export, workspaces, or with neither a plain cluster. */
export type HubPart = Readonly<{
  workspaces: readonly string[] | undefined;
  apiExport?: ExportAddress | undefined;
}>;

/** The workspace that stores the record: the one of the export, or the first one that is served; empty on a plain cluster. */
export function hubRecordWorkspace({ workspaces, apiExport }: HubPart): string {
  return apiExport?.path ?? workspaces?.[0] ?? "";
}

export type HubIdentityOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  part: HubPart;
  signal?: AbortSignal | undefined;
}>;

/** A refusal to work with a hub whose identity is not certain. Its message is one line with the remedy. */
export class HubIdentityError extends ControllerError {
  readonly reason: HubIdentityReason;

  constructor(reason: HubIdentityReason, message: string, options?: ErrorOptions) {
    // A cause is the rejection by the server, which a new workspace may give for a moment.
    super(options === undefined ? "invalid" : "forbidden", `hub identity: ${reason}: ${message}`, options);
    this.reason = reason;
  }
}

/**
 * Returns the id of the hub. The first process that serves a hub stores the id; with an export, `tmc bootstrap` does. Throws
 * a HubIdentityError if the id cannot be determined, or if the hub is not the one that the record was written for.
 */
export async function ensureHubIdentity({ client, part, signal }: HubIdentityOptions): Promise<string> {
  const workspace = hubRecordWorkspace(part);
  const store = openHubRecord(clientOf(client, workspace), { isKcp: workspace !== "", signal });
  const facts = await store.readFacts();
  if (facts.record !== undefined) return settle(store, { ...facts, rootUid: undefined, recordedIds: [] });
  if (part.apiExport !== undefined) {
    throw new HubIdentityError("HubIdentityUnknown", `${workspace} has no record of it; run "tmc bootstrap"`);
  }
  const sources = (part.workspaces ?? [""]).map((path) => clientOf(client, path));
  return createHubRecord(store, { root: workspace === "" ? undefined : client, sources, server: facts.server, signal });
}

export type NewHubRecord = SignalOption &
  Readonly<{
    /** A client at the root of kcp; undefined for a plain cluster. */
    root: KubeClient | undefined;
    /** Clients that list the sync records of the hub. */
    sources: readonly KubeClient[];
    /** The address to store; undefined if the first process that serves the hub is to store its own. */
    server: string | undefined;
  }>;

/** Stores the id of a hub that has none, or returns the one that another process has stored meanwhile. */
export async function createHubRecord(
  store: HubRecordStore,
  { root, sources, server, signal }: NewHubRecord,
): Promise<string> {
  const [facts, rootUid, recordedIds] = await Promise.all([
    store.readFacts(),
    root && uidOf(clientOf(root, "root"), { isKcp: true, signal }),
    idsInSyncRecords(sources, signal),
  ]);
  return settle(store, { ...facts, server, rootUid, recordedIds });
}

/** Writers that start at the same time conflict once; more conflicts than this are not a coincidence. */
const maxAttempts = 5;

async function settle(store: HubRecordStore, first: HubFacts): Promise<string> {
  let facts = first;
  for (let attempt = 1; ; attempt += 1) {
    const decision = decideHubIdentity(facts);
    if (decision.kind === "known") return decision.id;
    if (decision.kind === "refused") throw new HubIdentityError(decision.reason, decision.message);
    try {
      await store.write(decision.record);
      return decision.record.id;
    } catch (error) {
      const fault = faultOf(error);
      if ((fault !== "exists" && fault !== "conflict") || attempt >= maxAttempts) throw error;
      facts = { ...facts, ...(await store.readFacts()), server: facts.server };
    }
  }
}

type SignalOption = Readonly<{ signal?: AbortSignal | undefined }>;

/** The record of one hub, read and written in the workspace that stores it. */
export interface HubRecordStore {
  readFacts(): Promise<Pick<HubFacts, "record" | "uid"> & Readonly<{ server: string }>>;
  /** Creates the record, or replaces the one that was read last. */
  write(record: HubRecord): Promise<void>;
}

/** Opens the record through a client for the workspace that stores it. */
export function openHubRecord(
  client: KubeClient,
  { isKcp, signal }: Readonly<{ isKcp: boolean }> & SignalOption,
): HubRecordStore {
  const server = parseServerAddress(client.server).origin;
  let stored: KubeObject | undefined;
  const read = async (): Promise<KubeObject | undefined> => {
    try {
      return await client.get<KubeObject>(hubRecordAddress, { signal });
    } catch (error) {
      return undefinedIfGone(withRemedy("read", asUpstreamError(error, hubRecordAddress.name)));
    }
  };
  return {
    readFacts: async () => {
      const [object, uid] = await Promise.all([read(), uidOf(client, { isKcp, signal })]);
      stored = object;
      return { record: object && (parseRecord(object) ?? "invalid"), uid, server };
    },
    write: async (record) => {
      const version = stored?.metadata.resourceVersion;
      const object = recordObject(record, version);
      try {
        if (stored !== undefined) await client.update(hubRecordAddress, object, { signal, fieldManager });
        else await createInNamespace(client, object, signal);
      } catch (error) {
        throw withRemedy("store", error);
      }
    },
  };
}

const fieldManager = "tmc";

async function createInNamespace(client: KubeClient, object: object, signal: AbortSignal | undefined): Promise<void> {
  const { type, namespace } = hubRecordAddress;
  const create = (): Promise<unknown> => client.create({ type, namespace }, object, { signal, fieldManager });
  try {
    await create();
  } catch (error) {
    if (faultOf(error) !== "not-found") throw error;
    const own = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: managedByTmc } };
    await client.create({ type: namespaces }, own, { signal, fieldManager }).catch((failure: unknown) => {
      if (faultOf(failure) !== "exists") throw failure;
    });
    await create();
  }
}

function recordObject({ id, uid, servers }: HubRecord, resourceVersion: string | undefined): KubeObject {
  const { namespace, name } = hubRecordAddress;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, labels: managedByTmc, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    data: { id, ...(uid === undefined ? {} : { uid }), servers: servers.join(" ") },
  };
}

function parseRecord({ data }: KubeObject): HubRecord | undefined {
  if (!isRecord(data)) return undefined;
  const { id, uid, servers } = data;
  if (typeof id !== "string" || !hubIdPattern.test(id)) return undefined;
  return {
    id,
    uid: typeof uid === "string" && uid !== "" ? uid : undefined,
    servers: typeof servers === "string" ? servers.split(/\s+/).filter((each) => each !== "") : [],
  };
}

/** The uid of a logical cluster, or of a plain cluster: of its namespace kube-system; undefined if it cannot be read. */
async function uidOf(
  client: KubeClient,
  { isKcp, signal }: Readonly<{ isKcp: boolean }> & SignalOption,
): Promise<string | undefined> {
  const address = isKcp ? { type: logicalClusters, name: "cluster" } : { type: namespaces, name: "kube-system" };
  try {
    return (await client.metadata.get(address, { signal })).metadata.uid;
  } catch (error) {
    const fault = faultOf(error);
    // A service account has access to its own workspace only: kcp answers 404 or 401 for others.
    if (fault === "forbidden" || fault === "not-found" || fault === "unauthorized") return undefined;
    throw error;
  }
}

/** Enough to find an id that differs; sync records are read only while there is no record of the identity. */
const sampleSize = 500;

/** The ids that the sync records of the given workspaces carry. */
export async function idsInSyncRecords(
  sources: readonly KubeClient[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const lists = await Promise.all(
    sources.map(async (client) => {
      try {
        return (await client.metadata.list({ type: recordResource.type }, { limit: sampleSize, signal })).items;
      } catch (error) {
        if (faultOf(error) !== "not-found") throw error;
        return []; // the type is not served, so there are no sync records
      }
    }),
  );
  return [...new Set(lists.flat().map(({ metadata }) => metadata.annotations?.[hubIdAnnotation] ?? legacyHubId))];
}

/** A rejection by the server becomes a refusal; everything else stays as it is. */
function withRemedy(action: "read" | "store", error: unknown): unknown {
  if (faultOf(error) !== "forbidden") return error;
  const message = error instanceof Error ? error.message : "forbidden";
  const remedy = action === "read" ? 'run "tmc bootstrap" again' : 'run "tmc hub accept-identity" as an administrator';
  return new HubIdentityError(
    "HubIdentityUnknown",
    `cannot ${action} it (${message}); ${remedy}, or set --hub-id (TMC_HUB_ID)`,
    {
      cause: error,
    },
  );
}
