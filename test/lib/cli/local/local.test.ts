import { EventEmitter } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Terminal } from "../../../../lib/cli/cli-io.ts";
import { tmc } from "../support.ts";

async function inFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), "tmc-local-test-"));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

describe("tmc local --once", () => {
  it("tmc local --once prints Ready clusters and decided placements within ten seconds", async () => {
    const startedMs = Date.now();
    const { code, out, err } = await tmc(["local", "--once", "-o", "json"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(Date.now() - startedMs).toBeLessThan(10_000);
    const snapshot = JSON.parse(out);
    expect(snapshot).toMatchObject({
      workspace: "root:demo",
      settled: true,
      missing: [],
      clusters: [
        { name: "east", location: "us-east-1", ready: "True", reason: "ClusterReady", nodes: { ready: 3, total: 3 } },
        { name: "west", location: "us-west-2", ready: "True", reason: "ClusterReady" },
      ],
      placements: [
        { name: "api", strategy: "RoundRobin", ready: "True" },
        { name: "reports", strategy: "Affinity", selectedClusters: ["west"], ready: "True" },
        { name: "shop", strategy: "Spread", selectedClusters: ["east", "west"], ready: "True", settled: true },
        { name: "training", strategy: "Affinity", selectedClusters: [], reason: "NoSuitableClusters", settled: true },
      ],
      workloads: [
        {
          namespace: "shop",
          kind: "Deployment",
          name: "web",
          ready: true,
          replicas: { desired: 3, ready: 3 },
          clusters: [
            { name: "east", state: "Ready", desired: 2, ready: 2 },
            { name: "west", state: "Ready", desired: 1, ready: 1 },
          ],
        },
        { kind: "Service", name: "web", ready: true },
      ],
    });
    for (const { decisions } of snapshot.placements) expect(decisions).toHaveLength(2);
  });

  it("tmc local --once prints tables", async () => {
    const { code, out } = await tmc(["local", "--once"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^east +us-east-1 +Ready .*v1\.\d+\.\d+ +3\/3/m);
    expect(out).toMatch(/^training +Affinity +<none> +NotReady .*0 of 2 clusters fit: 2 CapabilityMissing$/m);
    expect(out).toMatch(/\nEverything is ready after \d+\.\d\d s\.\n$/);
  });
});

describe("tmc local", () => {
  it.each([
    ["a directory that cannot be created", "/proc/tmc"],
    ["a directory below one that cannot be created", "/proc/tmc/kubeconfigs"],
    ["a directory that is a file", import.meta.filename],
  ])("tmc local fails with one line for %s", async (_what, dir) => {
    const { code, out, err } = await tmc(["local", "--dir", dir]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^[^\n]*--dir "[^"]+" cannot be written to: E[A-Z]+\n$/);
  });

  it("tmc local prints events as lines without a terminal, and removes its files", () =>
    inFolder(async (dir) => {
      const interrupt = Promise.withResolvers<void>();
      let files: readonly string[] = [];
      let printed = "";
      const { code, out } = await tmc(["local", "--dir", dir], {
        interrupted: interrupt.promise,
        onPrint: (text) => {
          printed += text;
          if (!printed.includes("training: 0 of 2 clusters fit")) return;
          readdir(dir).then((names) => {
            files = names;
            interrupt.resolve();
          }, interrupt.reject);
        },
      });
      expect(code).toBe(0);
      expect(files.toSorted()).toEqual(["east.kubeconfig", "kcp.kubeconfig", "west.kubeconfig"]);
      expect(out).toContain("export KUBECONFIG=");
      expect(out).toMatch(/^\d\d:\d\d:\d\d {2}east: Ready: v1/m);
      expect(out).toMatch(/Stopped\. Nothing is running any more, and nothing was kept\.\n$/);
      expect(await readdir(dir)).toEqual([]);
    }));

  it("tmc local -o json prints events as lines of JSON", () =>
    inFolder(async (dir) => {
      const interrupt = Promise.withResolvers<void>();
      let printed = "";
      const { code, out } = await tmc(["local", "--dir", dir, "-o", "json"], {
        interrupted: interrupt.promise,
        onPrint: (text) => {
          printed += text;
          if (printed.includes("Deployment ready on 2 of 2") && printed.includes('"training"')) interrupt.resolve();
        },
      });
      expect(code).toBe(0);
      const subjects = out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).subject);
      expect(new Set(subjects)).toEqual(new Set(["east", "west", "shop", "shop/web", "api", "reports", "training"]));
    }));

  it("tmc local draws the board on a terminal, handles keys, and restores the terminal", () =>
    inFolder(async (dir) => {
      const interrupt = Promise.withResolvers<void>();
      const keys = new EventEmitter();
      const exits: (() => void)[] = [];
      let raw = false;
      let screen = "";
      let drained = false;
      const seen = (text: string): void => {
        screen += text;
        if (!drained && screen.includes("RoundRobin selected east")) {
          drained = true;
          keys.emit("data", "e");
        }
        if (screen.includes("moved from east: RoundRobin selected west")) keys.emit("data", "q");
      };
      const terminal: Terminal = {
        output: Object.assign(new EventEmitter(), {
          columns: 120,
          rows: 40,
          write: seen,
        }),
        input: Object.assign(keys, {
          setRawMode: (on: boolean) => {
            raw = on;
          },
          resume: () => {},
          pause: () => {},
        }),
        interrupt: interrupt.resolve,
        atExit: (task) => exits.push(task),
      };
      const { code, out } = await tmc(["local", "--dir", dir], { interrupted: interrupt.promise, terminal });
      expect(code).toBe(0);
      expect(screen.endsWith("\x1b[?1049l")).toBe(true);
      expect(raw).toBe(false);
      expect(exits).toHaveLength(1);
      expect(out).toBe("Stopped. Nothing is running any more, and nothing was kept.\n");
    }));
});
