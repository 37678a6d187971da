import { isFields, textAt } from "@tmc/kube/json.ts";
import { isList } from "../machinery/json-value.ts";

/** A condition of kcp's kinds: with a severity, without an observed generation. */
export type StoredKcpCondition = {
  type: string;
  status: "True" | "False" | "Unknown";
  severity?: "Error" | "Warning" | "Info";
  lastTransitionTime: string;
  reason?: string;
  message?: string;
};

export type FalseCondition = Readonly<{ reason: string; severity: "Error" | "Warning" | "Info"; message: string }>;

/** The conditions of one object during a reconcile, in kcp's order. */
export interface KcpConditions {
  markTrue(type: string): void;
  markFalse(type: string, why: FalseCondition): void;
  /** Copies the named condition to `Ready`. */
  summarize(type: string): void;
  isTrue(type: string): boolean;
  isFalse(type: string): boolean;
  list(): StoredKcpCondition[];
}

/** Reads the conditions from a status; changed ones get the transition time `now`. */
export function kcpConditionsOf(existing: unknown, now: number): KcpConditions {
  const known = new Map<string, StoredKcpCondition>();
  for (const item of isList(existing) ? existing : []) {
    if (!isFields(item)) continue;
    // Only this server writes them, and the schema has validated them.
    known.set(textAt(item, "type"), { ...item } as StoredKcpCondition);
  }
  // Timestamps have whole seconds.
  const stamp = `${new Date(now).toISOString().slice(0, 19)}Z`;

  const set = (condition: Omit<StoredKcpCondition, "lastTransitionTime">): void => {
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
      const { lastTransitionTime: _, ...content } = source;
      set({ ...content, type: "Ready" });
    },
    isTrue: (type) => known.get(type)?.status === "True",
    isFalse: (type) => known.get(type)?.status === "False",
    list: () => [...known.values()].toSorted((a, b) => (isBefore(a.type, b.type) ? -1 : 1)),
  };
}

function isBefore(a: string, b: string): boolean {
  return (a === "Ready" || a < b) && b !== "Ready";
}
