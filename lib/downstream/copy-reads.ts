import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { claimedWorkloads, typeId, type WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadAddress } from "../model/key.ts";
import { type CopyAddress, copyOf, type Downstream } from "../sync/downstream.ts";
import { downstreamNamespace } from "../sync/ownership/namespace-map.ts";
import { isOwnedBy, type Owner, otherOwningRegistration, whyNotOwned } from "../sync/ownership/owner.ts";
import type { CopyWatches } from "./copy-watch.ts";
import { isServed } from "./crds.ts";
import { isNamedNotFound } from "./errors.ts";
import { type ClusterSession, lastSeenUid, rememberUid, type WithSession } from "./session.ts";

/** The watch cache of copies, as reads and writes use it. */
export type CachedCopies = Pick<CopyWatches, "cached" | "cachedOnceListed" | "request" | "markStale">;

/** Reads copies from the watch cache or from their cluster. */
export interface CopyReads extends Pick<Downstream, "readCopy" | "readCopyUncached" | "readObject"> {
  /** Reads the whole object from the cluster of an open session; the answer is in the cache before the next read. */
  get(session: ClusterSession, address: CopyAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
}

/** Creates the reads; without `copies` every read is a request. */
export function createCopyReads(withSession: WithSession, copies: CachedCopies | undefined): CopyReads {
  const request = async (
    session: ClusterSession,
    address: CopyAddress,
    options: RequestOptions,
  ): Promise<KubeObject | undefined> => {
    const answered = copies?.request(address);
    const object = await getObject(session, address.object, options);
    answered?.(object);
    rememberUid(session, address.object, object?.metadata.uid ?? "");
    return object;
  };
  const get: CopyReads["get"] = (session, address, signal) =>
    request(session, address, { metadataOnly: false, signal });

  const readCopyUncached: Downstream["readCopyUncached"] = async (address, owner, signal) => {
    const metadataOnly = claimedType(address.object) !== undefined;
    const object = await withSession(address.registration, signal, (session) =>
      request(session, address, { metadataOnly, signal }),
    );
    if (object === undefined) return { kind: "absent" };
    const copy = copyOf(object);
    if (isOwnedBy(object, owner)) return { kind: "there", copy };
    return {
      kind: "foreign",
      copy,
      message: whyNotOwned(object, owner),
      otherRegistration: otherOwningRegistration(object, owner),
    };
  };

  return {
    get,
    readCopyUncached,
    readCopy: async (address, owner, signal, { acceptCachedAbsence = false } = {}) => {
      const { registration, object } = address;
      const known = await copies?.cachedOnceListed(address, signal);
      if (acceptCachedAbsence && known?.kind === "absent") {
        const isAbsent = await withSession(registration, signal, async (session) => {
          // The last read found an object that is not ours. The watch selects only ours, so its cache cannot know that one.
          if ((lastSeenUid(session, object) ?? "") !== "") return false;
          rememberUid(session, object, "");
          return true;
        });
        if (isAbsent) return { kind: "absent", isCached: true };
      }
      // An object that is not cached may still exist and belong to another owner: only the cluster knows that it is absent.
      return known?.kind === "there" && isAddressOf(owner, address) ? known : readCopyUncached(address, owner, signal);
    },
    readObject: (address, signal) =>
      withSession(address.registration, signal, (session) => get(session, address, signal)),
  };
}

type RequestOptions = Readonly<{ metadataOnly: boolean; signal: AbortSignal }>;

/** Whether the copy that this owner owns has this address. */
function isAddressOf(owner: Owner, { registration, object }: CopyAddress): boolean {
  return (
    owner.logicalCluster === registration.logicalCluster &&
    owner.registration === registration.name &&
    owner.name === object.name &&
    downstreamNamespace(owner) === object.namespace
  );
}

/** The claimed type of an object. Of claimed types sync reads metadata only, so TMC never reads the content of Secrets downstream. */
function claimedType({ type }: WorkloadAddress): WorkloadType | undefined {
  return claimedWorkloads.find((each) => typeId(each.type) === typeId(type));
}

/** Reads an object; undefined only if the cluster itself reports that the object does not exist. */
async function getObject(
  { client }: ClusterSession,
  address: WorkloadAddress,
  { metadataOnly, signal }: RequestOptions,
): Promise<KubeObject | undefined> {
  try {
    if (!metadataOnly) return await client.get<KubeObject>(address, { signal });
    const { apiVersion, kind } = claimedType(address) ?? {};
    const object = await client.metadata.get<KubeObject>(address, { signal });
    // The server names the kind PartialObjectMetadata.
    return { ...object, apiVersion: apiVersion ?? object.apiVersion, kind: kind ?? object.kind };
  } catch (error) {
    if (isNamedNotFound(error, address.name)) return undefined;
    if (faultOf(error) !== "not-found") throw error;
    if (!(await isServed(client, address.type, signal))) return undefined;
    const message = error instanceof Error ? error.message : "not found";
    throw new ControllerError("unreachable", message, { cause: error });
  }
}
