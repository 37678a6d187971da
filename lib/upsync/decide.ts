import { compareStrings } from "@tmc/kube/compare.ts";
import type { UpsyncOrigin } from "../sync/ownership/upsync-origin.ts";
import type { Copy } from "../sync/sync-objects.ts";
import type { UpsyncReason } from "./reasons.ts";

/** What a cluster has under a name: nothing is taken for gone that was only not seen. */
export type UpsyncState =
  /** An object that was born there and is opted in. */
  | Readonly<{ kind: "born"; copy: Copy; print: string }>
  /** An object that is not to be made known. */
  | Readonly<{ kind: "other"; uid: string }>
  /** The cluster itself has said so. */
  | Readonly<{ kind: "absent" }>
  /** It cannot be asked; `mayPass` where it is worth while to ask again soon. */
  | Readonly<{ kind: "unknown"; why: string; mayPass: boolean }>;

/** What a registration that opts in has under the name of a workload. */
export type Claim = Readonly<{ registration: string; birth: UpsyncState }>;

/** The object of that name in the workspace. */
export type Upstream = Readonly<{
  uid: string;
  isDeleting: boolean;
  print: string;
  /** Where it says that it was born; undefined for one that was not. */
  birthplace: UpsyncOrigin | undefined;
}>;

export type Facts = Readonly<{
  /** Undefined when the hub has said that there is none. */
  upstream: Upstream | undefined;
  /** Those of registrations that opt in to it, and of no others. */
  claims: readonly Claim[];
  hasNamespace: boolean;
  /** What the workspace made of what a cluster said, where that is not the same: the print there, and what came of it. */
  agreed?: Readonly<{ born: string; upstream: string }> | undefined;
  /** Why too many objects went from the cluster at once; undefined when they did not. */
  held?: string | undefined;
}>;

export type Action =
  | Readonly<{ do: "nothing" }>
  /** Creates it in the workspace, or has it say what the cluster says. */
  | Readonly<{ do: "create" | "write"; registration: string }>
  | Readonly<{ do: "remove"; registration: string }>;

/** What keeps the object of a registration from the workspace, or from going from there. */
export type Blocker = Readonly<{ registration: string; reason: UpsyncReason; message: string }>;

export type Plan = Readonly<{ act: Action; hindrances: readonly Blocker[] }>;

const nothing: Action = { do: "nothing" };

/**
 * Decides what becomes of one name in a workspace, by what clusters have under it.
 *
 * The first origin keeps the name: whatever another has is a clash, and so is what is in the workspace by itself. Spec comes
 * from the origin alone, so what somebody changes or deletes in the workspace is put back. It goes only after the cluster
 * itself has said that the object is gone, and not when many go at once.
 */
export function decide(facts: Facts): Plan {
  const { upstream, claims, hasNamespace } = facts;
  const born = claims.filter((claim) => isLiving(claim, upstream)).toSorted(byName);
  const home = upstream?.birthplace?.registration;
  const clashes = (winner: string | undefined): readonly Blocker[] =>
    born
      .filter(({ registration }) => registration !== winner)
      .map(({ registration }) => ({ registration, reason: "NameTaken", message: takenWords(winner) }));
  if (upstream !== undefined) {
    // It goes, and comes back once it has gone.
    if (upstream.isDeleting) return { act: nothing, hindrances: [] };
    const plan = decideHome(facts, upstream);
    return { act: plan.act, hindrances: [...plan.hindrances, ...clashes(home)] };
  }
  const first = born[0]?.registration;
  if (first === undefined) return { act: nothing, hindrances: [] };
  if (hasNamespace) return { act: { do: "create", registration: first }, hindrances: clashes(first) };
  const message = "the workspace does not have its namespace";
  return {
    act: nothing,
    hindrances: born.map(({ registration }) => ({ registration, reason: "NamespaceMissing", message })),
  };
}

function decideHome({ claims, agreed, held }: Facts, { print, birthplace }: Upstream): Plan {
  const claim = claims.find(({ registration }) => registration === birthplace?.registration);
  // Nobody opts in to it any more, or it was not born on a cluster at all: it is its owner's.
  if (claim === undefined || birthplace === undefined) return { act: nothing, hindrances: [] };
  const { registration, birth } = claim;
  switch (birth.kind) {
    case "unknown":
      return { act: nothing, hindrances: [] };
    case "born": {
      const isAgreed = agreed?.born === birth.print && agreed.upstream === print;
      const isSame = birth.copy.uid === birthplace.uid && (birth.print === print || isAgreed);
      const act: Action = isSame || birth.copy.isDeleting ? nothing : { do: "write", registration };
      return { act, hindrances: [] };
    }
    case "other":
      // The very same object, only not opted in any more: it stays as it is.
      if (birth.uid === birthplace.uid) return { act: nothing, hindrances: [] };
      return removal(registration, held);
    case "absent":
      return removal(registration, held);
  }
}

function removal(registration: string, held: string | undefined): Plan {
  if (held === undefined) return { act: { do: "remove", registration }, hindrances: [] };
  return { act: nothing, hindrances: [{ registration, reason: "DeletionsHeld", message: held }] };
}

/** Born there and not on its way out; an object that is the one in the workspace itself is no other: a hub can be a cluster too. */
function isLiving({ birth }: Claim, upstream: Upstream | undefined): boolean {
  return birth.kind === "born" && !birth.copy.isDeleting && birth.copy.uid !== upstream?.uid;
}

function byName(one: Claim, other: Claim): number {
  return compareStrings(one.registration, other.registration);
}

function takenWords(winner: string | undefined): string {
  return winner === undefined
    ? "the workspace has one of that name that was not born on a cluster"
    : `the workspace has the one of cluster ${winner}`;
}
