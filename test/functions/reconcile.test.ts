import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createForwardFunction } from "../../lib/lambda/forward.ts";
import { createReconcileFunction } from "../../lib/lambda/reconcile.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { readyOf, statusOf } from "../support/controller-environment.ts";
import {
  clusterToken,
  contextOf,
  type FunctionsEnvironment,
  hubToken,
  messageOf,
  saidIn,
  secretNameOf,
  startFunctionsEnvironment,
} from "../support/functions-environment.ts";
import { interceptSqs } from "../support/sqs.ts";
import { eventOf } from "./recording-sqs.ts";

/** A call that never ends by itself. */
const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(new Error("aborted")));
  });

let stage: FunctionsEnvironment;
beforeEach(async () => {
  stage = await startFunctionsEnvironment();
});
afterEach(() => stage.stop());

const registrationKey = (name: string): ObjectKey => ({
  logicalCluster: stage.cluster,
  kind: "ClusterRegistration",
  name,
});
const placementKey = (name: string): ObjectKey => ({ logicalCluster: stage.cluster, kind: "WorkloadPlacement", name });
const registration = (name: string) => stage.client.get({ ...registrations, name });
const placement = (name: string) => stage.client.get({ ...placements, name });
const register = (name: string) => stage.client.create(registrations, aRegistration(name));
const place = (name: string, spec: object = {}) => stage.client.create(placements, aPlacement(name, spec));
const keys = (messages: readonly { body: string }[]) =>
  messages.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

/** Delivers messages to their functions until all queues are empty, as Lambda does; delays are skipped. */
async function settle(handler: ReturnType<typeof createReconcileFunction>): Promise<void> {
  const forward = createForwardFunction(stage.host(), stage.cloud);
  for (let round = 0; round < 50; round++) {
    const work = stage.sqs.take("work.fifo", 10);
    const delayed = stage.sqs.take("delay", 10);
    if (work.length + delayed.length === 0) return;
    if (work.length > 0) expect(await handler(eventOf(work), contextOf())).toEqual({ batchItemFailures: [] });
    if (delayed.length > 0) await forward(eventOf(delayed), contextOf());
  }
  throw new Error("the queues never became empty");
}

test("reconcile makes a registered cluster Ready and enqueues the placements that it affects", async () => {
  const handler = createReconcileFunction(stage.host(), stage.cloud);
  await place("web");
  await handler(eventOf([messageOf(placementKey("web"))]), contextOf());
  expect(statusOf(await placement("web")).selectedClusters ?? []).toEqual([]);

  await register("east");
  await handler(eventOf([messageOf(registrationKey("east"))]), contextOf());
  expect(readyOf(await registration("east"))).toBe("True ClusterReady");
  expect(keys(stage.sqs.in("work.fifo"))).toMatchObject([{ name: "web", reason: "fan-out", v: 1 }]);
  await settle(handler);
  expect(statusOf(await placement("web")).selectedClusters).toEqual(["east"]);
});

test("reconcile distributes the placements of one batch evenly over clusters", async () => {
  const handler = createReconcileFunction(stage.host(), stage.cloud);
  for (const name of ["east", "west"]) await register(name);
  await handler(eventOf(["east", "west"].map((name) => messageOf(registrationKey(name)))), contextOf());
  const names = Array.from({ length: 8 }, (_, index) => `web-${index}`);
  for (const name of names) await place(name);
  await handler(eventOf(names.map((name) => messageOf(placementKey(name)))), contextOf());
  const chosen = await Promise.all(names.map(async (name) => statusOf(await placement(name)).selectedClusters));
  expect(chosen.filter((one) => String(one) === "east")).toHaveLength(4);
  expect(chosen.filter((one) => String(one) === "west")).toHaveLength(4);
});

test("reconcile starts once per process and logs it in one line", async () => {
  const host = stage.host();
  const handler = createReconcileFunction(host, stage.cloud);
  await register("east");
  for (let run = 0; run < 3; run++) await handler(eventOf([messageOf(registrationKey("east"))]), contextOf());
  const starts = host.lines.filter(({ message }) => message === "function started");
  expect(starts).toMatchObject([{ version: "1.2.3", importMs: 100, initMs: 0, function: "reconcile", stage: "test" }]);
  expect(stage.secrets.reads(), "the hub's and the cluster's").toBe(2);
});

test("every invocation of reconcile reads the current objects", async () => {
  const handler = createReconcileFunction(stage.host(), stage.cloud);
  await register("east");
  await handler(eventOf([messageOf(registrationKey("east"))]), contextOf());
  await place("all", { strategy: "Spread" });
  await handler(eventOf([messageOf(placementKey("all"))]), contextOf());
  await register("west");
  await handler(eventOf([messageOf(registrationKey("west"))]), contextOf());
  await handler(eventOf([messageOf(placementKey("all"))]), contextOf());
  expect(statusOf(await placement("all")).selectedClusters).toEqual(["east", "west"]);
});

test("every log line has the request id of its invocation, and metrics contain no tenant", async () => {
  const host = stage.host();
  await register("east");
  await createReconcileFunction(host, stage.cloud)(eventOf([messageOf(registrationKey("east"))]), contextOf());
  const [logged, metrics] = [
    host.lines.filter(({ _aws }) => _aws === undefined),
    host.lines.filter(({ _aws }) => _aws !== undefined),
  ];
  expect(logged.length).toBeGreaterThan(1);
  for (const line of logged) expect(line).toMatchObject({ requestId: "request-1", function: "reconcile" });
  expect(metrics).toContainEqual(
    expect.objectContaining({
      service: "tmc-test",
      kind: "ClusterRegistration",
      outcome: "done",
      tmc_reconcile_total: 1,
    }),
  );
  expect(JSON.stringify(metrics)).not.toContain(stage.cluster);
  expect(JSON.stringify(metrics)).not.toContain("east");
});

describe("a failed key", () => {
  test("reconcile sends a delayed retry for a key that failed because kcp is unreachable", async () => {
    const handler = createReconcileFunction(stage.host(), stage.cloud);
    await place("web");
    await handler(eventOf([messageOf(placementKey("web"))]), contextOf());
    const injection = stage.tenants.kcp.faults.inject({ match: {}, effect: { kind: "status", code: 503 } });
    expect(await handler(eventOf([messageOf(placementKey("web"))]), contextOf())).toEqual({ batchItemFailures: [] });
    injection.remove();
    expect(keys([...stage.sqs.in("delay"), ...stage.sqs.in("work.fifo")])).toMatchObject([
      { name: "web", reason: "retry", attempts: { transient: 1 } },
    ]);
  });

  test("reconcile fails only the message whose retry could not be sent", async () => {
    await place("web");
    stage.sqs.refuse("delay", "work.fifo");
    const injection = stage.tenants.kcp.faults.inject({
      match: { name: "bad" },
      effect: { kind: "status", code: 503 },
    });
    const released = interceptSqs(stage.cloud.sqs, async ({ name, input }, pass) => {
      if (name !== "ChangeMessageVisibilityBatch") return pass();
      releases.push(input.Entries);
      return {};
    });
    const releases: unknown[] = [];
    const handler = createReconcileFunction(stage.host(), { ...stage.cloud, sqs: released });
    const event = eventOf([messageOf(placementKey("web")), messageOf(placementKey("bad"))]);
    expect(await handler(event, contextOf())).toEqual({ batchItemFailures: [{ itemIdentifier: "message-1" }] });
    expect(releases, "the queue that rejected it gets a pause").toEqual([
      [{ Id: "0", ReceiptHandle: "receipt-1", VisibilityTimeout: 5 }],
    ]);
    injection.remove();
  });

  test("reconcile sends an unreadable message to the dead-letter queue", async () => {
    const host = stage.host();
    const message = { body: "{not ours", groupId: "group", sentMs: Date.now() };
    await createReconcileFunction(host, stage.cloud)(eventOf([message]), contextOf());
    expect(stage.sqs.in("dead.fifo")).toMatchObject([{ body: "{not ours", cause: "message: is not JSON" }]);
    expect(saidIn(host)).toContain("message dead-lettered");
  });
});

test("reconcile returns the unfinished messages before its timeout", async () => {
  const handler = createReconcileFunction(stage.host(), stage.cloud);
  for (const name of ["quick", "slow"]) await place(name);
  await handler(eventOf([messageOf(placementKey("quick"))]), contextOf());
  const injection = stage.tenants.kcp.faults.inject({
    match: { name: "slow" },
    effect: { kind: "partition", requests: "hang" },
  });
  const event = eventOf(["quick", "slow"].map((name) => messageOf(placementKey(name))));
  const answer = await handler(event, contextOf(4_000));
  injection.remove();
  expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "message-1" }] });
  expect(stage.sqs.released("work.fifo"), "a cut-off key is visible at once").toEqual([
    { receipt: "receipt-1", afterSeconds: 0 },
  ]);
});

test("reconcile returns unfinished messages even if SQS does not release them", async () => {
  const host = stage.host();
  const hanging = { ...stage.cloud, sqs: interceptSqs(stage.cloud.sqs, ({ signal }) => untilAborted(signal)) };
  await place("slow");
  const injection = stage.tenants.kcp.faults.inject({
    match: { name: "slow" },
    effect: { kind: "partition", requests: "hang" },
  });
  const answer = await createReconcileFunction(host, hanging)(
    eventOf([messageOf(placementKey("slow"))]),
    contextOf(2_500),
  );
  injection.remove();
  expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "message-0" }] });
  expect(saidIn(host)).toContain("messages not released");
});

describe("a failed start", () => {
  const event = () => eventOf([messageOf(placementKey("web"))]);

  test("a failed start names all invalid variables and is retried by the next invocation", async () => {
    const host = stage.host({ TMC_STAGE: "", TMC_WORK_QUEUE_URL: "somewhere", TMC_HEARTBEAT_SECONDS: "often" });
    const handler = createReconcileFunction(host, stage.cloud);
    await expect(handler(event(), contextOf())).rejects.toThrow(
      "environment: TMC_STAGE is not set; TMC_WORK_QUEUE_URL must be the URL of a queue; " +
        "TMC_HEARTBEAT_SECONDS must be whole seconds from 1 to 86400",
    );
    expect(saidIn(host)).toEqual(["invocation failed"]);
    Object.assign(host.variables, stage.host().variables, { TMC_HEARTBEAT_SECONDS: "60" });
    expect(await handler(event(), contextOf())).toEqual({ batchItemFailures: [] });
    expect(saidIn(host).filter((said) => said === "function started")).toHaveLength(1);
  });

  test.each([
    ["is not a kubeconfig", `users: [{ user: { token: ${hubToken} } }]`],
    ["is not YAML", `{{ ${hubToken}`],
    ["is missing", undefined],
  ])(
    "a start that fails because the upstream's secret %s reveals nothing of it and is retried",
    async (_what, text) => {
      const good = stage.secrets.secrets.get("tmc/kcp") ?? "";
      if (text === undefined) stage.secrets.secrets.delete("tmc/kcp");
      else stage.secrets.secrets.set("tmc/kcp", text);
      const host = stage.host();
      const handler = createReconcileFunction(host, stage.cloud);
      const failure: unknown = await handler(event(), contextOf()).catch((error: unknown) => error);
      expect(String(failure)).toMatch(/^Error: secret tmc\/kcp: .+$/);
      expect(failure).toSatisfy((error: Error) => !error.stack?.includes("\n") && error.cause === undefined);
      expect(stage.written()).not.toContain(hubToken);
      stage.secrets.secrets.set("tmc/kcp", good);
      expect(await handler(event(), contextOf())).toEqual({ batchItemFailures: [] });
    },
  );
});

test("no log line, message or status contains a secret after failures, at any log level", async () => {
  const handler = createReconcileFunction(stage.host({ TMC_LOG_LEVEL: "10" }), stage.cloud);
  for (const name of ["east", "west", "north"]) await register(name);
  stage.secrets.secrets.set(
    secretNameOf(stage.cluster, "west"),
    `{"server":"https://west.example.com","token":"${clusterToken}`,
  );
  stage.secrets.secrets.set(
    secretNameOf(stage.cluster, "north"),
    `{"server":"http://10.0.0.1","token":"${clusterToken}"}`,
  );
  const refusal = stage.clusters.get("east")?.faults.inject({
    match: {},
    effect: { kind: "status", code: 401, message: `Authorization: Bearer ${clusterToken} is not known` },
  });
  const event = eventOf(["east", "west", "north"].map((name) => messageOf(registrationKey(name))));
  await handler(event, contextOf());
  const hubFailure = stage.tenants.kcp.faults.inject({
    match: {},
    effect: { kind: "status", code: 500, message: `token: ${hubToken} made it fail` },
  });
  await handler(event, contextOf());
  hubFailure.remove();
  refusal?.remove();
  expect(stage.written()).toContain("reconcile failed");
  for (const secret of [clusterToken, hubToken]) {
    expect(stage.written()).not.toContain(secret);
    expect(JSON.stringify([...stage.sqs.in("delay"), ...stage.sqs.in("work.fifo")])).not.toContain(secret);
    for (const name of ["east", "west", "north"]) {
      expect(JSON.stringify(await registration(name))).not.toContain(secret);
    }
  }
});

describe("Events of reconcile", () => {
  const recordedEvents = async (): Promise<readonly string[]> => {
    const { items } = await stage.client.list<KubeObject>({
      type: { group: "", version: "v1", plural: "events" },
      namespace: "default",
    });
    return items.map(({ reason, message, count }) => `${String(reason)} ×${String(count)} ${String(message)}`);
  };

  test("one Event is recorded for a failed cluster by all processes together", async () => {
    await register("east");
    stage.clusters.get("east")?.makeBroken();
    for (let run = 0; run < 3; run++) {
      const message = messageOf(registrationKey("east"), { reason: "on-demand" });
      await createReconcileFunction(stage.host(), stage.cloud)(eventOf([message]), contextOf());
    }
    expect(readyOf(await registration("east"))).toBe("False ClusterUnhealthy");
    expect(await recordedEvents()).toEqual([expect.stringMatching(/^HeartbeatFailed ×1 ClusterUnhealthy: /)]);
  });

  test("an Event is recorded for a dead letter after the last unexpected failure", async () => {
    await register("south");
    const way = JSON.stringify({ server: "https://south.example.com", token: clusterToken });
    stage.secrets.secrets.set(secretNameOf(stage.cluster, "south"), way);
    const handler = createReconcileFunction(stage.host(), stage.cloud);
    await handler(eventOf([messageOf(registrationKey("south"), { attempts: { unexpected: 3 } })]), contextOf());
    expect(await recordedEvents()).toEqual([]);
    await handler(eventOf([messageOf(registrationKey("south"), { attempts: { unexpected: 4 } })]), contextOf());
    expect(stage.sqs.in("dead.fifo")).toHaveLength(1);
    expect(await recordedEvents()).toEqual([expect.stringMatching(/^ControllerError ×1 .*: nothing leads to south$/)]);
  });
});
