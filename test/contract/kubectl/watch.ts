import { expect, it } from "vitest";
import { eventually } from "../resources.ts";
import { header, type MakeKubectlRoom, table } from "./kubectl-room.ts";
import { aConfigMap, aDeployment } from "./manifests.ts";

const has = (pattern: RegExp) => (stdout: string) => (pattern.test(stdout) ? undefined : `no ${pattern}`);

export function kubectlWatchCases(room: MakeKubectlRoom, kind: "kcp" | "cluster"): void {
  it("prints a line for each change", async () => {
    const { ok, start } = await room();
    await ok("create -f -", { input: aConfigMap("m", { a: "1" }, { labels: { seen: "1" } }) });
    const watching = start("get cm -l seen --watch");
    try {
      await watching.saw(has(/^NAME +DATA +AGE\nm +1 +\d+s\n$/));
      await ok('patch cm m --type=merge -p {"data":{"b":"2"}}');
      await watching.saw(has(/^m +2 +\d+s$/m));
      await ok("create -f -", { input: aConfigMap("n", {}, { labels: { seen: "1" } }) });
      await watching.saw(has(/^n +0 +\d+s$/m));
    } finally {
      await watching.stop();
    }
  });

  it("prints what happened to each object", async () => {
    const { ok, start } = await room();
    await ok("create -f -", { input: aConfigMap("m", { a: "1" }, { labels: { seen: "1" } }) });
    const watching = start("get cm -l seen --watch --output-watch-events");
    try {
      await watching.saw(has(/^EVENT +NAME +DATA +AGE\nADDED +m +1 /));
      await ok("annotate cm m x=y");
      await watching.saw(has(/^MODIFIED +m +1 /m));
      await ok("label cm m seen-");
      await watching.saw(has(/^DELETED +m +1 /m));
    } finally {
      await watching.stop();
    }
  });

  it("prints our kinds as they change", async () => {
    const { ok, start, namespace } = await room();
    await ok("create -f -", {
      input: {
        apiVersion: "tmc.kcp.io/v1alpha1",
        kind: "WorkloadPlacement",
        metadata: { name: namespace },
        spec: { strategy: "Spread" },
      },
    });
    const watching = start(`get wp ${namespace} -w`);
    try {
      await watching.saw(has(/^NAME +STRATEGY +CLUSTERS +READY +REASON +AGE\n\S+ +Spread +\d+s\n$/));
      await ok(`patch wp ${namespace} --type=merge -p {"spec":{"strategy":"Affinity"}}`);
      await watching.saw(has(/ Affinity +\d+s\n$/));
    } finally {
      await watching.stop();
    }
  });

  it("prints changed objects whole", async () => {
    const { ok, start } = await room();
    await ok("create cm m");
    const watching = start("get cm m --watch-only -o jsonpath={.data.a};");
    try {
      // A change from before the watch is not shown, so change until one is.
      let rounds = 0;
      await eventually(async () => {
        rounds += 1;
        await ok(`patch cm m --type=merge -p {"data":{"a":"${rounds}"}}`);
        return has(/^(\d+;)+$/)(watching.output());
      });
    } finally {
      await watching.stop();
    }
  });

  it("prints events, the newest last", async () => {
    const { ok, namespace } = await room();
    await ok("create cm m");
    const uid = await ok("get cm m -o jsonpath={.metadata.uid}");
    const event = (reason: string, message: string, second: number) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `m.${reason.toLowerCase()}` },
      involvedObject: { apiVersion: "v1", kind: "ConfigMap", name: "m", namespace, uid },
      type: reason === "Broken" ? "Warning" : "Normal",
      reason,
      message,
      source: { component: "contract" },
      firstTimestamp: `2026-01-01T00:00:0${second}Z`,
      lastTimestamp: `2026-01-01T00:00:0${second}Z`,
      count: 1,
    });
    await ok("create -f -", { input: [event("Broken", "It broke.", 2), event("Made", "It was made.", 1)] });
    const printed = await ok("events");
    expect(header(printed)).toEqual(["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]);
    expect(table(printed)).toMatchObject([
      { TYPE: "Normal", REASON: "Made", OBJECT: "ConfigMap/m", MESSAGE: "It was made." },
      { TYPE: "Warning", REASON: "Broken", OBJECT: "ConfigMap/m", MESSAGE: "It broke." },
    ]);
    expect(table(await ok("events --types=Warning"))).toHaveLength(1);
    expect(table(await ok("get events"))).toEqual(
      expect.arrayContaining([expect.objectContaining({ REASON: "Made", OBJECT: "configmap/m" })]),
    );
    expect(await ok("describe cm m")).toMatch(/^ {2}Warning +Broken +\S+ +contract +It broke\.$/m);
  });

  if (kind === "cluster") {
    it("prints the events of a deployment", async () => {
      const { ok } = await room();
      await ok("create -f -", { input: aDeployment("web", 1) });
      await ok("rollout status deploy/web --timeout=30s");
      const events = table(await ok("events --for=deployment/web"));
      expect(events).toMatchObject([
        {
          TYPE: "Normal",
          REASON: "ScalingReplicaSet",
          OBJECT: "Deployment/web",
          MESSAGE: expect.stringMatching(/^Scaled up replica set web-\w+ from 0 to 1$/),
        },
      ]);
    });
  }
}
