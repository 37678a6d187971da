import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import { type BoardState, renderBoard } from "../../../../lib/cli/board/render.ts";
import { textWidth } from "../../../../lib/cli/output.ts";

const now = Date.parse("2026-01-01T12:00:30Z");
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();
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
          message: ready ? `Spread chose ${selected.join(", ")}` : "0 of 2 clusters fit: 2 CapabilityMissing",
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
  message: "capabilityRequirements[gpu] asks for gpu, the cluster has no gpu",
}));

const state: BoardState = {
  workspace: "root:demo",
  kcpUrl: "https://127.0.0.1:6443",
  sinceMs: now - 95_000,
  clusters: [aCluster("east", true, { taints: [{ key: "drained", effect: "NoExecute" }] }), aCluster("west", false)],
  placements: [aPlacement("edge", ["west"]), aPlacement("training", [], { decisions: rejected })],
  workloads: [],
  news: [
    { atMs: now - 5_000, tone: "good", subject: "east", text: "Ready: v1.36.3, 3 of 3 nodes" },
    { atMs: now - 1_000, tone: "bad", subject: "west", text: "not Ready: ClusterUnhealthy" },
  ],
  queue: { depth: 1, inFlight: 2, waiting: 3, failing: 0, setAside: 0 },
  hints: ["kubectl get cr,wp  # look"],
  keys: [
    { key: "q", does: "quit", short: "quit" },
    { key: "h", does: "show this", short: "help" },
  ],
  help: false,
};
const size = { columns: 100, rows: 24, now, color: false, offsetMinutes: 0 };

describe("the board", () => {
  it("shows clusters, placements with their reasons, what happened, and the queue", () => {
    const rule = (text: string, fill: number, rest = "") => ` ${text} ${"─".repeat(fill)}${rest}`;
    expect(renderBoard(state, size)).toEqual([
      " TMC  root:demo  on kcp https://127.0.0.1:6443                                               up 95s",
      "",
      rule("CLUSTERS", 76, " 1 of 2 ready"),
      "   NAME  LOCATION       STATUS    VERSION  NODES  CPU  MEMORY  HEARTBEAT  PLACEMENTS",
      " ● east  place-of-east  Ready     v1.36.3  3/3    24   96Gi    3s ago     0",
      "     tainted drained:NoExecute",
      " ● west  place-of-west  NotReady  v1.36.3  3/3    24   96Gi    40s ago    ■ 1",
      "     ClusterUnhealthy: cluster west: get /readyz: connection reset",
      "",
      rule("PLACEMENTS", 73, " 1 of 2 placed"),
      " ● edge      Spread  → west  Spread chose west",
      " ● training  Spread  none    0 of 2 clusters fit: 2 CapabilityMissing",
      "     └ east  capabilityRequirements[gpu] asks for gpu, the cluster has no gpu",
      "     └ west  capabilityRequirements[gpu] asks for gpu, the cluster has no gpu",
      "",
      rule("WORKLOADS", 75, " 0 of 0 ready"),
      "   none are placed on clusters",
      "",
      rule("LATELY", 92),
      "   12:00:29  west  not Ready: ClusterUnhealthy",
      "   12:00:25  east  Ready: v1.36.3, 3 of 3 nodes",
      "",
      "─".repeat(100),
      " queue 1 waiting · 2 in flight · 3 later                                          q quit   h help",
    ]);
  });

  it("shows what to try and every key in place of the news when asked", () => {
    const lines = renderBoard({ ...state, help: true }, size);
    expect(lines).toContain("   kubectl get cr,wp  # look");
    expect(lines).toContain("   h  show this");
    expect(lines.join("\n")).not.toContain("12:00:29");
  });

  it("says by what a choice was made, and what is only borne for a while", () => {
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
    const text = renderBoard({ ...state, placements }, size).join("\n");
    expect(text).toContain("Spread chose west; affinity x +80");
    expect(text).toContain("Spread chose west; west kept for a while");
  });

  it("names what fails in the queue", () => {
    const text = renderBoard({ ...state, queue: { ...state.queue, failing: 2, setAside: 1 } }, size).at(-1);
    expect(text).toContain("2 failing · 1 set aside");
  });

  it("has something to say before anything is there", () => {
    const text = renderBoard({ ...state, clusters: [], placements: [], news: [] }, size).join("\n");
    for (const words of ["none are registered", "there are none", "nothing yet"]) expect(text).toContain(words);
  });

  it("colours only when asked to, and says the same then", () => {
    const plain = renderBoard(state, size);
    const colored = renderBoard(state, { ...size, color: true });
    expect(colored.join("")).toContain("\x1b[32m");
    expect(colored.map((line) => stripVTControlCharacters(line).trimEnd())).toEqual(plain);
    expect(plain.join("")).not.toContain("\x1b");
  });

  const many: BoardState = {
    ...state,
    clusters: Array.from({ length: 50 }, (_, at) => aCluster(`cluster-${at}-名前`, at % 2 === 0)),
    placements: Array.from({ length: 300 }, (_, at) =>
      aPlacement(`placement-${at}`, at % 3 === 0 ? [] : ["east", "west"]),
    ),
    news: Array.from({ length: 100 }, (_, at) => ({
      atMs: now,
      tone: "plain",
      subject: `s${at}`,
      text: "t".repeat(300),
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
  it.each(sizes)("fits %i columns and %i rows exactly, however much there is", (columns, rows) => {
    for (const shown of [state, many, { ...many, help: true }, { ...state, help: true }]) {
      const lines = renderBoard(shown, { columns, rows, now, color: false });
      expect(lines).toHaveLength(rows);
      for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  it("shows those in trouble first where there is no room for all", () => {
    const lines = renderBoard(many, { ...size, columns: 80, rows: 30 });
    const first = lines.findIndex((line) => line.includes("PLACEMENTS ─")) + 1;
    expect(lines[first]).toMatch(/^ ● placement-0 .* none /);
    expect(lines[first + 1]).toMatch(/^ ● placement-3 .* none /);
  });

  it("says how many it leaves out, and leaves room for what happened", () => {
    const text = renderBoard(many, { ...size, columns: 120, rows: 40 }).join("\n");
    expect(text).toContain("of 50 clusters; tmc cluster list shows them");
    expect(text).toMatch(/… and 2\d\d more; tmc placement list shows them/);
    expect(text).toContain("s99");
  });
});
