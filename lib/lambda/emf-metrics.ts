import { MetricUnit, Metrics as PowertoolsMetrics } from "@aws-lambda-powertools/metrics";
import { catalogue, type MetricDefinition, type MetricName } from "../observe/catalogue.ts";
import type { Metrics } from "../observe/metrics.ts";

/** The metrics of a function: nobody can ask for them, so they leave with the log, in CloudWatch's embedded format. */
export interface EmfMetrics extends Pick<Metrics, "add" | "set" | "observe"> {
  /** Writes what was recorded since the last time. */
  flush(): void;
}

export type EmfMetricsOptions = Readonly<{
  stage: string;
  /** Takes one line, its end included. */
  write: (line: string) => void;
}>;

/** All metrics of TMC, in CloudWatch. */
const namespace = "TMC";
/** CloudWatch takes no more values of one metric from one line, and the library would write by itself at that many. */
const mostValues = 99;

type Series = { readonly definition: MetricDefinition; values: number[] };

/**
 * Creates metrics that are written as lines. Only what is in our catalogue can be recorded, under the same names.
 *
 * Each combination of dimensions is a metric that is paid for: they are the catalogue's labels, of closed lists all, and
 * never a tenant or a cluster. Status codes are counted by their hundred.
 */
export function createEmfMetrics({ stage, write }: EmfMetricsOptions): EmfMetrics {
  const powertools = new PowertoolsMetrics({ namespace, serviceName: `tmc-${stage}` });
  /** By the text of the dimensions: one line can speak of one combination only. */
  const groups = new Map<string, Map<MetricName, Series>>();

  const seriesOf = (name: MetricName, labels: object): Series => {
    const definition: MetricDefinition = catalogue[name];
    const dimensions = Object.entries(definition.labels).map(([label, values]) => {
      const value: unknown = Reflect.get(labels, label);
      const text = typeof value === "string" && value !== "" ? value : "other";
      return [label, values === "http-code" ? text.replace(/^(\d)\d\d$/, "$1xx") : text];
    });
    const id = JSON.stringify(dimensions);
    const group = groups.get(id) ?? new Map<MetricName, Series>();
    groups.set(id, group);
    const series = group.get(name) ?? { definition, values: [] };
    group.set(name, series);
    return series;
  };

  const writeGroup = (dimensions: readonly (readonly [string, string])[], group: ReadonlyMap<MetricName, Series>) => {
    const longest = Math.max(...[...group.values()].map(({ values }) => values.length));
    for (let from = 0; from < longest; from += mostValues) {
      for (const [label, value] of dimensions) powertools.addDimension(label, value);
      for (const [name, { definition, values }] of group) {
        for (const value of values.slice(from, from + mostValues))
          powertools.addMetric(name, unitOf(definition), value);
      }
      write(`${JSON.stringify(powertools.serializeMetrics())}\n`);
      powertools.clearMetrics();
      powertools.clearDimensions();
    }
  };

  return {
    add: (name, labels, by = 1) => {
      if (!(by > 0)) return;
      const series = seriesOf(name, labels);
      series.values = [(series.values[0] ?? 0) + by];
    },
    set: (name, labels, value) => {
      seriesOf(name, labels).values = [value];
    },
    observe: (name, labels, value) => {
      if (Number.isFinite(value)) seriesOf(name, labels).values.push(value);
    },
    flush: () => {
      const recorded = [...groups];
      groups.clear();
      for (const [id, group] of recorded) writeGroup(JSON.parse(id) as [string, string][], group); // as it was written above
    },
  };
}

function unitOf({ unit }: MetricDefinition): (typeof MetricUnit)[keyof typeof MetricUnit] {
  return unit === "seconds" ? MetricUnit.Seconds : unit === "bytes" ? MetricUnit.Bytes : MetricUnit.Count;
}
