type DecisionReasonText = Readonly<{
  selected: boolean;
  /** The sentence that users read; `{rule}`, `{expected}` and `{actual}` are replaced. */
  message: string;
  /** For docs/reasons.md. */
  meaning: string;
}>;

/**
 * All reasons of decisions about a cluster, from selected to farthest from being selected. The rejections are in the
 * reverse order of the filters: the first failing filter gives the reason, so a cluster that fails a later one is nearer.
 */
export const decisionReasons = {
  Selected: {
    selected: true,
    message: "selected by {rule}",
    meaning: "The cluster fits and is selected. A selected cluster stays selected as long as it fits.",
  },
  KeptUnschedulable: {
    selected: true,
    message: "kept, but not used for new workloads: {rule} requires {expected}, the cluster has {actual}",
    meaning:
      "The cluster was selected before and is kept. New workloads are not placed there: it is cordoned, has a NoSchedule taint, or was observed to lack a requirement.",
  },
  KeptTolerated: {
    selected: true,
    message: "kept while {actual} is tolerated",
    meaning:
      "The cluster was selected before and is kept until the tolerated time ends: it is not Ready or has a NoExecute taint.",
  },
  KeptMassFailure: {
    selected: true,
    message:
      "kept although {actual} was only {expected}: most clusters stopped responding at about the same time, so evictions are held",
    meaning:
      "The cluster was selected before and is no longer tolerated, but most clusters stopped responding at about the same time. TMC may have lost its connection to them, so it holds evictions until enough clusters respond again, or a user confirms the failure with `tmc confirm failure/NAME`.",
  },
  KeptInvalidPlacement: {
    selected: true,
    message: "kept, because the spec of the placement is invalid",
    meaning: "The cluster was selected before and is kept until the placement is corrected.",
  },
  FailingBack: {
    selected: false,
    message: "fits; {rule} moves back to it when it has fit for {expected}",
    meaning:
      "The placement was evicted from the cluster because of its state, or prefers it. It moves back at the time in `until`, unless the cluster stops fitting before.",
  },
  NotSelected: {
    selected: false,
    message: "fits, but {rule} selected other clusters",
    meaning: "The cluster fits, but enough other clusters are selected.",
  },
  SkewTooLarge: {
    selected: false,
    message: "fits, but would violate {rule}: {expected} is allowed, the cluster has {actual}",
    meaning: "Selecting the cluster would exceed the maxSkew of a spread constraint with DoNotSchedule.",
  },
  NotFound: {
    selected: false,
    message: "{rule} names a cluster that is not registered",
    meaning: "`clusterNames` names a cluster that does not exist.",
  },
  InsufficientCapacity: {
    selected: false,
    message: "{rule} requires {expected}, the cluster has {actual} free",
    meaning:
      "The allocatable resources of all nodes together, minus the `resources` of the other placements that select the cluster and the requests of pods that TMC did not place, are less than `resources`. A placement that lacks clusters for this reason is decided again every minute.",
  },
  InsufficientResources: {
    selected: false,
    message: "{rule} requires {expected}, the cluster has {actual} allocatable",
    meaning: "The allocatable resources of all nodes together are less than `resources`.",
  },
  UntoleratedTaint: {
    selected: false,
    message: "the cluster has the {actual}, which the {rule} of the placement do not tolerate",
    meaning: "The cluster has a NoSchedule or NoExecute taint that is not tolerated, or only for a limited time.",
  },
  Unschedulable: {
    selected: false,
    message: "the cluster is cordoned: {actual}",
    meaning: "The cluster is cordoned: it accepts no new workloads.",
  },
  NotReady: {
    selected: false,
    message: "the cluster is not ready: {actual}",
    meaning:
      "The Ready condition of the cluster is not True. A cluster that was selected before gets this reason when the tolerated time is over.",
  },
  ApiNotServed: {
    selected: false,
    message: "the cluster does not serve {expected}, which {rule} requires",
    meaning:
      "The cluster does not serve a type of `workloadTypes`. A cluster whose served types are unknown is not rejected.",
  },
  CapabilityTooOld: {
    selected: false,
    message: "{rule} requires {expected}, the cluster has {actual}",
    meaning: "A required capability is older than `minVersion`, or its version is unknown.",
  },
  CapabilityMissing: {
    selected: false,
    message: "{rule} requires {expected}, the cluster has {actual}",
    meaning: "A required capability is declared as not available, or is neither declared nor detected.",
  },
  TopologyKeyMissing: {
    selected: false,
    message: "{rule} requires {expected}, the cluster has {actual}",
    meaning: "The cluster lacks the label of a spread constraint with DoNotSchedule.",
  },
  AntiAffinityMatch: {
    selected: false,
    message: "{rule} excludes {expected}, the cluster has {actual}",
    meaning: "The cluster matches a required term of `clusterAntiAffinity`.",
  },
  AffinityMismatch: {
    selected: false,
    message: "{rule} requires {expected}, the cluster has {actual}",
    meaning: "The cluster matches none of the required terms of `clusterAffinity`.",
  },
  SelectorMismatch: {
    selected: false,
    message: "{rule} requires {expected}, the cluster has {actual}",
    meaning: "The cluster does not match `locationSelector`.",
  },
  NotListed: {
    selected: false,
    message: "{rule} does not name the cluster",
    meaning: "`clusterNames` is set and does not name the cluster.",
  },
  Deleting: {
    selected: false,
    message: "the registration of the cluster is being deleted",
    meaning: "The registration of the cluster is being deleted.",
  },
  InvalidPlacement: {
    selected: false,
    message: "not evaluated, because the spec of the placement is invalid",
    meaning: "The placement must be corrected first.",
  },
} as const satisfies Readonly<Record<string, DecisionReasonText>>;

export type DecisionReason = keyof typeof decisionReasons;

/** The reasons in the order of `decisionReasons`. */
export const orderedReasons = Object.keys(decisionReasons).filter(isDecisionReason);

export function isDecisionReason(text: string): text is DecisionReason {
  return Object.hasOwn(decisionReasons, text);
}

/** The values of a message: which field of the placement decided, what it requires, what the cluster has. */
export type ReasonDetail = Readonly<{ rule?: string; expected?: string; actual?: string }>;

export function formatReason(reason: DecisionReason, { rule = "", expected = "", actual = "" }: ReasonDetail): string {
  const parts = messageParts[reason] ?? [];
  let sentence = "";
  for (const part of parts) {
    if (part === "{rule}") sentence += rule;
    else if (part === "{expected}") sentence += expected;
    else if (part === "{actual}") sentence += actual;
    else sentence += part;
  }
  return sentence;
}

/** The reasons of a placement's Ready condition and their meaning. */
export const readyReasons = {
  PlacementReady: "At least one cluster is selected.",
  NoSuitableClusters:
    "No registered cluster fits. The message counts the reasons; `status.decisions` has the reason of each cluster.",
  NoClusters: "No cluster is registered.",
  InvalidSelector: "A selector or term is invalid; the message names it. Selected clusters are kept.",
  InvalidResources: "A quantity in `resources` is invalid; the message names it. Selected clusters are kept.",
} as const;
export type ReadyReason = keyof typeof readyReasons;

/** The reason of a placement's condition WorkloadsSelected, which exists only while it is False. */
export const selectionReasons = {
  NothingSelected:
    "The placement governs no workload: it has no `workloadSelector`, the selector matches no workload, or other placements govern the workloads that it matches. The condition is removed when the placement governs a workload.",
} as const;

const messageParts: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(decisionReasons).map(([reason, { message }]) => [reason, message.split(/(\{[a-z]+\})/)]),
);

/** Eviction reasons that come from the cluster's own state. When that state ends, the placement can fail back. */
export const recoverableReasons: ReadonlySet<DecisionReason> = new Set([
  "NotReady",
  "UntoleratedTaint",
  "CapabilityMissing",
] satisfies DecisionReason[]);
