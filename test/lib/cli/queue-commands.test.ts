import { load } from "js-yaml";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { regionOf } from "../../../lib/cli/queue-options.ts";
import { resourceTypes } from "../../../lib/cli/workspace.ts";
import { formatKey } from "../../../lib/model/key.ts";
import { createSqsQueue } from "../../../lib/queue/sqs.ts";
import { nameOfQueue, type QueueUrls } from "../../../lib/queue/sqs-client.ts";
import { fetchMessages } from "../../../lib/queue/sqs-fetch.ts";
import { parseBody, type WorkMessage } from "../../../lib/queue/work-message.ts";
import { resolveLogicalCluster } from "../../../lib/upstream/logical-cluster.ts";
import { createQueues, startSqs } from "../../support/sqs.ts";
import { type Outcome, type RunOptions, startTestWorkspace, type TestWorkspace, tmc } from "./support.ts";

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
  attempts: { unforeseen: 5 },
});
const queue = () => createSqsQueue({ sqs: server.sqs, urls });
const run = (command: string, options: RunOptions = {}): Promise<Outcome> =>
  tmc([...command.split(" "), "--queue-url", urls.work], { env, ...options });
const sent = async () =>
  (await fetchMessages(server.sqs, urls.work, { waitSeconds: 0 })).map(({ body }) => parseBody(body));

describe("tmc queue stats", () => {
  it("finds the queues that belong together and says how much is in them", async () => {
    await queue().send([item("east"), item("west")]);
    await queue().sendLater({ ...item("east"), reason: "resync" }, 600);
    await queue().setAside(item("north"), "bug");
    await fetchMessages(server.sqs, urls.work, { waitSeconds: 0 });
    await queue().send([item("south")]);
    const { code, out } = await run("queue stats");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.replaceAll(/ +/g, " ").trim())).toEqual([
      "QUEUE NAME VISIBLE IN FLIGHT DELAYED OLDEST",
      `work ${nameOfQueue(urls.work)} 1 2 0 unknown`,
      `delay ${nameOfQueue(urls.delay)} 0 0 1 unknown`,
      `dead letters ${nameOfQueue(urls.deadLetters)} 1 0 0 unknown`,
      "",
    ]);
  });

  it.each<["json" | "yaml", (text: string) => unknown]>([
    ["json", (text) => JSON.parse(text)],
    ["yaml", (text) => load(text)],
  ])("prints %s for programs", async (output, read) => {
    const { out } = await run(`queue stats -o ${output}`);
    expect(read(out)).toMatchObject({
      queues: [{ queue: "work", visible: 0, inFlight: 0, delayed: 0 }, { queue: "delay" }, { queue: "deadLetters" }],
    });
  });

  it("takes the work queue from the environment as the functions do", async () => {
    const { code } = await tmc(["queue", "stats"], { env: { ...env, TMC_WORK_QUEUE_URL: urls.work } });
    expect(code).toBe(0);
  });

  it.each<[string, number, string]>([
    ["queue stats", 2, "tmc: --queue-url is missing: the URL of the work queue\n"],
    ["queue stats --queue-url nonsense", 2, "write a URL like https://sqs."],
    ["deadletters redrive --queue-url http://127.0.0.1/1/q", 2, "tmc: say which: --key or --all\n"],
    ["deadletters redrive --queue-url http://127.0.0.1/1/q --key east", 2, "cluster|Kind/name"],
    ["deadletters list --queue-url http://127.0.0.1/1/q --limit 0", 2, "from 1 to 1000"],
    ["reconcile cluster east --logical-cluster 1k2x", 2, "tmc: --logical-cluster goes with --queue-url\n"],
  ])("answers %j with one line", async (command, code, words) => {
    const outcome = await tmc(command.split(" "), { env });
    expect(outcome).toMatchObject({ code, out: "" });
    expect(outcome.err).toContain(words);
    expect(outcome.err.trim().split("\n")).toHaveLength(1);
  });

  it("says in one line that a queue is not there", async () => {
    const outcome = await tmc(["queue", "stats", "--queue-url", `${urls.work}x`], { env });
    expect(outcome).toMatchObject({
      code: 1,
      err: `tmc: sqs: look at ${nameOfQueue(urls.work)}x: there is no such queue in this account and region (QueueDoesNotExist)\n`,
    });
  });

  it.each<[string, string | undefined]>([
    ["https://sqs.eu-west-1.amazonaws.com/1/q", "eu-west-1"],
    ["https://us-gov-west-1.queue.amazonaws.com/1/q", "us-gov-west-1"],
    ["http://127.0.0.1:4566/1/q", undefined],
  ])("reads the region of %s as %s", (url, region) => {
    expect(regionOf(url)).toBe(region);
  });
});

describe("tmc deadletters", () => {
  it("lists what was given up, why and since when", async () => {
    await queue().setAside(item("east"), "TypeError: x is not a function");
    await queue().setAside({ body: "?", groupId: "g" }, "message: is not JSON");
    const clock = { now: () => Date.now() + 300_000, after: () => () => {} };
    const { code, out } = await run("deadletters list", { clock });
    expect(code).toBe(0);
    expect(out).toMatch(/^KEY +SINCE +FAILURES +RECEIVES +CAUSE\n/);
    expect(out).toMatch(/^1k2x\|ClusterRegistration\/east +5m\S* +unforeseen 5 +1 +TypeError: x is not a function$/m);
    expect(out).toMatch(/^<unreadable> +5m\S* +<none> +1 +message: is not JSON$/m);
  });

  it("lists for programs, and says when there are more", async () => {
    for (const name of ["a", "b", "c"]) await queue().setAside(item(name), `bug of ${name}`);
    const { out, err } = await run("deadletters list -o json --limit 2");
    const document = JSON.parse(out);
    expect(document).toMatchObject({
      isAll: false,
      letters: [{ key: formatKey(item("a").key), cause: "bug of a" }, {}],
    });
    expect(err).toContain("there are more");
  });

  it("says that nothing was given up", async () => {
    expect(await run("deadletters list")).toEqual({ code: 0, out: "", err: "nothing was given up\n" });
  });

  it("sends one key again, and says when it was not given up", async () => {
    await queue().setAside(item("east"), "bug");
    await queue().setAside(item("west"), "bug");
    expect(await run(`deadletters redrive --key ${formatKey(item("east").key)}`)).toEqual({
      code: 0,
      out: "1 key was sent again\n",
      err: "",
    });
    expect(await sent()).toMatchObject([{ key: { name: "east" }, reason: "on-demand" }]);
    expect(await run("deadletters redrive --key 1k2x|ClusterRegistration/north")).toMatchObject({
      code: 1,
      err: "tmc: 1k2x|ClusterRegistration/north: was not given up\n",
    });
  });

  it("asks before it sends everything again", async () => {
    for (const name of ["a", "b"]) await queue().setAside(item(name), "bug");
    expect(await run("deadletters redrive --all")).toMatchObject({ code: 2 });
    expect(await run("deadletters redrive --all", { answer: false })).toEqual({
      code: 0,
      out: "",
      err: "tmc: nothing was changed\n",
    });
    expect(await sent()).toEqual([]);
    expect(await run("deadletters redrive --all", { answer: true })).toMatchObject({
      code: 0,
      out: "2 keys were sent again\n",
    });
    expect(await sent()).toHaveLength(2);
  });

  it("says what stays", async () => {
    await queue().setAside({ body: "?", groupId: "g" }, "message: is not JSON");
    const { out, err } = await run("deadletters redrive --all --yes");
    expect(out).toBe("0 keys were sent again\n");
    expect(err).toContain("1 stay");
  });
});

describe("tmc reconcile with a queue", () => {
  it("sends the key of an object in its logical cluster, and writes nothing", async () => {
    const address = { type: resourceTypes.clusters, name: "east" };
    const before = await workspace.client.get(address);
    const outcome = await workspace.run(`reconcile cluster east --workspace root:demo --queue-url ${urls.work}`, {
      env: { ...env, KUBECONFIG: workspace.kubeconfig },
    });
    expect(outcome).toEqual({
      code: 0,
      out: "clusterregistration.tmc.kcp.io/east was sent to the work queue\n",
      err: "",
    });
    const { name } = await resolveLogicalCluster(workspace.client, "root:demo");
    expect(await sent()).toMatchObject([
      { key: { logicalCluster: name, kind: "ClusterRegistration", name: "east" }, reason: "on-demand" },
    ]);
    const after = await workspace.client.get(address);
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it("needs no kcp when it is told the logical cluster", async () => {
    const outcome = await run("reconcile placement web --logical-cluster 1k2x");
    expect(outcome.code).toBe(0);
    expect(await sent()).toMatchObject([{ key: { logicalCluster: "1k2x", kind: "WorkloadPlacement", name: "web" } }]);
  });

  it("does not send what is not there", async () => {
    const outcome = await workspace.run(`reconcile cluster nope --queue-url ${urls.work}`, {
      env: { ...env, KUBECONFIG: workspace.kubeconfig },
    });
    expect(outcome).toMatchObject({ code: 1, err: 'tmc: ClusterRegistration "nope": there is none\n' });
    expect(await sent()).toEqual([]);
  });
});
