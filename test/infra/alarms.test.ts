import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { alarmsOf } from "../../infra/alarms.ts";
import { functionNames, namesOf } from "../../infra/names.ts";
import { createEmfMetrics } from "../../lib/lambda/emf-metrics.ts";
import { formatDirtyKeysLine } from "../../lib/relay/observe/dirty-keys-metric.ts";
import { listOf, objectOf, resourcesOf, type Synthesized, synthesize } from "./synthesized.ts";

const runbook = readFileSync(join(import.meta.dirname, "..", "..", "docs", "runbook.md"), "utf8");
/** Anchors of headings as on GitHub. */
const anchors = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"));
const alarms = alarmsOf({ names: namesOf("test"), resyncMinutes: 30, relayTasks: 2 });
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

  it.each(["planner-missed", "resync-missed", "relay-tasks"])("missing data of %s is breaching", (id) => {
    expect(alarmOf(id)?.isMissingDataBreaching).toBe(true);
  });

  it.each([
    [5, 300, 2],
    [30, 300, 12],
    [720, 300, 288],
    [721, 3_600, 25],
    [1_440, 3_600, 48],
  ])(
    "resync-missed evaluates two resyncs of %i minutes within the limit of CloudWatch",
    (resyncMinutes, periodSeconds, periods) => {
      const all = alarmsOf({ names: namesOf("test"), resyncMinutes, relayTasks: 0 });
      const missed = all.find(({ id }) => id === "resync-missed");
      expect(missed).toMatchObject({ periodSeconds, periods, breachingPeriods: periods });
      expect(periodSeconds * periods).toBeLessThanOrEqual(periodSeconds < 3_600 ? 86_400 : 604_800);
    },
  );

  it("an external relay has no alarms", () => {
    const all = alarmsOf({ names: namesOf("test"), resyncMinutes: 30, relayTasks: 0 });
    expect(all.filter(({ id }) => id.startsWith("relay"))).toEqual([]);
  });

  it("relay-dirty uses the metric and dimensions that the relay writes", () => {
    const line: unknown = JSON.parse(formatDirtyKeysLine({ stage: "test", atMs: 0, oldestSeconds: 1 }));
    const [metric] = listOf(objectOf(objectOf(line)._aws).CloudWatchMetrics).map(objectOf);
    const { namespace, metric: name, dimensions } = alarmOf("relay-dirty") ?? {};
    expect({
      Namespace: namespace,
      Dimensions: [Object.keys(dimensions ?? {})],
      Metrics: [{ Name: name, Unit: "Seconds" }],
    }).toEqual(metric);
    expect(objectOf(line)).toMatchObject(dimensions ?? {});
  });
});

describe("monitoring", () => {
  let made: Synthesized;
  beforeAll(() => {
    made = synthesize({ alarmEmail: "ops@example.com" });
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

  it("every alarm notifies the topic when it is raised and when it is over", () => {
    const [topic] = resourcesOf(made.observability, "AWS::SNS::Topic");
    for (const { properties } of live()) {
      expect(properties.AlarmActions).toEqual([{ Ref: topic?.id }]);
      expect(properties.OKActions).toEqual([{ Ref: topic?.id }]);
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
