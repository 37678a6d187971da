import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { alarmsOf } from "../../infra/alarms.ts";
import { functionNames, namesOf } from "../../infra/names.ts";
import { createEmfMetrics } from "../../lib/lambda/emf-metrics.ts";
import { formatDirtyLine } from "../../lib/relay/dirty-keys-log.ts";
import { listOf, objectOf, resourcesOf, type Synthesized, synthesize } from "./synthesized.ts";

const runbook = readFileSync(join(import.meta.dirname, "..", "..", "docs", "runbook.md"), "utf8");
/** Anchors as GitHub makes them of headings. */
const anchors = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"));
const alarms = alarmsOf({ names: namesOf("test"), resyncMinutes: 30, relayTasks: 2 });
const alarmOf = (id: string) => alarms.find((alarm) => alarm.id === id);

describe("alarmsOf", () => {
  it("names each alarm once", () => {
    expect(new Set(alarms.map(({ id }) => id)).size).toBe(alarms.length);
  });

  it.each(alarms.map(({ id, anchor }) => [id, anchor]))("%s has its section in the runbook", (_, anchor) => {
    expect(anchors).toContain(anchor);
  });

  it("leaves no section of the runbook without an alarm", () => {
    const general = ["where-to-look"];
    expect(anchors.filter((anchor) => !general.includes(anchor)).toSorted()).toEqual(
      [...new Set<string>(alarms.map(({ anchor }) => anchor))].toSorted(),
    );
  });

  it.each(functionNames)("watches %s for errors and for want of concurrency", (name) => {
    expect(alarmOf(`errors-${name}`)?.dimensions).toEqual({ FunctionName: `tmc-test-${name}` });
    expect(alarmOf(`throttles-${name}`)?.dimensions).toEqual({ FunctionName: `tmc-test-${name}` });
  });

  it.each(["planner-missed", "resync-missed", "relay-tasks"])("takes silence of %s for what it is", (id) => {
    expect(alarmOf(id)?.silenceIsWrong).toBe(true);
  });

  it.each([
    [5, 300, 2],
    [30, 300, 12],
    [720, 300, 288],
    [721, 3_600, 25],
    [1_440, 3_600, 48],
  ])("waits for two rounds of %i minutes, as far back as CloudWatch looks", (resyncMinutes, periodSeconds, periods) => {
    const all = alarmsOf({ names: namesOf("test"), resyncMinutes, relayTasks: 0 });
    const missed = all.find(({ id }) => id === "resync-missed");
    expect(missed).toMatchObject({ periodSeconds, periods, wrongPeriods: periods });
    expect(periodSeconds * periods).toBeLessThanOrEqual(periodSeconds < 3_600 ? 86_400 : 604_800);
  });

  it("says nothing of a relay that runs elsewhere", () => {
    const all = alarmsOf({ names: namesOf("test"), resyncMinutes: 30, relayTasks: 0 });
    expect(all.filter(({ id }) => id.startsWith("relay"))).toEqual([]);
  });

  it("looks for the age of what a relay holds where the relay says it", () => {
    const line: unknown = JSON.parse(formatDirtyLine({ stage: "test", atMs: 0, oldestSeconds: 1 }));
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

  it("has every alarm, each with the way to its section", () => {
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

  it("tells when an alarm goes off, and when it is over", () => {
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

  it("shows metrics of the functions under the dimensions that they have", () => {
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
