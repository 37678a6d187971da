import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import { kinds } from "../../../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../../../lib/api/resource-schema.ts";
import { settingsOf } from "../../../../lib/cli/controller/run-controller.ts";
import { resourceTypes } from "../../../../lib/cli/workspace.ts";
import { parseControllerFlags } from "../../../../lib/controller/flags.ts";
import { type Lease, leaseCollection, settingsLabel } from "../../../../lib/controller/settings-lease.ts";
import { waitUntil } from "../../../../lib/install/wait.ts";
import { findCondition } from "../../../../lib/model/condition.ts";
import { type Outcome, startTestWorkspace, type TestWorkspace, tmc } from "../support.ts";

let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await startTestWorkspace();
});
afterAll(() => workspace.stop());

const fixed = ["--cluster-kubeconfigs", "none", "--metrics-port", "0", "--health-port", "0", "--log-level", "0"];
const run = (...flags: readonly string[]): Promise<Outcome> =>
  tmc(["controller", "--kcp-kubeconfig", workspace.kubeconfig, ...fixed, ...flags]);

describe("tmc controller", () => {
  it("tmc controller prints all missing options in one line", async () => {
    const { code, err } = await tmc(["controller"]);
    expect(code).toBe(2);
    expect(err).toMatch(
      /^tmc: --kcp-kubeconfig is missing: [^\n]*; --workspace is missing: [^\n]*; --cluster-kubeconfigs is missing: [^\n]*\n$/,
    );
  });

  it("tmc controller prints all invalid and unknown options in one line", async () => {
    const flags =
      "--kcp-kubeconfig a --workspace root/x --cluster-kubeconfigs east --worker-count 0 --resync-period soon";
    const invalid = "--helth-port 1 --metrics-port 70000 --log-level 11 --heartbeat-interval 0s stray";
    const { code, err } = await tmc(["controller", ...`${flags} ${invalid}`.split(" ")]);
    expect(code).toBe(2);
    expect(err.trim().split("; ")).toEqual([
      "tmc: unknown option --helth-port (did you mean --health-port?)",
      'unexpected argument "stray"',
      '--workspace "root/x" is not a path like root:org:team',
      '--cluster-kubeconfigs "east" is not name=path',
      '--metrics-port "70000" is not a whole number from 0 to 65535',
      '--log-level "11" is not a whole number from 0 to 10',
      '--resync-period "soon" is not a duration like 30s, 5m or 1h30m',
      '--worker-count "0" is not a whole number from 1 to 100',
      '--heartbeat-interval "0s" is not between 1s and 24h',
    ]);
  });

  it("tmc controller fails with one line when its kubeconfig cannot be read", async () => {
    const { code, err } = await tmc([
      "controller",
      "--kcp-kubeconfig",
      "/does/not/exist",
      "--workspace",
      "root:demo",
      ...fixed,
    ]);
    expect({ code, err }).toEqual({ code: 1, err: 'tmc: --kcp-kubeconfig "/does/not/exist": there is no such file\n' });
  });

  it("tmc controller fails with one line when a workspace does not exist", async () => {
    const { code, err } = await run("--workspace", "root:demo,root:nope");
    expect({ code, err }).toEqual({
      code: 1,
      err: 'tmc: workspace "root:nope": there is none, or we have no access to it\n',
    });
  });

  it("tmc controller fails with one line when a port is in use", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, resolve));
    const address = other.address();
    const port = String(typeof address === "object" && address !== null ? address.port : 0);
    const { code, err } = await run("--workspace", "root:demo", "--metrics-port", port);
    other.close();
    expect({ code, err }).toEqual({ code: 1, err: `tmc: --metrics-port: port ${port} is in use\n` });
  });

  it("tmc controller reconciles, serves metrics and health, and stops gracefully", async () => {
    await workspace.run("cluster register east --location us-east-1");
    await workspace.run("placement create shop");
    const interrupt = Promise.withResolvers<void>();
    const lines: Record<string, unknown>[] = [];
    const kubeconfigs = [...workspace.clusterKubeconfigs].map(([name, path]) => `${name}=${path}`).join(",");
    const ended = tmc(
      [
        ...["controller", "--kcp-kubeconfig", workspace.kubeconfig, "--workspace", "root:demo"],
        ...["--cluster-kubeconfigs", kubeconfigs, "--metrics-port", "0", "--health-port", "0", "--log-level", "2"],
      ],
      { interrupted: interrupt.promise, onPrint: (text) => lines.push(JSON.parse(text)) },
    );
    await waitUntil("the cluster to be Ready and the placement placed", async () => {
      const east = await workspace.client.get<ClusterRegistration>({ type: resourceTypes.registrations, name: "east" });
      if (findCondition(east.status?.conditions, "Ready")?.status !== "True") return { missing: "east is not Ready" };
      const { out } = await workspace.run("placement list");
      return out.includes("Ready") && !out.includes("NotReady") && out.includes("east")
        ? { done: true }
        : { missing: out };
    });
    const { metricsPort, healthPort } = lines.find(({ message }) => message === "controller starting") ?? {};
    const get = async (port: unknown, path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    expect((await get(metricsPort, "/metrics")).text).toMatch(/^tmc_clusters\{ready="true"\} 1$/m);
    for (const path of ["/healthz", "/livez", "/readyz"]) {
      expect(await get(healthPort, path)).toEqual({ status: 200, text: "ok" });
    }

    const reconciles = () => lines.filter(({ message, name }) => message === "reconciled" && name === "shop").length;
    const before = reconciles();
    await workspace.run("reconcile placement shop");
    await waitUntil("the reconcile that was asked for", async () =>
      reconciles() > before ? { done: true } : { missing: "no log line" },
    );

    interrupt.resolve();
    expect((await ended).code).toBe(0);
    expect(lines.map(({ message }) => message).slice(-2)).toEqual(["controller stopping", "controller stopped"]);
    await expect(get(healthPort, "/livez")).rejects.toThrow();
  });

  it("tmc controller fails with one line when kubeconfigs of clusters cannot be read", async () => {
    const { code, err } = await tmc([
      ...["controller", "--kcp-kubeconfig", workspace.kubeconfig, "--workspace", "root:demo"],
      ...["--cluster-kubeconfigs", `east=${workspace.kubeconfig},west=/does/not/exist,north=/nor/this`],
      ...["--metrics-port", "0", "--health-port", "0"],
    ]);
    expect({ code, err }).toEqual({
      code: 1,
      err: "tmc: --cluster-kubeconfigs: cannot be read: west=/does/not/exist, north=/nor/this\n",
    });
  });

  it.each([
    ["text on a terminal", true, [], /^\d\d:\d\d:\d\d\.\d{3} info {2}controller starting /m],
    ["JSON otherwise", false, [], /^\{"time":.*"message":"controller starting"/m],
    ["text with --log-format text", false, ["--log-format", "text"], / info {2}controller starting /],
    ["JSON with --log-format json", true, ["--log-format", "json"], /"message":"controller starting"/],
  ])("tmc controller logs %s", async (_, isErrTerminal, flags, line) => {
    const interrupt = Promise.withResolvers<void>();
    const { err } = await tmc(
      [
        ...["controller", "--kcp-kubeconfig", workspace.kubeconfig, "--workspace", "root:demo", ...flags],
        ...["--cluster-kubeconfigs", "none", "--metrics-port", "0", "--health-port", "0"],
      ],
      {
        isErrTerminal,
        interrupted: interrupt.promise,
        onPrint: (text) => {
          if (text.includes("controller starting")) interrupt.resolve();
        },
      },
    );
    expect(err).toMatch(line);
  });

  /** A running controller, and whether it has logged a message. */
  const starts = (...flags: readonly string[]) => {
    const interrupt = Promise.withResolvers<void>();
    let log = "";
    const ended = tmc(
      [
        ...["controller", "--kcp-kubeconfig", workspace.kubeconfig, "--workspace", "root:demo"],
        ...["--metrics-port", "0", "--health-port", "0", ...flags],
      ],
      {
        interrupted: interrupt.promise,
        onPrint: (text) => {
          log += text;
        },
      },
    );
    return {
      logged: (text: string) =>
        waitUntil(`the log line "${text}"`, async () => (log.includes(text) ? { done: log } : { missing: log })),
      hasLogged: (text: string) => log.includes(text),
      stop: async () => {
        interrupt.resolve();
        return ended;
      },
    };
  };

  it("tmc controller warns about another controller with other settings, and not about one with the same", async () => {
    const east = `east=${workspace.clusterKubeconfigs.get("east")}`;
    const versions = async () => {
      const { items } = await workspace.client.list<Lease>(leaseCollection, { labelSelector: settingsLabel });
      return items.map(({ metadata }) => metadata.resourceVersion);
    };
    const first = starts("--cluster-kubeconfigs", east);
    await waitUntil("the first controller to record its settings", async () =>
      (await versions()).length === 1 ? { done: true } : { missing: "there is no Lease" },
    );
    const [before] = await versions();
    const same = starts("--cluster-kubeconfigs", east);
    await waitUntil("the second controller to renew the Lease", async () =>
      (await versions()).includes(before) ? { missing: "it is unchanged" } : { done: true },
    );
    expect([first, same].map(({ hasLogged }) => hasLogged("another controller"))).toEqual([false, false]);
    const other = starts("--cluster-kubeconfigs", "none");
    await other.logged("another controller with other settings");
    expect(other.hasLogged('clusterKubeconfigs is [] here and [\\"east\\"] there')).toBe(true);
    for (const each of [same, first, other]) expect((await each.stop()).code).toBe(0);
    expect(await versions()).toEqual([]);
  });

  it("tmc controller --leader-elect ends with an error when another process has taken its Lease", async () => {
    const path = workspace.clusterKubeconfigs.get("east") ?? "";
    const { endpoint } = parseKubeconfig(await readFile(path, "utf8"), { allow: "files" });
    const client = createKubeClient({ endpoint, transport: createHttpsTransport(endpoint) });
    const leases = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
    const lease = { type: leases, namespace: "default", name: "tmc-test" };
    const flags = ["--leader-elect", "--leader-elect-resource-name=tmc-test", "--leader-elect-lease-duration=3s"];
    const { code, err } = await tmc(
      [
        ...["controller", "--kcp-kubeconfig", workspace.kubeconfig, "--workspace", "root:demo", ...fixed],
        ...["--log-level", "2", ...flags, "--leader-elect-kubeconfig", path],
      ],
      {
        onPrint: (text) => {
          if (!text.includes("leader of the controllers") || text.includes("stranger")) return;
          void client.patch(lease, { type: "merge", body: { spec: { holderIdentity: "stranger" } } });
        },
      },
    );
    expect(code).toBe(1);
    expect(err).toContain("tmc: the Lease of the leader election is lost\n");
    expect((await client.get<KubeObject>(lease)).spec).toMatchObject({ holderIdentity: "stranger" });
    await client.close();
    const inPod = await run("--workspace", "root:demo", "--leader-elect");
    expect(inPod).toMatchObject({ code: 1, err: expect.stringContaining("does not run in a pod of a cluster") });
  });

  it("tmc controller passes its options to the controller", () => {
    const config = parseControllerFlags({
      kcpKubeconfig: "kcp.kubeconfig",
      workspace: ["root:demo"],
      clusterKubeconfigs: ["none"],
      workerCount: "7",
      resyncPeriod: "1m30s",
      heartbeatInterval: "5s",
      tenantConcurrency: "3",
    });
    expect(settingsOf(config)).toMatchObject({
      workers: 7,
      resyncSeconds: 90,
      heartbeatSeconds: 5,
      tenantConcurrency: 3,
    });
  });

  it("tmc controller --hub kubernetes works with a plain cluster that has the CRDs", async () => {
    const [hub = "", target = ""] = ["east", "west"].map((name) => workspace.clusterKubeconfigs.get(name));
    const { endpoint } = parseKubeconfig(await readFile(hub, "utf8"), { allow: "files" });
    const client = createKubeClient({ endpoint, transport: createHttpsTransport(endpoint) });
    const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
    for (const kind of kinds) await client.create({ type: crds }, customResourceDefinition(kind));
    await waitUntil("TMC's API to be served", async () => {
      await client.list({ type: resourceTypes.registrations });
      return { done: true };
    });
    const env = { KUBECONFIG: hub };
    await workspace.run("cluster register west --location us-west-2", { env });
    await workspace.run("placement create web", { env });

    const interrupt = Promise.withResolvers<void>();
    const flags = ["--kcp-kubeconfig", hub, "--hub", "kubernetes", "--cluster-kubeconfigs", `west=${target}`];
    const ended = tmc(["controller", ...flags, "--metrics-port", "0", "--health-port", "0", "--log-level", "0"], {
      interrupted: interrupt.promise,
    });
    await waitUntil("the placement to be on west", async () => {
      const { out } = await workspace.run("placement list", { env });
      return /^web +RoundRobin +west +Ready/m.test(out) ? { done: true } : { missing: out };
    });
    interrupt.resolve();
    expect(await ended).toEqual({ code: 0, out: "", err: "" });
    await client.close();
  });
});
