import { describe, expect, it } from "vitest";
import type { TaintEffect } from "../../../lib/placement/observed.ts";
import { type ClusterToleration, formatTaint, toleratedSeconds } from "../../../lib/placement/taints.ts";

describe("tolerations of the taint k=v", () => {
  const effects: readonly TaintEffect[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
  const cases: Record<string, { toleration: ClusterToleration; isTolerated: boolean }> = {
    "tolerates a taint with the same key and value": {
      toleration: { key: "k", operator: "Equal", value: "v" },
      isTolerated: true,
    },
    "does not tolerate a taint with another value by default": {
      toleration: { key: "k", value: "w" },
      isTolerated: false,
    },
    "does not tolerate a taint with a value if the toleration has none": {
      toleration: { key: "k" },
      isTolerated: false,
    },
    "tolerates a taint with any value if the operator is Exists": {
      toleration: { key: "k", operator: "Exists" },
      isTolerated: true,
    },
    "tolerates every taint without a key if the operator is Exists": {
      toleration: { operator: "Exists" },
      isTolerated: true,
    },
    "tolerates nothing without a key if the operator is Equal": {
      toleration: { operator: "Equal", value: "v" },
      isTolerated: false,
    },
    "does not tolerate a taint with another key": { toleration: { key: "j", operator: "Exists" }, isTolerated: false },
  };
  const table = Object.entries(cases).flatMap(([name, { toleration, isTolerated }]) =>
    effects.flatMap((effect) =>
      [undefined, ...effects].map((own) => [name, effect, own, toleration, isTolerated] as const),
    ),
  );
  it.each(table)("%s (taint effect %s, toleration effect %s)", (_, effect, own, toleration, isTolerated) => {
    const seconds = toleratedSeconds([{ ...toleration, effect: own }], { key: "k", value: "v", effect });
    expect(seconds).toBe(isTolerated && (own === undefined || own === effect) ? Infinity : undefined);
  });
});

describe("toleratedSeconds", () => {
  const taint = { key: "k", value: "v", effect: "NoExecute" } as const;
  const exists = { key: "k", operator: "Exists" } as const;

  it("returns the shortest time of several matching tolerations", () => {
    const tolerations = [{ ...exists }, { ...exists, tolerationSeconds: 60 }, { ...exists, tolerationSeconds: 90 }];
    expect(toleratedSeconds(tolerations, taint)).toBe(60);
  });

  it("ignores tolerationSeconds for effects other than NoExecute", () => {
    const tolerations = [{ ...exists, tolerationSeconds: 60 }];
    expect(toleratedSeconds(tolerations, { ...taint, effect: "NoSchedule" })).toBe(Infinity);
  });
});

it("formats a taint as kubectl does", () => {
  expect(formatTaint({ key: "k", value: "v", effect: "NoExecute" })).toBe("k=v:NoExecute");
  expect(formatTaint({ key: "k", value: "", effect: "NoSchedule" })).toBe("k:NoSchedule");
});
