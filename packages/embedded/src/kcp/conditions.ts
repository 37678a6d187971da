import { textAt } from "../fields.ts";
import { isList, isObject } from "../machinery/json-value.ts";

/** A condition as kcp's own kinds have it: with a severity, without an observed generation. */
export type KcpCondition = {
  type: string;
  status: "True" | "False" | "Unknown";
  severity?: "Error" | "Warning" | "Info";
  lastTransitionTime: string;
  reason?: string;
  message?: string;
};

export type Unmet = Readonly<{ reason: string; severity: "Error" | "Warning" | "Info"; message: string }>;

/** The conditions of one object while a controller works on it; in the order that kcp writes them. */
export interface Conditions {
  markTrue(type: string): void;
  markFalse(type: string, why: Unmet): void;
  /** Makes `Ready` say what the named condition says. */
  summarize(type: string): void;
  isTrue(type: string): boolean;
  isFalse(type: string): boolean;
  list(): KcpCondition[];
}

/** Takes up the conditions of an object's status; `now` stamps those that change. */
export function conditionsOf(existing: unknown, now: number): Conditions {
  const known = new Map<string, KcpCondition>();
  for (const item of isList(existing) ? existing : []) {
    if (!isObject(item)) continue;
    // Written by this server only, and checked by the schema on the way.
    known.set(textAt(item, "type"), { ...item } as KcpCondition);
  }
  // Times have whole seconds on the wire.
  const stamp = `${new Date(now).toISOString().slice(0, 19)}Z`;

  const set = (condition: Omit<KcpCondition, "lastTransitionTime">): void => {
    const old = known.get(condition.type);
    const same =
      old !== undefined &&
      old.status === condition.status &&
      old.reason === condition.reason &&
      old.severity === condition.severity &&
      old.message === condition.message;
    if (!same) known.set(condition.type, { ...condition, lastTransitionTime: stamp });
  };

  return {
    markTrue: (type) => set({ type, status: "True" }),
    markFalse: (type, { reason, severity, message }) => set({ type, status: "False", severity, reason, message }),
    summarize: (type) => {
      const source = known.get(type);
      if (source === undefined) return;
      const { lastTransitionTime: _, ...said } = source;
      set({ ...said, type: "Ready" });
    },
    isTrue: (type) => known.get(type)?.status === "True",
    isFalse: (type) => known.get(type)?.status === "False",
    list: () => [...known.values()].toSorted((a, b) => (isBefore(a.type, b.type) ? -1 : 1)),
  };
}

function isBefore(a: string, b: string): boolean {
  return (a === "Ready" || a < b) && b !== "Ready";
}
