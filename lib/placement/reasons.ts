type Reason = Readonly<{
  selected: boolean;
  /** The sentence that users read; `{rule}`, `{expected}` and `{actual}` are filled in. */
  message: string;
  /** For the reference page. */
  meaning: string;
}>;

/**
 * Every reason that a decision about a cluster can have, from the best to the farthest from being chosen. The rejections
 * stand in the reverse order of the filters: the first filter that fails gives the reason, so a later one came nearer.
 */
export const decisionReasons = {
  Selected: {
    selected: true,
    message: "chosen by {rule}",
    meaning: "The cluster fits and was chosen; a chosen cluster that fits stays chosen.",
  },
  KeptUnschedulable: {
    selected: true,
    message: "kept, although it takes no new work: {rule} asks for {expected}, the cluster has {actual}",
    meaning:
      "It was chosen before and stays. New work would not go there: it is cordoned, tainted NoSchedule, or has been seen to lack something.",
  },
  KeptTolerated: {
    selected: true,
    message: "kept for as long as it is tolerated that the cluster has {actual}",
    meaning: "It was chosen before and stays until the tolerated time is over: not Ready, or tainted NoExecute.",
  },
  KeptInvalidPlacement: {
    selected: true,
    message: "kept, because the placement cannot be read",
    meaning: "It was chosen before and stays until the placement is corrected.",
  },
  FailingBack: {
    selected: false,
    message: "fits; {rule} returns to it when it has done so for {expected}",
    meaning:
      "The placement left it because of its state, or likes it better, and returns to it at the time in `until`, unless it stops fitting before.",
  },
  NotSelected: {
    selected: false,
    message: "fits, but {rule} chose others",
    meaning: "The cluster fits; enough others were chosen.",
  },
  SkewTooLarge: {
    selected: false,
    message: "fits, but would exceed {rule}: {expected}, the cluster has {actual}",
    meaning: "Choosing it would make the choice more uneven than a spread constraint with DoNotSchedule allows.",
  },
  NotFound: {
    selected: false,
    message: "no cluster of this name is registered, but {rule} asks for it",
    meaning: "`clusterNames` names a cluster that does not exist.",
  },
  InsufficientResources: {
    selected: false,
    message: "too small: {rule} asks for {expected}, the cluster has {actual}",
    meaning: "What all its nodes can give together is less than `resources`.",
  },
  UntoleratedTaint: {
    selected: false,
    message: "tainted: the cluster has {actual}, which {rule} does not bear",
    meaning: "A taint NoSchedule or NoExecute that no toleration bears, or bears only for some time.",
  },
  Unschedulable: {
    selected: false,
    message: "cordoned: the cluster has {actual}",
    meaning: "Its owner takes no new work.",
  },
  NotReady: {
    selected: false,
    message: "not ready: the cluster has {actual}",
    meaning: "Its condition Ready is not True, for longer than is tolerated where it was chosen before.",
  },
  ApiNotServed: {
    selected: false,
    message: "does not serve {expected}, which {rule} asks for",
    meaning: "It lacks a type of `workloadTypes`. A cluster whose types are not known is not rejected.",
  },
  CapabilityTooOld: {
    selected: false,
    message: "{rule} asks for {expected}, the cluster has {actual}",
    meaning: "A required capability is older than `minVersion`, or its version is not known.",
  },
  CapabilityMissing: {
    selected: false,
    message: "{rule} asks for {expected}, the cluster has {actual}",
    meaning: "A required capability is declared as not available, or is neither declared nor detected.",
  },
  TopologyKeyMissing: {
    selected: false,
    message: "{rule} asks for {expected}, the cluster has {actual}",
    meaning: "It lacks the label of a spread constraint with DoNotSchedule.",
  },
  AntiAffinityMatch: {
    selected: false,
    message: "{rule} asks to avoid {expected}, the cluster has {actual}",
    meaning: "It matches a required term of `clusterAntiAffinity`.",
  },
  AffinityMismatch: {
    selected: false,
    message: "{rule} asks for {expected}, the cluster has {actual}",
    meaning: "It matches none of the required terms of `clusterAffinity`.",
  },
  SelectorMismatch: {
    selected: false,
    message: "{rule} asks for {expected}, the cluster has {actual}",
    meaning: "It does not match `locationSelector`.",
  },
  NotListed: {
    selected: false,
    message: "{rule} does not name it",
    meaning: "`clusterNames` is given and does not name it.",
  },
  Deleting: {
    selected: false,
    message: "being unregistered",
    meaning: "Its registration is being deleted.",
  },
  InvalidPlacement: {
    selected: false,
    message: "not looked at, because the placement cannot be read",
    meaning: "The placement must be corrected first.",
  },
} as const satisfies Readonly<Record<string, Reason>>;

export type DecisionReason = keyof typeof decisionReasons;

/** The reasons from the best to the farthest. */
export const reasonsByNearness = Object.keys(decisionReasons).filter(isDecisionReason);

/** Tells whether a text is one of the reasons. */
export function isDecisionReason(text: string): text is DecisionReason {
  return Object.hasOwn(decisionReasons, text);
}

/** What a reason is about: which part of the placement, what it asks for, what the cluster has. */
export type Detail = Readonly<{ rule?: string; expected?: string; actual?: string }>;

/** The reason as a sentence; the same words every time. */
export function formatReason(reason: DecisionReason, { rule = "", expected = "", actual = "" }: Detail): string {
  const pieces = piecesOf[reason] ?? [];
  let sentence = "";
  for (const piece of pieces) {
    if (piece === "{rule}") sentence += rule;
    else if (piece === "{expected}") sentence += expected;
    else if (piece === "{actual}") sentence += actual;
    else sentence += piece;
  }
  return sentence;
}

/** Why a placement is Ready or not. */
export const readyReasons = {
  PlacementReady: "At least one cluster is chosen.",
  NoSuitableClusters:
    "No registered cluster fits; the message counts the reasons, `status.decisions` has each cluster's.",
  NoClusters: "No cluster is registered.",
  InvalidSelector: "A selector or term cannot be read; the message names it. What was chosen before stays.",
  InvalidResources: "An amount in `resources` cannot be read; the message names it. What was chosen before stays.",
} as const;
export type ReadyReason = keyof typeof readyReasons;

const piecesOf: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(decisionReasons).map(([reason, { message }]) => [reason, message.split(/(\{[a-z]+\})/)]),
);

/** What a cluster's own state can be that makes work leave it; when that passes, the work can return. */
export const passingReasons: ReadonlySet<DecisionReason> = new Set([
  "NotReady",
  "UntoleratedTaint",
  "CapabilityMissing",
] satisfies DecisionReason[]);
