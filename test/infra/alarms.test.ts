import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { alarmsOf } from "../../infra/alarms.ts";
import { functionNames, namesOf } from "../../infra/names.ts";
import { createEmfMetrics } from "../../lib/lambda/emf-metrics.ts";
import { formatRelayMetrics } from "../../lib/relay/observe/cloudwatch-metrics.ts";
import { listOf, objectOf, resourcesOf, type Synthesized, synthesize } from "./synthesized.ts";

const runbook = readFileSync(join(import.meta.dirname, "..", "..", "docs", "runbook.md"), "utf8");
/** Anchors of headings as on GitHub. */
const anchors = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"));
const input = { names: namesOf("test"), resyncMinutes: 30, relayTasks: 2, notReadyClusters: 1 };
const alarms = alarmsOf(input);
const alarmOf = (id: string) => alarms.find((alarm) => alarm.id === id);

describe("alarmsOf", () => {
  it("alarm ids are unique", () => {
    expect(new Set(alarms.map(({ id }) => id)).size).toBe(alarms.length);
  });

  it.each(alarms.map(({ id, anchor }) => [id, anchor]))("the alarm %s has a section in the runbook", (_, anchor) => {
    expect(anchors).toContain(anchor);
  });

  it("every section of the runbook about an alarm has an alarm", () => {
    const general: readonly string[] = [];
    expect(anchors.filter((anchor) => !general.includes(anchor)).toSorted()).toEqual(
      [...new Set<string>(alarms.map(({ anchor }) => anchor))].toSorted(),
    );
  });

  it.each(functionNames)("errors and throttles of %s have alarms", (name) => {
    expect(alarmOf(`errors-${name}`)?.dimensions).toEqual({ FunctionName: `tmc-test-${name}` });
    expect(alarmOf(`throttles-${name}`)?.dimensions).toEqual({ FunctionName: `tmc-test-${name}` });
  });

  it.each(["planner-missed", "resync-missed", "resync-left", "relay-tasks", "relay-blind"])(
    "missing data of %s is breaching",
    (id) => {
      expect(alarmOf(id)?.isMissingDataBreaching).toBe(true);
    },
  );

  it.each([
    [5, 300, 2],
    [30, 300, 12],
    [720, 300, 288],
    [721, 3_600, 25],
    [1_440, 3_600, 48],
  ])(
    "resync-missed and resync-left evaluate two resyncs of %i minutes within the limit of CloudWatch",
    (resyncMinutes, periodSeconds, periods) => {
      for (const id of ["resync-missed", "resync-left"]) {
        const alarm = alarmsOf({ ...input, resyncMinutes }).find((each) => each.id === id);
        expect(alarm).toMatchObject({ periodSeconds, periods, breachingPeriods: periods });
      }
      expect(periodSeconds * periods).toBeLessThanOrEqual(periodSeconds < 3_600 ? 86_400 : 604_800);
    },
  );

  it("an external relay has the alarms on the metrics that it reports, and none on tasks", () => {
    const all = alarmsOf({ ...input, relayTasks: 0 });
    expect(all.map(({ id }) => id).filter((id) => id.startsWith("relay"))).toEqual(["relay-blind", "relay-dirty"]);
  });

  it("relay-blind fires within five minutes after the last relay lost the upstream", () => {
    const { threshold = 0, periods = 0, periodSeconds = 0, statistic } = alarmOf("relay-blind") ?? {};
    expect(threshold + periods * periodSeconds).toBeLessThanOrEqual(300);
    expect(statistic, "one of two relays is enough").toBe("Maximum");
  });

  it.each(["relay-blind", "relay-dirty"])("%s uses the metric and dimensions that the relay writes", (id) => {
    const line: unknown = JSON.parse(formatRelayMetrics({ stage: "test", atMs: 0, dirtySeconds: 1, blindSeconds: 2 }));
    const [written] = listOf(objectOf(objectOf(line)._aws).CloudWatchMetrics).map(objectOf);
    const { namespace, metric: name, dimensions } = alarmOf(id) ?? {};
    expect(written).toMatchObject({ Namespace: namespace, Dimensions: [Object.keys(dimensions ?? {})] });
    expect(written?.Metrics).toContainEqual({ Name: name, Unit: "Seconds" });
    expect(objectOf(line)).toMatchObject(dimensions ?? {});
  });

  it.each([
    ["clusters-not-ready", { ready: "false" }],
    ["workspaces-unread", {}],
    ["resync-left", {}],
  ] as const)("%s uses the metric and dimensions that the functions write", (id, labels) => {
    const lines: string[] = [];
    const metrics = createEmfMetrics({ stage: "test", write: (line) => void lines.push(line) });
    const { namespace, metric: name = "", dimensions } = alarmOf(id) ?? {};
    if (name === "tmc_clusters") metrics.set(name, { ready: "false" }, 1);
    else if (name === "tmc_unread_workspaces" || name === "tmc_resync_left") metrics.set(name, {}, 1);
    metrics.flush();
    const line = objectOf(JSON.parse(lines[0] ?? "{}"));
    const [written] = listOf(objectOf(line._aws).CloudWatchMetrics).map(objectOf);
    expect(written?.Namespace).toBe(namespace);
    expect(listOf(listOf(written?.Dimensions)[0]).toSorted()).toEqual(Object.keys(dimensions ?? {}).toSorted());
    expect(line).toMatchObject({ ...dimensions, ...labels, [name]: 1 });
  });

  it("clusters-not-ready fires at the configured number of clusters", () => {
    const alarm = alarmsOf({ ...input, notReadyClusters: 7 }).find(({ id }) => id === "clusters-not-ready");
    expect(alarm).toMatchObject({ threshold: 7, comparison: "at least", periods: 10, isMissingDataBreaching: false });
  });
});

const existingTopic = "arn:aws:sns:eu-west-1:123456789012:paging";

describe("monitoring", () => {
  let made: Synthesized;
  beforeAll(() => {
    made = synthesize({ alarmEmail: "ops@example.com", alarmTopicArn: existingTopic });
  }, 120_000);
  const live = () => resourcesOf(made.observability, "AWS::CloudWatch::Alarm");

  it("the stack has every alarm with a link to its runbook section", () => {
    expect(
      live()
        .map(({ properties }) => properties.AlarmName)
        .toSorted(),
    ).toEqual(alarms.map(({ id }) => `tmc-test-${id}`).toSorted());
    for (const { properties } of live()) {
      const { anchor } = alarmOf(String(properties.AlarmName).replace("tmc-test-", "")) ?? {};
      expect(properties.AlarmDescription).toContain(`docs/runbook.md#${anchor}`);
    }
  });

  it("every alarm notifies the topic for e-mails and the existing topic when it is raised and when it is over", () => {
    const [topic] = resourcesOf(made.observability, "AWS::SNS::Topic");
    for (const { properties } of live()) {
      expect(properties.AlarmActions).toEqual([{ Ref: topic?.id }, existingTopic]);
      expect(properties.OKActions).toEqual([{ Ref: topic?.id }, existingTopic]);
    }
    expect(resourcesOf(made.observability, "AWS::SNS::Subscription")[0]?.properties).toMatchObject({
      Protocol: "email",
      Endpoint: "ops@example.com",
    });
  });

  it("the dashboard uses the dimensions of the functions' metrics", () => {
    const lines: string[] = [];
    const metrics = createEmfMetrics({ stage: "test", write: (line) => void lines.push(line) });
    metrics.add("tmc_reconcile_total", { kind: "ClusterRegistration", outcome: "done" });
    metrics.flush();
    const line = objectOf(JSON.parse(lines[0] ?? "{}"));
    const [definition] = listOf(objectOf(line._aws).CloudWatchMetrics).map(objectOf);
    const dimensions = listOf(listOf(definition?.Dimensions)[0]).map(String);
    const [dashboard] = resourcesOf(made.observability, "AWS::CloudWatch::Dashboard");
    const [, schema = ""] =
      /SEARCH\('\{([^}]+)\} service=[^']+tmc_reconcile_total/.exec(JSON.stringify(dashboard)) ?? [];
    expect(schema.split(",").toSorted()).toEqual([String(definition?.Namespace), ...dimensions].toSorted());
    expect(line.service).toBe("tmc-test");
    expect(JSON.stringify(dashboard)).toContain("tmc-test");
  });
});
