import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import { type BoardState, formatBoard } from "../../../../lib/cli/board/board-lines.ts";
import { formatHints } from "../../../../lib/cli/local/welcome.ts";
import { textWidth } from "../../../../lib/cli/output.ts";

const nowMs = Date.parse("2026-01-01T12:00:30Z");
const ago = (seconds: number): string => new Date(nowMs - seconds * 1000).toISOString();
const apiVersion = "tmc.kcp.io/v1alpha1";

function aCluster(name: string, ready: boolean, spec: Partial<ClusterRegistration["spec"]> = {}): ClusterRegistration {
  const condition = ready
    ? { status: "True" as const, reason: "ClusterReady", message: "the cluster answers" }
    : {
        status: "False" as const,
        reason: "ClusterUnhealthy",
        message: `cluster ${name}: get /readyz: connection reset`,
      };
  return {
    apiVersion,
    kind: "ClusterRegistration",
    metadata: { name },
    spec: { location: `place-of-${name}`, ...spec },
    status: {
      conditions: [{ type: "Ready", lastTransitionTime: ago(60), ...condition }],
      lastHeartbeat: ago(ready ? 3 : 40),
      kubernetesVersion: "v1.36.3",
      nodes: { ready: 3, total: 3 },
      allocatable: { cpu: "24", memory: "96Gi" },
    },
  };
}

function aPlacement(
  name: string,
  selected: readonly string[],
  status: WorkloadPlacement["status"] = {},
): WorkloadPlacement {
  const ready = selected.length > 0;
  return {
    apiVersion,
    kind: "WorkloadPlacement",
    metadata: { name, generation: 1 },
    spec: { strategy: "Spread" },
    status: {
      selectedClusters: selected,
      observedGeneration: 1,
      conditions: [
        {
          type: "Ready",
          status: ready ? "True" : "False",
          reason: ready ? "PlacementReady" : "NoSuitableClusters",
          message: ready ? `Spread selected ${selected.join(", ")}` : "0 of 2 clusters fit: 2 CapabilityMissing",
          lastTransitionTime: ago(20),
        },
      ],
      ...status,
    },
  };
}

const rejected = ["east", "west"].map((cluster) => ({
  cluster,
  selected: false,
  reason: "CapabilityMissing",
  message: "capabilityRequirements[gpu] requires gpu, the cluster has no gpu",
}));

const state: BoardState = {
  workspace: "root:demo",
  upstream: "embedded kcp https://127.0.0.1:6443",
  startedMs: nowMs - 95_000,
  registrations: [
    aCluster("east", true, { taints: [{ key: "drained", effect: "NoExecute" }] }),
    aCluster("west", false),
  ],
  placements: [aPlacement("edge", ["west"]), aPlacement("training", [], { decisions: rejected })],
  workloads: [],
  events: [
    { timeMs: nowMs - 5_000, tone: "good", subject: "east", message: "Ready: v1.36.3, 3 of 3 nodes" },
    { timeMs: nowMs - 1_000, tone: "bad", subject: "west", message: "not Ready: ClusterUnhealthy" },
  ],
  queue: { depth: 1, inFlight: 2, delayed: 3, failing: 0, deadLetters: 0 },
  hints: ["kubectl get cr,wp  # list"],
  bindings: [
    { key: "q", description: "quit", label: "quit" },
    { key: "h", description: "show help", label: "help" },
  ],
  help: false,
};
const size = { columns: 100, rows: 24, nowMs, color: false, offsetMinutes: 0 };

describe("the board", () => {
  it("the board shows clusters, placements with their messages, events and the queue", () => {
    const rule = (text: string, fill: number, rest = "") => ` ${text} ${"─".repeat(fill)}${rest}`;
    expect(formatBoard(state, size)).toEqual([
      " TMC  root:demo  on embedded kcp https://127.0.0.1:6443                                      up 95s",
      rule("CLUSTERS", 76, " 1 of 2 ready"),
      "   NAME  LOCATION       STATUS    VERSION  NODES  CPU  MEMORY  HEARTBEAT  PLACEMENTS",
      " ◐ east  place-of-east  Ready     v1.36.3  3/3    24   96Gi    3s ago     0",
      "     tainted drained:NoExecute",
      " ✗ west  place-of-west  NotReady  v1.36.3  3/3    24   96Gi    40s ago    ■ 1",
      "     ClusterUnhealthy: cluster west: get /readyz: connection reset",
      "",
      rule("PLACEMENTS", 73, " 1 of 2 placed"),
      " ● edge      Spread  → west  Spread selected west",
      " ✗ training  Spread  none    0 of 2 clusters fit: 2 CapabilityMissing",
      "     └ east  capabilityRequirements[gpu] requires gpu, the cluster has no gpu",
      "     └ west  capabilityRequirements[gpu] requires gpu, the cluster has no gpu",
      "",
      rule("WORKLOADS", 75, " 0 of 0 ready"),
      "   no workloads",
      "",
      rule("EVENTS", 91),
      "   12:00:29  west  not Ready: ClusterUnhealthy",
      "   12:00:25  east  Ready: v1.36.3, 3 of 3 nodes",
      "",
      "",
      ` ${"─".repeat(98)}`,
      " queue 1 · 2 in flight · 3 delayed                                                   q quit  h help",
    ]);
  });

  const bindings = [
    { key: "q", description: "quit", label: "quit" },
    { key: "h", description: "switch between help and events", label: "help" },
    { key: "e/w", description: "drain or uncordon a cluster", label: "drain" },
    { key: "E/W", description: "disconnect or reconnect a cluster", label: "disconnect" },
  ];
  const files = {
    kcp: "/work/.tmc/kcp.kubeconfig",
    clusters: new Map([["east", "/work/.tmc/east.kubeconfig"]]),
    remove: () => {},
  };

  it.each(["./tmc", "tmc"])("the help of %s is complete on a terminal of 80 columns and 24 rows", (command) => {
    const hints = formatHints(files, { folder: "/work", command });
    const lines = formatBoard({ ...state, hints, bindings, help: true }, { ...size, columns: 80, rows: 24 });
    for (const hint of hints) expect(lines).toContain(hint === "" ? "" : `   ${hint}`);
    for (const { key, description } of bindings) expect(lines).toContain(`   ${key.padEnd(3)}  ${description}`);
    expect(lines.join("\n")).toContain("● ready");
    expect(lines.join("\n")).not.toContain("…");
  });

  it("the hints of an installed program name nothing that only a clone has", () => {
    const hints = formatHints(files, { folder: "/work", command: "tmc" });
    expect(hints.join("\n")).not.toMatch(/examples\/|\.\/tmc|npm/);
  });

  it("the help says how many of its lines a smaller terminal omits", () => {
    const hints = formatHints(files, { folder: "/work" });
    const lines = formatBoard({ ...state, hints, bindings, help: true }, { ...size, columns: 80, rows: 12 });
    expect(lines.join("\n")).toMatch(/ … \d+ more lines; enlarge the terminal$/m);
  });

  it("the help does not hide the clusters on a large terminal", () => {
    const hints = formatHints(files, { folder: "/work" });
    const text = formatBoard({ ...state, hints, bindings, help: true }, { ...size, rows: 40 }).join("\n");
    expect(text).toContain(" CLUSTERS ");
    expect(text).toContain("E/W  disconnect or reconnect");
  });

  it("the footer shows all keys on a terminal of 80 columns, and all rules have the same margins", () => {
    const lines = formatBoard({ ...state, bindings }, { ...size, columns: 80 });
    expect(lines.at(-1)).toMatch(/^ queue 1 .* q quit {2}h help {2}e\/w drain {2}E\/W disconnect$/);
    expect(textWidth(lines.at(-1) ?? "")).toBe(79);
    const rules = lines.filter((line) => line.includes("───"));
    expect(rules.map(textWidth)).toEqual(rules.map(() => 79));
    for (const rule of rules) expect(rule).toMatch(/^ \S/);
  });

  it("the board shows until when a cluster is tolerated, and when a placement returns to one", () => {
    const until = (seconds: number): string => new Date(nowMs + seconds * 1000).toISOString();
    const decisions = [
      {
        cluster: "west",
        selected: true,
        reason: "KeptTolerated",
        message: "the cluster has Ready=False (ClusterUnhealthy)",
        actual: "Ready=False (ClusterUnhealthy)",
        until: until(192),
      },
      { cluster: "east", selected: false, reason: "FailingBack", message: "", until: until(0) },
    ];
    const placements = [aPlacement("a", ["west"], { decisions })];
    const text = formatBoard({ ...state, placements }, { ...size, columns: 160 }).join("\n");
    expect(text).toContain("leaves west at 12:03:42, in 3m12s: Ready=False (ClusterUnhealthy)");
    expect(text).toContain("returns to east at 12:00:30, now");
  });

  it("the board shows by its marker, and not as missing, what a user deletes", () => {
    const deletionTimestamp = ago(1);
    const deleted = <T extends { metadata: object }>(object: T): T => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp },
    });
    const lines = formatBoard(
      {
        ...state,
        registrations: [deleted(aCluster("east", false)), aCluster("west", true)],
        placements: [deleted(aPlacement("a", []))],
      },
      size,
    );
    const text = lines.join("\n");
    expect(text).toMatch(/^ ○ east .*Deleting/m);
    expect(text).toMatch(/^ ○ a .* is being deleted$/m);
    expect(text).toContain("1 of 1 ready");
    expect(text).toContain("0 of 0 placed");
  });

  it("the board shows hints and key bindings instead of events in help mode", () => {
    const lines = formatBoard({ ...state, help: true }, size);
    expect(lines).toContain("   kubectl get cr,wp  # list");
    expect(lines).toContain("   h  show help");
    expect(lines.join("\n")).not.toContain("12:00:29");
  });

  it("the board shows the score parts of a selected cluster, and why a tolerated cluster is kept", () => {
    const placements = [
      aPlacement("a", ["west"], {
        decisions: [
          {
            cluster: "west",
            selected: true,
            reason: "Selected",
            message: "",
            parts: [{ name: "affinity x", value: 80 }],
          },
        ],
      }),
      aPlacement("b", ["west"], {
        decisions: [{ cluster: "west", selected: true, reason: "KeptTolerated", message: "kept for a while" }],
      }),
    ];
    const text = formatBoard({ ...state, placements }, size).join("\n");
    expect(text).toContain("Spread selected west; affinity x +80");
    expect(text).toContain("Spread selected west; west kept for a while");
  });

  it("the board shows failing keys and dead letters of the queue", () => {
    const text = formatBoard({ ...state, queue: { ...state.queue, failing: 2, deadLetters: 1 } }, size).at(-1);
    expect(text).toContain("2 failing · 1 dead letters");
  });

  it("the board shows placeholders for empty sections", () => {
    const text = formatBoard({ ...state, registrations: [], placements: [], events: [] }, size).join("\n");
    for (const placeholder of ["no clusters are registered", "no placements", "no events yet"]) {
      expect(text).toContain(placeholder);
    }
  });

  it("the board shows the same text with and without color", () => {
    const plain = formatBoard(state, size);
    const colored = formatBoard(state, { ...size, color: true });
    expect(colored.join("")).toContain("\x1b[32m");
    expect(colored.map((line) => stripVTControlCharacters(line).trimEnd())).toEqual(plain);
    expect(plain.join("")).not.toContain("\x1b");
  });

  const many: BoardState = {
    ...state,
    registrations: Array.from({ length: 50 }, (_, at) => aCluster(`cluster-${at}-名前`, at % 2 === 0)),
    placements: Array.from({ length: 300 }, (_, at) =>
      aPlacement(`placement-${at}`, at % 3 === 0 ? [] : ["east", "west"]),
    ),
    events: Array.from({ length: 100 }, (_, at) => ({
      timeMs: nowMs,
      tone: "plain",
      subject: `s${at}`,
      message: "t".repeat(300),
    })),
  };
  const sizes = [
    [120, 40],
    [80, 24],
    [40, 12],
    [20, 5],
    [200, 100],
    [1, 1],
  ] as const;
  it.each(sizes)("the board fits exactly into %i columns and %i rows with any content", (columns, rows) => {
    for (const shown of [state, many, { ...many, help: true }, { ...state, help: true }]) {
      const lines = formatBoard(shown, { columns, rows, nowMs, color: false });
      expect(lines).toHaveLength(rows);
      for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  it("the board shows the most severe placements first when there are too few rows", () => {
    const lines = formatBoard(many, { ...size, columns: 80, rows: 30 });
    const first = lines.findIndex((line) => line.includes("PLACEMENTS ─")) + 1;
    expect(lines[first]).toMatch(/^ ✗ placement-0 .* none /);
    expect(lines[first + 1]).toMatch(/^ ✗ placement-3 .* none /);
  });

  it("the board shows how many lines it omits, and keeps rows for events", () => {
    const text = formatBoard(many, { ...size, columns: 120, rows: 40 }).join("\n");
    expect(text).toContain("of 50 clusters; see ./tmc cluster list");
    expect(text).toMatch(/… and 2\d\d more; see .\/tmc placement list/);
    expect(text).toContain("s99");
  });
});
