import { MetricUnit, Metrics as PowertoolsMetrics } from "@aws-lambda-powertools/metrics";
import { catalogue, type MetricDefinition, type MetricName } from "../observe/catalogue.ts";
import type { Metrics } from "../observe/metrics.ts";

/** Metrics of a function. They cannot be scraped, so they are logged in CloudWatch's embedded metric format. */
export interface EmfMetrics extends Pick<Metrics, "add" | "set" | "observe"> {
  /** Writes what was recorded since the last flush. */
  flush(): void;
}

export type EmfMetricsOptions = Readonly<{
  stage: string;
  /** Writes one line, including its line break. */
  write: (line: string) => void;
}>;

/** The CloudWatch namespace of the functions' metrics. */
export const emfNamespace = "TMC";
/** The value of the dimension `service`, which every metric of a function has. */
export const emfServiceOf = (stage: string): string => `tmc-${stage}`;
/** CloudWatch accepts 100 values of a metric per line; at 100, Powertools would write the line by itself. */
const maxValuesPerLine = 99;

type Series = { readonly definition: MetricDefinition; values: number[] };

/**
 * Creates metrics that are written as log lines, under the names of the catalogue.
 *
 * CloudWatch bills each combination of dimensions. The dimensions are the catalogue's labels, which have closed lists of
 * values, and never a tenant or a cluster. Status codes are grouped by hundreds.
 */
export function createEmfMetrics({ stage, write }: EmfMetricsOptions): EmfMetrics {
  const powertools = new PowertoolsMetrics({ namespace: emfNamespace, serviceName: emfServiceOf(stage) });
  /** By dimensions: a line has one combination only. */
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
    const maxCount = Math.max(...[...group.values()].map(({ values }) => values.length));
    for (let start = 0; start < maxCount; start += maxValuesPerLine) {
      for (const [label, value] of dimensions) powertools.addDimension(label, value);
      for (const [name, { definition, values }] of group) {
        for (const value of values.slice(start, start + maxValuesPerLine))
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
      for (const [id, group] of recorded) writeGroup(JSON.parse(id) as [string, string][], group); // as serialized above
    },
  };
}

function unitOf({ unit }: MetricDefinition): (typeof MetricUnit)[keyof typeof MetricUnit] {
  return unit === "seconds" ? MetricUnit.Seconds : unit === "bytes" ? MetricUnit.Bytes : MetricUnit.Count;
}
