import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { load } from "js-yaml";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { regionOf } from "../../../../lib/cli/queue/queue-options.ts";
import { resourceTypes } from "../../../../lib/cli/workspace.ts";
import { formatKey } from "../../../../lib/model/key.ts";
import { createSqsQueue } from "../../../../lib/queue/sqs.ts";
import { type QueueUrls, queueName } from "../../../../lib/queue/sqs-client.ts";
import { receiveMessages } from "../../../../lib/queue/sqs-receive.ts";
import { parseBody, type WorkMessage } from "../../../../lib/queue/work-message.ts";
import { resolveLogicalCluster } from "../../../../lib/upstream/logical-cluster.ts";
import { createQueues, startSqs } from "../../../support/sqs.ts";
import { type Outcome, type RunOptions, startTestWorkspace, type TestWorkspace, tmc } from "../support.ts";

let env: Readonly<Record<string, string>>;
let server: Awaited<ReturnType<typeof startSqs>>;
let workspace: TestWorkspace;
let urls: QueueUrls;
beforeAll(async () => {
  [server, workspace] = await Promise.all([startSqs(), startTestWorkspace()]);
  env = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test", AWS_ENDPOINT_URL: server.endpoint };
  await workspace.run("cluster register east --location us-east-1");
});
afterAll(async () => {
  await workspace.stop();
  await server.stop();
});
beforeEach(async () => {
  ({ urls } = await createQueues(server.sqs));
});

const item = (name: string): WorkMessage => ({
  key: { logicalCluster: "1k2x", kind: "ClusterRegistration", name },
  reason: "retry",
  attempts: { unexpected: 5 },
});
const queue = () => createSqsQueue({ sqs: server.sqs, urls });
const run = (command: string, options: RunOptions = {}): Promise<Outcome> =>
  tmc([...command.split(" "), "--queue-url", urls.work], { env, ...options });
const sent = async () =>
  (await receiveMessages(server.sqs, urls.work, { waitSeconds: 0 })).map(({ body }) => parseBody(body));

describe("tmc queue stats", () => {
  it("tmc queue stats finds the other queues and prints the numbers of messages", async () => {
    await queue().send([item("east"), item("west")]);
    await queue().sendLater({ ...item("east"), reason: "resync" }, 600);
    await queue().deadLetter(item("north"), "bug");
    await receiveMessages(server.sqs, urls.work, { waitSeconds: 0 });
    await queue().send([item("south")]);
    const { code, out } = await run("queue stats");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.replaceAll(/ +/g, " ").trim())).toEqual([
      "QUEUE NAME VISIBLE IN FLIGHT DELAYED OLDEST",
      `work ${queueName(urls.work)} 1 2 0 unknown`,
      `delay ${queueName(urls.delay)} 0 0 1 unknown`,
      `dead letters ${queueName(urls.deadLetters)} 1 0 0 unknown`,
      "",
    ]);
  });

  it.each<["json" | "yaml", (text: string) => unknown]>([
    ["json", (text) => JSON.parse(text)],
    ["yaml", (text) => load(text)],
  ])("tmc queue stats prints %s", async (output, read) => {
    const { out } = await run(`queue stats -o ${output}`);
    expect(read(out)).toMatchObject({
      queues: [{ queue: "work", visible: 0, inFlight: 0, delayed: 0 }, { queue: "delay" }, { queue: "deadLetters" }],
    });
  });

  it("tmc queue stats reads the work queue from TMC_WORK_QUEUE_URL", async () => {
    const { code } = await tmc(["queue", "stats"], { env: { ...env, TMC_WORK_QUEUE_URL: urls.work } });
    expect(code).toBe(0);
  });

  it.each<[string, number, string]>([
    ["queue stats", 2, "tmc: --queue-url is required: the URL of the work queue\n"],
    ["queue stats --queue-url nonsense", 2, "expected a URL such as https://sqs."],
    ["deadletters redrive --queue-url http://127.0.0.1/1/q", 2, "tmc: exactly one of --key and --all is required\n"],
    ["deadletters redrive --queue-url http://127.0.0.1/1/q --key east", 2, "logicalCluster|Kind/name"],
    ["deadletters list --queue-url http://127.0.0.1/1/q --limit 0", 2, "from 1 to 1000"],
    ["reconcile cluster east --logical-cluster 1k2x", 2, "tmc: --logical-cluster requires --queue-url\n"],
  ])("tmc %s fails with one line", async (command, code, message) => {
    const outcome = await tmc(command.split(" "), { env });
    expect(outcome).toMatchObject({ code, out: "" });
    expect(outcome.err).toContain(message);
    expect(outcome.err.trim().split("\n")).toHaveLength(1);
  });

  it("tmc queue stats prints one line when a queue does not exist", async () => {
    const outcome = await tmc(["queue", "stats", "--queue-url", `${urls.work}x`], { env });
    expect(outcome).toMatchObject({
      code: 1,
      err: `tmc: sqs: read attributes of ${queueName(urls.work)}x: no such queue in this account and region (QueueDoesNotExist)\n`,
    });
  });

  it.each<[string, string | undefined]>([
    ["https://sqs.eu-west-1.amazonaws.com/1/q", "eu-west-1"],
    ["https://us-gov-west-1.queue.amazonaws.com/1/q", "us-gov-west-1"],
    ["http://127.0.0.1:4566/1/q", undefined],
  ])("regionOf %s is %s", (url, region) => {
    expect(regionOf(url)).toBe(region);
  });
});

describe("tmc deadletters", () => {
  it("tmc deadletters list prints key, age and cause of each dead letter", async () => {
    await queue().deadLetter(item("east"), "TypeError: x is not a function");
    await queue().deadLetter({ body: "?", groupId: "g" }, "message: is not JSON");
    const clock = { ...createManualClock(), now: () => Date.now() + 300_000 };
    const { code, out } = await run("deadletters list", { clock });
    expect(code).toBe(0);
    expect(out).toMatch(/^KEY +AGE +FAILURES +RECEIVES +CAUSE\n/);
    expect(out).toMatch(/^1k2x\|ClusterRegistration\/east +5m\S* +unexpected 5 +1 +TypeError: x is not a function$/m);
    expect(out).toMatch(/^<unreadable> +5m\S* +<none> +1 +message: is not JSON$/m);
  });

  it("tmc deadletters list -o json --limit prints that the list is limited", async () => {
    for (const name of ["a", "b", "c"]) await queue().deadLetter(item(name), `bug of ${name}`);
    const { out, err } = await run("deadletters list -o json --limit 2");
    const document = JSON.parse(out);
    expect(document).toMatchObject({
      isAll: false,
      letters: [{ key: formatKey(item("a").key), cause: "bug of a" }, {}],
    });
    expect(err).toContain("the list is limited to 2 dead letters");
  });

  it("tmc deadletters list prints that there are no dead letters", async () => {
    expect(await run("deadletters list")).toEqual({ code: 0, out: "", err: "No dead letters found.\n" });
  });

  it("tmc deadletters redrive --key sends one key, and fails for an unknown key", async () => {
    await queue().deadLetter(item("east"), "bug");
    await queue().deadLetter(item("west"), "bug");
    expect(await run(`deadletters redrive --key ${formatKey(item("east").key)}`)).toEqual({
      code: 0,
      out: "1 key sent to the work queue\n",
      err: "",
    });
    expect(await sent()).toMatchObject([{ key: { name: "east" }, reason: "on-demand" }]);
    expect(await run("deadletters redrive --key 1k2x|ClusterRegistration/north")).toMatchObject({
      code: 1,
      err: "tmc: 1k2x|ClusterRegistration/north: no such dead letter\n",
    });
  });

  it("tmc deadletters redrive --all asks for confirmation", async () => {
    for (const name of ["a", "b"]) await queue().deadLetter(item(name), "bug");
    expect(await run("deadletters redrive --all")).toMatchObject({ code: 2 });
    expect(await run("deadletters redrive --all", { answer: false })).toEqual({
      code: 0,
      out: "",
      err: "tmc: canceled, nothing was changed\n",
    });
    expect(await sent()).toEqual([]);
    expect(await run("deadletters redrive --all", { answer: true })).toMatchObject({
      code: 0,
      out: "2 keys sent to the work queue\n",
    });
    expect(await sent()).toHaveLength(2);
  });

  it("tmc deadletters redrive --all prints how many dead letters remain", async () => {
    await queue().deadLetter({ body: "?", groupId: "g" }, "message: is not JSON");
    const { out, err } = await run("deadletters redrive --all --yes");
    expect(out).toBe("0 keys sent to the work queue\n");
    expect(err).toContain("1 dead letters remain");
  });
});

describe("tmc reconcile with a queue", () => {
  it("tmc reconcile --queue-url sends the key of an object without changing the object", async () => {
    const address = { type: resourceTypes.registrations, name: "east" };
    const before = await workspace.client.get(address);
    const outcome = await workspace.run(`reconcile cluster east --workspace root:demo --queue-url ${urls.work}`, {
      env: { ...env, KUBECONFIG: workspace.kubeconfig },
    });
    expect(outcome).toEqual({
      code: 0,
      out: "clusterregistration.tmc.kcp.io/east sent to the work queue\n",
      err: "",
    });
    const { name } = await resolveLogicalCluster(workspace.client, "root:demo");
    expect(await sent()).toMatchObject([
      { key: { logicalCluster: name, kind: "ClusterRegistration", name: "east" }, reason: "on-demand" },
    ]);
    const after = await workspace.client.get(address);
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it("tmc reconcile --queue-url --logical-cluster needs no access to kcp", async () => {
    const outcome = await run("reconcile placement web --logical-cluster 1k2x");
    expect(outcome.code).toBe(0);
    expect(await sent()).toMatchObject([{ key: { logicalCluster: "1k2x", kind: "WorkloadPlacement", name: "web" } }]);
  });

  it("tmc reconcile --queue-url --logical-cluster sends the key of a workload", async () => {
    const outcome = await run("reconcile deploy/web -n shop --logical-cluster 1k2x");
    expect(outcome).toEqual({ code: 0, out: "deployment.apps/web sent to the work queue\n", err: "" });
    const key = { logicalCluster: "1k2x", kind: "Workload", name: "deployments.v1.apps/shop/web" };
    expect(await sent()).toMatchObject([{ key, reason: "on-demand" }]);
    expect((await run("reconcile deploy/web --logical-cluster 1k2x")).err).toBe(
      "tmc: --logical-cluster requires --namespace for a workload\n",
    );
  });

  it("tmc reconcile --queue-url fails for an object that does not exist", async () => {
    const outcome = await workspace.run(`reconcile cluster nope --queue-url ${urls.work}`, {
      env: { ...env, KUBECONFIG: workspace.kubeconfig },
    });
    expect(outcome).toMatchObject({ code: 1, err: 'tmc: ClusterRegistration "nope": not found\n' });
    expect(await sent()).toEqual([]);
  });
});
