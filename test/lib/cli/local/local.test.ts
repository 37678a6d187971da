import { type ChildProcessByStdio, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { processIo, type Terminal } from "../../../../lib/cli/cli-io.ts";
import { systemProcesses } from "../../../../lib/cli/local/folder-lock.ts";
import { inWorkspace, resourceTypes } from "../../../../lib/cli/workspace.ts";
import { eventually } from "../../../support/eventually.ts";
import { tmc } from "../support.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
type LocalProcess = ChildProcessByStdio<null, Readable, null>;

async function readFolder(dir: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(dir);
  return Object.fromEntries(
    await Promise.all(names.toSorted().map(async (name) => [name, await readFile(join(dir, name), "utf8")] as const)),
  );
}

async function inFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), "tmc-local-test-"));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

describe("tmc local --once", () => {
  it("tmc local --once prints Ready clusters and decided placements", async () => {
    const { code, out, err } = await tmc(["local", "--once", "-o", "json"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
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
        { namespace: "api", kind: "Deployment", name: "api", placement: "api", ready: true },
        { namespace: "reports", kind: "CronJob", name: "monthly", placement: "reports", ready: true },
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
        { kind: "Job", name: "model", ready: false, message: "the placement selects no cluster", clusters: [] },
      ],
    });
    for (const { decisions } of snapshot.placements) expect(decisions).toHaveLength(2);
  });

  it("tmc local --once prints tables", async () => {
    const { code, out } = await tmc(["local", "--once"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^east +us-east-1 +Ready .*v1\.\d+\.\d+ +3\/3/m);
    expect(out).toMatch(/^training +Affinity +<none> +NotReady .*0 of 2 clusters fit: 2 CapabilityMissing$/m);
    expect(out).toMatch(/\nEverything is settled after \d+\.\d\d s\.\n$/);
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
      expect(files.toSorted()).toEqual(["east.kubeconfig", "kcp.kubeconfig", "local.lock", "west.kubeconfig"]);
      expect(out).toContain("export KUBECONFIG=");
      expect(out).toMatch(/^\d\d:\d\d:\d\d {2}east: Ready: v1/m);
      expect(out).toMatch(/Stopped\. Nothing is running any more, and nothing was kept\.\n$/);
      expect(await readdir(dir)).toEqual([]);
    }));

  it("a second tmc local in the same directory fails, and changes no file of the first", () =>
    inFolder(async (dir) => {
      const interrupt = Promise.withResolvers<void>();
      const running = Promise.withResolvers<void>();
      let printed = "";
      const first = tmc(["local", "--dir", dir], {
        interrupted: interrupt.promise,
        onPrint: (text) => {
          printed += text;
          if (printed.includes("Events:")) running.resolve();
        },
      });
      await Promise.race([running.promise, first]);
      const before = await readFolder(dir);
      const second = await tmc(["local", "--dir", dir, "--once"]);
      expect(second).toEqual({
        code: 1,
        out: "",
        err: `tmc: already running here (pid ${process.pid}); use --dir to name another folder\n`,
      });
      expect(await readFolder(dir)).toEqual(before);
      interrupt.resolve();
      expect((await first).code).toBe(0);
      expect(await readdir(dir)).toEqual([]);
    }));

  it("tmc local removes only files that it has written", () =>
    inFolder(async (dir) => {
      const interrupt = Promise.withResolvers<void>();
      const foreign = join(dir, "east.kubeconfig");
      const { code } = await tmc(["local", "--dir", dir], {
        interrupted: interrupt.promise,
        onPrint: (text) => {
          if (text.includes("Events:")) writeFile(foreign, "other").then(interrupt.resolve, interrupt.reject);
        },
      });
      expect(code).toBe(0);
      expect(await readFolder(dir)).toEqual({ "east.kubeconfig": "other" });
    }));

  it("tmc local replaces the files of a process that was killed", () =>
    inFolder(async (dir) => {
      await writeFile(join(dir, "kcp.kubeconfig"), "stale");
      // No process has this pid: it is above the maximum of Linux and macOS.
      const killed = { pid: 2 ** 30, host: hostname(), started: "long ago" };
      await writeFile(join(dir, "local.lock"), JSON.stringify(killed));
      const { code, err } = await tmc(["local", "--dir", dir, "--once"]);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(await readdir(dir)).toEqual([]);
    }));

  it.each([
    ["the terminal is closed", (child: LocalProcess) => void child.kill("SIGHUP"), 0],
    ["the reader of its output ends", (child: LocalProcess) => void child.stdout.destroy(), 0],
    ["it is interrupted", (child: LocalProcess) => void child.kill("SIGINT"), 0],
  ])("the process of tmc local removes its files when %s", (_what, end, code) =>
    inFolder(async (dir) => {
      const child = spawn(process.execPath, ["bin/tmc.ts", "local", "--dir", dir], {
        cwd: root,
        stdio: ["ignore", "pipe", "inherit"],
      });
      try {
        // The first output is the welcome message; events follow.
        await once(child.stdout, "data");
        expect(await readdir(dir)).toContain("kcp.kubeconfig");
        const exit = once(child, "exit");
        end(child);
        expect(await exit).toEqual([code, null]);
        expect(await readdir(dir)).toEqual([]);
      } finally {
        child.kill("SIGKILL");
      }
    }),
  );

  it("the first signal to tmc local --real ends the build and its processes", () =>
    inFolder(async (dir) => {
      // A compiler whose build never ends, with a process of its own.
      const go = `#!/bin/sh
if [ "$1" = env ]; then printf 'go1.99.0\\nlinux\\namd64\\n'; exit; fi
sleep 600 &
echo "$$ $!" >"${join(dir, "pids.new")}" && mv "${join(dir, "pids.new")}" "${join(dir, "pids")}"
wait`;
      await writeFile(join(dir, "go"), go, { mode: 0o755 });
      const cache = join(dir, "cache");
      const child = spawn(process.execPath, ["bin/tmc.ts", "local", "--real", "--dir", join(dir, "kubeconfigs")], {
        cwd: root,
        stdio: ["ignore", "ignore", "ignore"],
        env: { ...process.env, PATH: `${dir}:${process.env.PATH}`, TMC_REAL_CACHE: cache },
      });
      try {
        const exit = once(child, "exit");
        await eventually(async () => ((await readdir(dir)).includes("pids") ? undefined : "the build"));
        const pids = (await readFile(join(dir, "pids"), "utf8")).trim().split(" ").map(Number);
        const isRunning = (pid: number): boolean => systemProcesses.startOf(pid) !== undefined;
        expect(pids.map(isRunning)).toEqual([true, true]);
        child.kill("SIGTERM");
        expect(await exit).toEqual([0, null]);
        await eventually(async () => (pids.some(isRunning) ? `the end of ${pids.filter(isRunning)}` : undefined));
        expect(await readdir(cache)).toEqual([]);
      } finally {
        child.kill("SIGKILL");
      }
    }));

  it("tmc local --crd syncs the type of the file, and no type has a warning", () =>
    inFolder(async (dir) => {
      const interrupt = Promise.withResolvers<void>();
      const createDatabase = async (): Promise<void> => {
        const kubeconfig = join(dir, "kcp.kubeconfig");
        const databases = { group: "example.com", version: "v1", plural: "databases" };
        const selector = { workloadTypes: [{ apiVersion: "example.com/v1", kind: "Database" }] };
        await inWorkspace(processIo, { kubeconfig }, async ({ client }) => {
          const metadata = { name: "orders", namespace: "default" };
          await client.create(
            { type: databases, namespace: "default" },
            { apiVersion: "example.com/v1", kind: "Database", metadata, spec: { engine: "postgres" } },
          );
          await client.create(
            { type: resourceTypes.placements },
            {
              apiVersion: "tmc.kcp.io/v1alpha1",
              kind: "WorkloadPlacement",
              metadata: { name: "databases" },
              spec: { strategy: "Spread", workloadSelector: selector, customResources: "Install" },
            },
          );
        });
        await inWorkspace(processIo, { kubeconfig, workspace: "root:tmc" }, async ({ client }) => {
          const type = { group: "apis.kcp.io", version: "v1alpha1", plural: "apiresourceschemas" };
          const schemas = JSON.stringify((await client.listAll({ type })).items);
          expect(schemas).toContain("databases.example.com");
          expect(schemas).not.toContain("deprecationWarning");
        });
      };
      const { code } = await tmc(["local", "--dir", dir, "--crd", join(root, "examples/database-crd.yaml")], {
        interrupted: interrupt.promise,
        onPrint: (text) => {
          if (text.includes("Events:")) createDatabase().catch(interrupt.reject);
          if (text.includes("Database ready on 2 of 2 clusters")) interrupt.resolve();
        },
      });
      expect(code).toBe(0);
    }));

  it("tmc local fails with one line for a --crd file that is missing", async () => {
    const { code, err } = await tmc(["local", "--once", "--crd", "/missing.yaml"]);
    expect([code, err]).toEqual([1, 'tmc: --crd "/missing.yaml": cannot be read\n']);
  });

  it("tmc local -o json prints events as lines of JSON", () =>
    inFolder(async (dir) => {
      const interrupt = Promise.withResolvers<void>();
      const subjects = new Set<string>();
      const expected = ["east", "west", "shop", "shop/web", "api", "api/api", "reports", "reports/monthly", "training"];
      const { code, out } = await tmc(["local", "--dir", dir, "-o", "json"], {
        interrupted: interrupt.promise,
        onPrint: (text) => {
          subjects.add(JSON.parse(text).subject);
          if (expected.every((subject) => subjects.has(subject))) interrupt.resolve();
        },
      });
      expect(code).toBe(0);
      for (const line of out.trim().split("\n")) {
        expect(JSON.parse(line)).toMatchObject({ time: expect.any(String), text: expect.any(String) });
      }
    }));

  it("tmc local --evict-after limits how long workloads stay on a cluster that is not Ready", () =>
    inFolder(async (dir) => {
      const interrupt = Promise.withResolvers<void>();
      let clusters = "";
      const { code } = await tmc(["local", "--dir", dir, "--evict-after", "20s"], {
        interrupted: interrupt.promise,
        onPrint: (text) => {
          if (!text.includes("Events:")) return;
          tmc(["cluster", "list", "--kubeconfig", join(dir, "kcp.kubeconfig"), "-o", "json"]).then(({ out }) => {
            clusters = out;
            interrupt.resolve();
          }, interrupt.reject);
        },
      });
      expect(code).toBe(0);
      expect(JSON.parse(clusters).items).toMatchObject([
        { spec: { location: "us-east-1", evictAfterSeconds: 20 } },
        { spec: { location: "us-west-2", evictAfterSeconds: 20 } },
      ]);
      const { code: usageCode, err } = await tmc(["local", "--evict-after", "soon"]);
      expect([usageCode, err]).toEqual([2, expect.stringContaining("expected")]);
    }));

  it.each([{ TERM: "dumb" }, { LC_ALL: "C" }])(
    "tmc local prints lines of ASCII, and no board, on a terminal with %j",
    (env) =>
      inFolder(async (dir) => {
        const interrupt = Promise.withResolvers<void>();
        let written = "";
        const terminal: Terminal = {
          output: Object.assign(new EventEmitter(), {
            columns: 80,
            rows: 24,
            write: (text: string) => {
              written += text;
            },
          }),
          input: undefined,
          interrupt: interrupt.resolve,
        };
        const { code, out } = await tmc(["local", "--dir", dir], {
          env,
          interrupted: interrupt.promise,
          terminal,
          onPrint: (text) => {
            if (text.includes("Deployment ready on 2 of 2")) interrupt.resolve();
          },
        });
        expect([code, written]).toEqual([0, ""]);
        expect(out).toContain("shop/web: Deployment ready on 2 of 2 clusters");
        expect(out).toMatch(/^[\n\x20-\x7e]*$/);
      }),
  );

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
      };
      const { code, out } = await tmc(["local", "--dir", dir], {
        interrupted: interrupt.promise,
        terminal,
        atExit: exits,
      });
      expect(code).toBe(0);
      expect(screen.endsWith("\x1b[?1049l")).toBe(true);
      expect(raw).toBe(false);
      expect(exits).toEqual([]);
      expect(out).toBe("Stopped. Nothing is running any more, and nothing was kept.\n");
    }));
});
