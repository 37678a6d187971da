import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import { resourceTypes } from "../../../../lib/cli/workspace.ts";
import { waitUntil } from "../../../../lib/install/wait.ts";
import { findCondition } from "../../../../lib/model/condition.ts";
import { readQueueStats } from "../../../../lib/queue/queue-stats.ts";
import type { QueueUrls } from "../../../../lib/queue/sqs-client.ts";
import { createQueues, startSqs } from "../../../support/sqs.ts";
import { startTestWorkspace, type TestWorkspace, tmc } from "../support.ts";

let server: Awaited<ReturnType<typeof startSqs>>;
let workspace: TestWorkspace;
let urls: QueueUrls;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  [server, workspace] = await Promise.all([startSqs(), startTestWorkspace()]);
  ({ urls } = await createQueues(server.sqs));
  env = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test", AWS_ENDPOINT_URL: server.endpoint };
});
afterAll(async () => {
  await workspace.stop();
  await server.stop();
});

const flags = (...more: readonly string[]): readonly string[] => [
  ...["controller", "--kcp-kubeconfig", workspace.kubeconfig, "--workspace", "root:demo", "--cluster-kubeconfigs"],
  [...workspace.clusterKubeconfigs].map(([name, path]) => `${name}=${path}`).join(","),
  ...["--metrics-port", "0", "--health-port", "0"],
  ...more,
];

describe("tmc controller with a queue", () => {
  it("two controllers share the work through SQS, and leave no message in flight when they stop", async () => {
    await workspace.run("cluster register east --location us-east-1");
    await workspace.run("placement create shop");
    const interrupt = Promise.withResolvers<void>();
    const lines: Record<string, unknown>[] = [];
    const controllers = [1, 2].map(() =>
      tmc(flags("--queue-url", urls.work), {
        env,
        interrupted: interrupt.promise,
        onPrint: (text) => lines.push(JSON.parse(text)),
      }),
    );
    await waitUntil("the cluster to be Ready and the placement on it", async () => {
      const east = await workspace.client.get<ClusterRegistration>({ type: resourceTypes.registrations, name: "east" });
      if (findCondition(east.status?.conditions, "Ready")?.status !== "True") return { missing: "east is not Ready" };
      const { out } = await workspace.run("placement list");
      return /^shop +RoundRobin +east +Ready/m.test(out) ? { done: true } : { missing: out };
    });

    const reconciled = () => lines.filter(({ message, name }) => message === "reconciled" && name === "shop").length;
    const before = reconciled();
    await workspace.run(`reconcile placement shop --queue-url ${urls.work}`, {
      env: { ...env, KUBECONFIG: workspace.kubeconfig },
    });
    await waitUntil("the reconcile that was sent to the queue", async () =>
      reconciled() > before ? { done: true } : { missing: "no log line" },
    );

    interrupt.resolve();
    expect((await Promise.all(controllers)).map(({ code }) => code)).toEqual([0, 0]);
    expect(lines.filter(({ level }) => level === "error")).toEqual([]);
    const stats = await readQueueStats(server.sqs, "work", urls.work);
    expect(stats.inFlight).toBe(0);
  });

  it("tmc controller prints all invalid queue options in one line", async () => {
    const { code, err } = await tmc(
      flags("--delay-queue-url", "http://127.0.0.1/1/d", "--dead-letters-url", "letters"),
      { env },
    );
    expect(code).toBe(2);
    expect(err).toBe(
      'tmc: --delay-queue-url requires --queue-url; --dead-letters-url "letters" is not the URL of a queue\n',
    );
  });

  it("tmc controller fails with one line when the queue does not exist", async () => {
    const { code, err } = await tmc(flags("--queue-url", `${urls.work}x`), { env });
    expect(code).toBe(1);
    expect(err).toMatch(
      /^tmc: sqs: read attributes of \S+x: no such queue in this account and region \(QueueDoesNotExist\)\n$/,
    );
  });
});
