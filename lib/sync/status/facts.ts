import { compareStrings } from "@tmc/kube/compare.ts";
import type { JsonObject } from "@tmc/kube/kube-object.ts";
import type { StatusStrategy } from "../../api/workload-kinds.ts";

/** What a cluster that is heard from says of its copy. */
export type StatusCopy = Readonly<{
  cluster: string;
  status: JsonObject | undefined;
  /** Whether it was written from the workload as it is now, and its own controller has reached that (`hasReached`). */
  isCurrent: boolean;
  /** When we last heard something new of it, by our own clock. */
  seenMs: number;
}>;

/** All that the status of a workload is made from. */
export type StatusFacts = Readonly<{
  apiVersion: string;
  kind: string;
  /** The workload's own, not a copy's. */
  generation: number | undefined;
  /** The status that the workload has. */
  previous: JsonObject | undefined;
  /**
   * Only those that are heard from: what a cluster said before it fell silent is no longer known. What runs on a cluster that
   * is no longer wanted counts as long as it runs, and nobody waits for it.
   */
  copies: readonly StatusCopy[];
  /** The clusters that it belongs on, in the order of its placement. */
  wanted: readonly string[];
  /** Only for types of which we know nothing. */
  strategy?: StatusStrategy | undefined;
  /** Fields that are added up, whatever the strategy says; only for types of which we know nothing. */
  sum?: ReadonlySet<string> | undefined;
  /** The moment of this look, as text. */
  now: string;
}>;

/** The same facts, in an order that does not depend on the one that they came in. */
export type View = Readonly<{
  /** By name. */
  copies: readonly StatusCopy[];
  wanted: readonly string[];
  /** Those of the wanted clusters that say nothing, by name. */
  missing: readonly string[];
  /** Whether more than one cluster is concerned, so that words have to say which. */
  isSeveral: boolean;
}>;

export function viewOf({ copies, wanted }: Pick<StatusFacts, "copies" | "wanted">): View {
  const heard = new Set(copies.map(({ cluster }) => cluster));
  return {
    copies: copies.toSorted((one, other) => compareStrings(one.cluster, other.cluster)),
    wanted,
    missing: wanted.filter((name) => !heard.has(name)).toSorted(),
    isSeveral: new Set([...heard, ...wanted]).size > 1,
  };
}

/** `Deployment.apps`, `Service`: a type without its version, for a table of rules. */
export function typeName({ apiVersion, kind }: Readonly<{ apiVersion: string; kind: string }>): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? kind : `${kind}.${apiVersion.slice(0, slash)}`;
}
