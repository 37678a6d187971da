import { shortHash } from "../model/text.ts";

/**
 * What a hub stores about itself: its id, and how to recognize that it is still the same hub. Every copy on a cluster carries
 * the id, so that control planes that share a cluster keep apart.
 */
export type HubRecord = Readonly<{
  id: string;
  /** The uid of the hub when the record was written; a record that was copied to another hub does not match. */
  uid: string | undefined;
  /** The addresses of the hub. A restored backup has the same uids, and another address. */
  servers: readonly string[];
}>;

/** Observed facts about a hub. */
export type HubFacts = Readonly<{
  /** `invalid` if the stored record cannot be parsed. */
  record: HubRecord | "invalid" | undefined;
  /** The uid of the LogicalCluster that holds the record, or of the namespace `kube-system`; undefined if it cannot be read. */
  uid: string | undefined;
  /** The uid of kcp's root workspace; undefined on a plain cluster, or if it cannot be read. */
  rootUid: string | undefined;
  /** Scheme, host and port under which the processes of TMC reach the hub; undefined if the first of them is to store it. */
  server: string | undefined;
  /** The ids in the sync records of the hub. */
  recordedIds: readonly string[];
}>;

export type HubIdentityReason = "HubIdentityChanged" | "HubIdentityUnknown";

export type HubIdentityDecision =
  | Readonly<{ kind: "known"; id: string }>
  /** The record must be written first; without it, a restored copy of this hub could not be detected. */
  | Readonly<{ kind: "store"; record: HubRecord }>
  | Readonly<{ kind: "refused"; reason: HubIdentityReason; message: string }>;

/** The id of hubs whose sync records name none: the only id before hubs had identities. */
export const legacyHubId = "kcp";

/** Accepts names like DNS labels: the id is part of names of secrets, and is shown to users. */
export const hubIdPattern = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
export const hubIdForm = "1 to 63 lower-case letters, digits and -";

const changedRemedy =
  'if it is the same hub with another address, run "tmc hub accept-identity"; if it is a restored copy, run "tmc hub new-identity"';
const overrideRemedy = "set --hub-id (TMC_HUB_ID)";

/**
 * Decides which id a hub has. A stored id counts only if uid and address are the known ones: otherwise the hub may be a
 * restored copy of another one, which would write to the clusters of the original.
 *
 * Without a record, the sync records decide: their copies carry their id, and another id would create all copies again.
 */
export function decideHubIdentity({ record, uid, rootUid, server, recordedIds }: HubFacts): HubIdentityDecision {
  if (record === "invalid") return unknown(`its record cannot be parsed; ${overrideRemedy}`);
  if (record !== undefined) {
    if (record.uid !== undefined && uid !== undefined && record.uid !== uid) {
      return changed(`its record was written by a hub with another uid; ${changedRemedy}`);
    }
    if (server !== undefined && record.servers.length === 0)
      return { kind: "store", record: { ...record, servers: [server] } };
    if (server === undefined || record.servers.includes(server)) return { kind: "known", id: record.id };
    return changed(
      `its known address is ${record.servers.join(", ")}, and it was reached at ${server}; ${changedRemedy}`,
    );
  }
  const ids = [...new Set(recordedIds)];
  if (ids.length > 1) return unknown(`its sync records carry several ids (${ids.join(", ")}); ${overrideRemedy}`);
  const source = rootUid ?? uid;
  const id = ids[0] ?? (source === undefined ? undefined : shortHash(source).slice(0, idLength));
  if (id === undefined) return unknown(`its uid cannot be read; ${overrideRemedy}`);
  return { kind: "store", record: { id, uid, servers: server === undefined ? [] : [server] } };
}

/** 62 bits: few hubs share a cluster, and the id is part of names that people type. */
const idLength = 12;

/** The record of a hub that its operator declared to be the same one: with its current uid and one more address. */
export function acceptedRecord(
  record: HubRecord,
  { uid, server }: Readonly<{ uid: string | undefined; server: string }>,
): HubRecord {
  return { ...record, uid, servers: [...new Set([...record.servers, server])] };
}

/** The record of a hub that its operator declared to be another one than it was restored from. */
export function renewedRecord({
  uid,
  server,
  seed,
}: Readonly<{ uid: string | undefined; server: string; seed: string }>): HubRecord {
  return { id: shortHash(seed).slice(0, idLength), uid, servers: [server] };
}

function changed(why: string): HubIdentityDecision {
  return { kind: "refused", reason: "HubIdentityChanged", message: why };
}

function unknown(why: string): HubIdentityDecision {
  return { kind: "refused", reason: "HubIdentityUnknown", message: why };
}
