import { compareStrings } from "@tmc/kube/compare.ts";
import type { UpsyncOrigin } from "../sync/ownership/upsync-origin.ts";
import type { Copy } from "../sync/sync-objects.ts";
import type { UpsyncReason } from "./conditions.ts";
import type { AcceptedDifference } from "./local-state.ts";

/** What a cluster has under a name. An object that merely was not seen is never `absent`. */
export type UpsyncState =
  /** An upsync candidate that an opt-in covers. */
  | Readonly<{ kind: "present"; copy: Copy; hash: string }>
  /** An object that is not to be upsynced. */
  | Readonly<{ kind: "other"; uid: string }>
  /** The cluster itself has answered that the object does not exist. */
  | Readonly<{ kind: "absent" }>
  /** The cluster cannot be read; `isTransient` if a retry soon is worthwhile. */
  | Readonly<{ kind: "unknown"; message: string; isTransient: boolean }>;

/** A registration that opts in to a name, and what its cluster has under that name. */
export type Candidate = Readonly<{ registration: string; state: UpsyncState }>;

/** The upstream object of that name. */
export type UpstreamState = Readonly<{
  uid: string;
  isDeleting: boolean;
  hash: string;
  /** The origin that its annotation names; undefined for an object that was created upstream. */
  origin: UpsyncOrigin | undefined;
}>;

export type UpsyncFacts = Readonly<{
  /** Undefined when upstream has no object of that name. */
  upstream: UpstreamState | undefined;
  /** Only registrations that opt in to the name. */
  candidates: readonly Candidate[];
  /** Whether the namespace exists upstream. */
  hasNamespace: boolean;
  /** Undefined when upstream stored the last write unchanged. */
  acceptedDifference?: AcceptedDifference | undefined;
  /** Why the deletion guard holds a deletion; undefined when it does not. */
  heldMessage?: string | undefined;
}>;

export type UpsyncAction =
  | Readonly<{ kind: "none" }>
  /** Writes the content of the registration's object upstream. */
  | Readonly<{ kind: "create" | "update"; registration: string }>
  | Readonly<{ kind: "delete"; registration: string }>;

/** Why the object of a registration is not upsynced, or not deleted upstream. */
export type UpsyncBlocker = Readonly<{ registration: string; reason: UpsyncReason; message: string }>;

export type UpsyncPlan = Readonly<{ action: UpsyncAction; blockers: readonly UpsyncBlocker[] }>;

const none: UpsyncAction = { kind: "none" };

/**
 * Decides what to do upstream with one name, from what clusters have under that name.
 *
 * The first origin keeps the name. An object of another cluster with the same name is a conflict, and so is an object that
 * was created upstream. The spec comes from the origin alone, so changes and deletions upstream are reverted. The upstream
 * object is deleted only after the cluster itself has answered that the original is gone, and not while the deletion guard
 * holds deletions.
 */
export function decide(facts: UpsyncFacts): UpsyncPlan {
  const { upstream, candidates, hasNamespace } = facts;
  const live = candidates.filter((candidate) => isLive(candidate, upstream)).toSorted(byName);
  const conflicts = (winner: string | undefined): readonly UpsyncBlocker[] =>
    live
      .filter(({ registration }) => registration !== winner)
      .map(({ registration }) => ({ registration, reason: "NameTaken", message: nameTakenMessage(winner) }));
  if (upstream !== undefined) {
    // It is created again after its deletion is complete.
    if (upstream.isDeleting) return { action: none, blockers: [] };
    const plan = decideForOrigin(facts, upstream);
    return { action: plan.action, blockers: [...plan.blockers, ...conflicts(upstream.origin?.registration)] };
  }
  const first = live[0]?.registration;
  if (first === undefined) return { action: none, blockers: [] };
  if (hasNamespace) return { action: { kind: "create", registration: first }, blockers: conflicts(first) };
  const message = "the workspace does not have the namespace of the object";
  return {
    action: none,
    blockers: live.map(({ registration }) => ({ registration, reason: "NamespaceMissing", message })),
  };
}

function decideForOrigin(
  { candidates, acceptedDifference, heldMessage }: UpsyncFacts,
  { hash, origin }: UpstreamState,
): UpsyncPlan {
  const candidate = candidates.find(({ registration }) => registration === origin?.registration);
  // Created upstream, or its origin no longer opts in to it: it belongs to the workspace's users.
  if (candidate === undefined || origin === undefined) return { action: none, blockers: [] };
  const { registration, state } = candidate;
  switch (state.kind) {
    case "unknown":
      return { action: none, blockers: [] };
    case "present": {
      const isAccepted = acceptedDifference?.downstreamHash === state.hash && acceptedDifference.upstreamHash === hash;
      const isSame = state.copy.uid === origin.uid && (state.hash === hash || isAccepted);
      const action: UpsyncAction = isSame || state.copy.isDeleting ? none : { kind: "update", registration };
      return { action, blockers: [] };
    }
    case "other":
      // The original still exists and is only no longer opted in: the upstream object stays as it is.
      if (state.uid === origin.uid) return { action: none, blockers: [] };
      return decideDeletion(registration, heldMessage);
    case "absent":
      return decideDeletion(registration, heldMessage);
  }
}

function decideDeletion(registration: string, heldMessage: string | undefined): UpsyncPlan {
  if (heldMessage === undefined) return { action: { kind: "delete", registration }, blockers: [] };
  return { action: none, blockers: [{ registration, reason: "DeletionsHeld", message: heldMessage }] };
}

/**
 * Whether a cluster has an object to upsync that is not being deleted. Where upstream is itself registered as a cluster, the
 * upstream object is found there too, with the same uid; it is not a second object.
 */
function isLive({ state }: Candidate, upstream: UpstreamState | undefined): boolean {
  return state.kind === "present" && !state.copy.isDeleting && state.copy.uid !== upstream?.uid;
}

function byName(one: Candidate, other: Candidate): number {
  return compareStrings(one.registration, other.registration);
}

function nameTakenMessage(winner: string | undefined): string {
  return winner === undefined
    ? "the workspace has an object with the same name that was not upsynced"
    : `the workspace has the object of cluster ${winner}`;
}
