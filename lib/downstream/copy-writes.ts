import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTarget } from "@tmc/kube/paths.ts";
import { type CopyAddress, type Downstream, downstreamFieldManager } from "../sync/downstream.ts";
import { ownerAnnotation, syncedLabel } from "../sync/ownership/owner.ts";
import { lastWrittenHashAnnotation } from "../sync/ownership/record.ts";
import type { Manifest } from "../sync/sync-objects.ts";
import type { CachedCopies, CopyReads } from "./copy-reads.ts";
import { createOnlyVersion, type DownstreamTypes } from "./crds.ts";
import { classifyWriteError, isNamedNotFound, isNamespaceGone, isOutcomeUnknown } from "./errors.ts";
import type { DownstreamNamespaces } from "./namespaces.ts";
import { type ClusterSession, forgetUid, lastSeenUid, rememberUid, type WithSession } from "./session.ts";
import { verifiedOwner } from "./verified-owner.ts";

export type CopyWritesOptions = Readonly<{
  withSession: WithSession;
  reads: Pick<CopyReads, "get">;
  copies: CachedCopies | undefined;
  namespaces: Pick<DownstreamNamespaces, "forget">;
  types: Pick<DownstreamTypes, "forget">;
}>;

/** The number of attempts to delete or release an object that others write at the same time, before the reconcile fails. */
const maxAttempts = 3;

/** Creates the writes of copies. No write changes an object that is not owned by the registration. */
export function createCopyWrites(options: CopyWritesOptions): Pick<Downstream, "apply" | "remove" | "release"> {
  const change = createChange(options);
  return {
    apply: createApply(options),
    remove: (address, uid, signal) =>
      change(address, uid, {
        signal,
        write: async ({ client }, { metadata }) => {
          if (metadata.deletionTimestamp !== undefined) return;
          const { resourceVersion } = metadata;
          const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
          await client.delete(address.object, { preconditions, propagationPolicy: "Foreground", signal });
        },
      }),
    release: (address, uid, signal) =>
      change(address, uid, {
        signal,
        write: async ({ client }, { metadata: { resourceVersion } }) => {
          const metadata = {
            resourceVersion,
            labels: { [syncedLabel]: null },
            annotations: { [ownerAnnotation]: null, [lastWrittenHashAnnotation]: null },
          };
          await client.patch(
            address.object,
            { type: "merge", body: { metadata } },
            { fieldManager: downstreamFieldManager, signal },
          );
        },
      }),
  };
}

/** Marks an object stale: a write failed with an unknown outcome, or was decided on an outdated state. */
function markStale(session: ClusterSession, address: CopyAddress, copies: CachedCopies | undefined): void {
  forgetUid(session, address.object);
  copies?.markStale(address);
}

/** The precondition of an apply: the uid of the present object, empty to create only, undefined for none. */
type ExpectedUid = string | undefined;

function createApply(options: CopyWritesOptions): Downstream["apply"] {
  const { withSession, reads, copies } = options;
  /** The uid of the object that an apply would change; empty if there is none. */
  const presentUid = async (session: ClusterSession, address: CopyAddress, signal: AbortSignal): Promise<string> => {
    const cached = copies?.cached(address);
    const known = cached?.kind === "there" ? cached.copy.uid : lastSeenUid(session, address.object);
    if (known !== undefined) return known;
    const object = await reads.get(session, address, signal);
    if (object !== undefined && verifiedOwner(object, address.registration) === undefined) throw existsError(address);
    return object?.metadata.uid ?? "";
  };
  return async (address, manifest, signal) => {
    const { registration, object } = address;
    if (manifest.metadata.name !== object.name || manifest.metadata.namespace !== object.namespace) {
      const message = `cluster ${registration.name}: apply ${formatTarget(object)}: the manifest is for another object`;
      throw new ControllerError("invalid", message);
    }
    return withSession(registration, signal, async (session) => {
      const uid = await presentUid(session, address, signal);
      try {
        return await applyWithUid(options, session, address, { manifest, uid, signal });
      } catch (error) {
        if (uid !== "" || faultOf(error) !== "conflict") throw error;
        // Another client created the object, or this server does not support the create-only precondition.
        if ((await reads.get(session, address, signal)) !== undefined) throw existsError(address, error);
        return applyWithUid(options, session, address, { manifest, uid: undefined, signal });
      }
    });
  };
}

async function applyWithUid(
  { copies, namespaces, types }: CopyWritesOptions,
  session: ClusterSession,
  address: CopyAddress,
  { manifest, uid, signal }: Readonly<{ manifest: Manifest; uid: ExpectedUid; signal: AbortSignal }>,
): Promise<KubeObject> {
  const { object } = address;
  const precondition = uid === undefined ? {} : uid === "" ? { resourceVersion: createOnlyVersion } : { uid };
  const body = { ...manifest, metadata: { ...manifest.metadata, ...precondition } };
  const answered = copies?.request(address);
  try {
    const applied = await session.client.patch<KubeObject>(
      object,
      { type: "apply", body, force: true },
      // Servers reject an apply with an unknown field whatever is requested here; "Strict" says so explicitly.
      { fieldManager: downstreamFieldManager, fieldValidation: "Strict", signal },
    );
    answered?.(applied);
    rememberUid(session, object, applied.metadata.uid ?? "");
    return applied;
  } catch (error) {
    const classified = classifyWriteError(error);
    if (isNamespaceGone(error)) namespaces.forget(session, object.namespace);
    else if (faultOf(error) === "not-found") types.forget(session, object.type);
    if (isOutcomeUnknown(error) || faultOf(classified) === "conflict") markStale(session, address, copies);
    throw classified;
  }
}

type Change = Readonly<{
  write: (session: ClusterSession, object: KubeObject) => Promise<void>;
  signal: AbortSignal;
}>;

/** Reads an object from its cluster and writes it if it is still ours; repeats both after a conflict. */
function createChange({ withSession, reads, copies }: CopyWritesOptions) {
  return (address: CopyAddress, uid: string, { write, signal }: Change): Promise<void> =>
    withSession(address.registration, signal, async (session) => {
      for (let attempt = 1; ; attempt++) {
        const object = await reads.get(session, address, signal);
        // Deleted, replaced by another object, or no longer ours: there is nothing that TMC may change.
        if (object?.metadata.uid !== uid || verifiedOwner(object, address.registration) === undefined) return;
        try {
          await write(session, object);
          markStale(session, address, copies);
          return;
        } catch (error) {
          markStale(session, address, copies);
          if (isNamedNotFound(error, address.object.name)) return;
          if (faultOf(error) !== "conflict" || attempt >= maxAttempts) throw error;
        }
      }
    });
}

function existsError({ registration, object }: CopyAddress, cause?: unknown): ControllerError {
  const message = `cluster ${registration.name}: apply ${formatTarget(object)}: an object exists that TMC had not read`;
  return new ControllerError("conflict", message, { cause });
}
