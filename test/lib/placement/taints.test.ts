import { describe, expect, it } from "vitest";
import type { TaintEffect } from "../../../lib/placement/observed.ts";
import { formatTaint, type Toleration, toleratedSeconds } from "../../../lib/placement/taints.ts";

describe("a toleration bears a taint k=v", () => {
  const effects: readonly TaintEffect[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
  const cases: Record<string, { toleration: Toleration; bears: boolean }> = {
    "with the same key and value": { toleration: { key: "k", operator: "Equal", value: "v" }, bears: true },
    "by default only with the same value": { toleration: { key: "k", value: "w" }, bears: false },
    "not without a value": { toleration: { key: "k" }, bears: false },
    "with any value": { toleration: { key: "k", operator: "Exists" }, bears: true },
    "with any key": { toleration: { operator: "Exists" }, bears: true },
    "not without a key and with a value": { toleration: { operator: "Equal", value: "v" }, bears: false },
    "not with another key": { toleration: { key: "j", operator: "Exists" }, bears: false },
  };
  const table = Object.entries(cases).flatMap(([name, { toleration, bears }]) =>
    effects.flatMap((effect) => [undefined, ...effects].map((own) => [name, effect, own, toleration, bears] as const)),
  );
  it.each(table)("%s (%s against %s)", (_, effect, own, toleration, bears) => {
    const seconds = toleratedSeconds([{ ...toleration, effect: own }], { key: "k", value: "v", effect });
    expect(seconds).toBe(bears && (own === undefined || own === effect) ? Infinity : undefined);
  });
});

describe("the time for which a taint is borne", () => {
  const taint = { key: "k", value: "v", effect: "NoExecute" } as const;
  const exists = { key: "k", operator: "Exists" } as const;

  it("is the shortest that is given", () => {
    const tolerations = [{ ...exists }, { ...exists, tolerationSeconds: 60 }, { ...exists, tolerationSeconds: 90 }];
    expect(toleratedSeconds(tolerations, taint)).toBe(60);
  });

  it("counts for NoExecute alone", () => {
    const tolerations = [{ ...exists, tolerationSeconds: 60 }];
    expect(toleratedSeconds(tolerations, { ...taint, effect: "NoSchedule" })).toBe(Infinity);
  });
});

it("a taint is written the way kubectl writes it", () => {
  expect(formatTaint({ key: "k", value: "v", effect: "NoExecute" })).toBe("k=v:NoExecute");
  expect(formatTaint({ key: "k", value: "", effect: "NoSchedule" })).toBe("k:NoSchedule");
});
