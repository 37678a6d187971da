import {
  type CounterName,
  catalogue,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type LabelValues,
  type MetricDefinition,
  type MetricName,
} from "./catalogue.ts";

/** The metrics of a process. Only metrics of the catalogue can be recorded, with exactly their labels. */
export interface Metrics {
  add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Calls `read` before each rendering, for gauges that are cheaper to read than to track. Returns a function that unregisters it. */
  onScrape(read: (metrics: Metrics) => void): () => void;
  /** Renders all series in the Prometheus text format. */
  render(): string;
}

export type MetricsOptions = Readonly<{
  /** Number of tenants that get series of their own; all others share the tenant "other". @default 0, no tenant label */
  tenants?: number;
}>;

/** The content type of `render`. */
export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/** Label value of everything that is not in the closed list. */
const otherValue = "other";
/** Status codes of API servers and proxies in front of them; "none" if there was no response. */
const httpCodes: readonly string[] = [
  ...["101", "200", "201", "202", "204", "206"],
  ...["301", "302", "303", "304", "307", "308"],
  ...["400", "401", "402", "403", "404", "405", "406", "407", "408", "409", "410", "411", "412", "413", "414", "415"],
  ...["416", "417", "421", "422", "423", "424", "425", "426", "428", "429", "431", "451"],
  ...["500", "501", "502", "503", "504", "505", "507", "508", "511"],
  "none",
];

/** A lone surrogate, which no well-formed value contains. */
const valueSeparator = "\ud800";

/** Of a histogram, `value` is the sum and `counts` the number of observations per bucket, not cumulative. */
type Series = { readonly labels: string; value: number; counts: number[] };

/** Creates an empty set of metrics. Counters without labels are present from the start, at zero. */
export function createMetrics({ tenants = 0 }: MetricsOptions = {}): Metrics {
  const families = new Map<MetricName, Map<string, Series>>();
  /** Index of the series by their label values, because every request and every reconcile reads one. */
  const seriesByValues = new Map<MetricName, Map<string, Series>>();
  const readers = new Set<(metrics: Metrics) => void>();
  const seen = new Map<string, Set<string>>();

  /** Accepts the first `max` values of a label; all further values become "other". */
  const limitValues = (label: string, value: string, max: number): string => {
    const known = seen.get(label) ?? new Set();
    seen.set(label, known);
    if (!known.has(value) && known.size >= max) return otherValue;
    known.add(value);
    return value;
  };
  const boundValue = (label: string, value: string, values: LabelValues): string => {
    if (typeof values === "object" && "few" in values) return limitValues(label, value, values.few);
    return listOf(values).includes(value) ? value : otherValue;
  };

  const seriesOf = (name: MetricName, labels: object): Series => {
    const definition: MetricDefinition = catalogue[name];
    const isSplit = definition.byTenant === true && tenants > 0;
    const labelValues = [...Object.keys(definition.labels), ...(isSplit ? ["tenant"] : [])].map((label) => {
      const value: unknown = Reflect.get(labels, label);
      // Different lone surrogates are encoded as the same character, which would give two series with one name.
      return typeof value === "string" ? value.toWellFormed() : "";
    });
    const found = seriesByValues.get(name) ?? new Map<string, Series>();
    seriesByValues.set(name, found);
    const key = labelValues.join(valueSeparator);
    const known = found.get(key);
    if (known !== undefined) return known;

    const pairs = Object.entries(definition.labels).map(([label, values], at): [string, string] => [
      label,
      boundValue(`${name} ${label}`, labelValues[at] ?? "", values),
    ]);
    if (isSplit) pairs.push(["tenant", limitValues("tenant", labelValues.at(-1) ?? "", tenants)]);
    const series = findOrCreateSeries(name, definition, pairs);
    // Values that became "other" are not indexed: there can be any number of them.
    if (pairs.every(([, value], at) => value === labelValues[at])) found.set(key, series);
    return series;
  };
  const findOrCreateSeries = (
    name: MetricName,
    definition: MetricDefinition,
    pairs: readonly (readonly [string, string])[],
  ): Series => {
    const text = pairs.map(([label, value]) => `${label}="${escapeValue(value)}"`).join(",");
    const family = families.get(name) ?? new Map<string, Series>();
    families.set(name, family);
    let series = family.get(text);
    if (series === undefined) {
      series = {
        labels: text,
        value: 0,
        counts: [...(definition.buckets ?? []), Number.POSITIVE_INFINITY].map(() => 0),
      };
      family.set(text, series);
    }
    return series;
  };

  const metrics: Metrics = {
    add: (name, labels, by = 1) => {
      // Prometheus takes a counter that decreases for a restart.
      if (by > 0) seriesOf(name, labels).value += by;
    },
    set: (name, labels, value) => {
      seriesOf(name, labels).value = value;
    },
    observe: (name, labels, value) => {
      if (Number.isNaN(value)) return;
      const series = seriesOf(name, labels);
      const { buckets = [] }: MetricDefinition = catalogue[name];
      const found = buckets.findIndex((bound) => value <= bound);
      const bucket = found < 0 ? buckets.length : found;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.value += value;
    },
    onScrape: (read) => {
      readers.add(read);
      return () => readers.delete(read);
    },
    render: () => {
      for (const read of readers) read(metrics);
      const lines: string[] = [];
      for (const name of namesOf(catalogue)) {
        const definition: MetricDefinition = catalogue[name];
        const family = families.get(name);
        if (family === undefined) continue;
        lines.push(`# HELP ${name} ${escapeHelp(definition.help)}`, `# TYPE ${name} ${definition.type}`);
        for (const series of family.values()) lines.push(...linesOf(name, definition, series));
      }
      return `${lines.join("\n")}\n`;
    },
  };
  for (const name of namesOf(catalogue)) {
    const { type, labels, byTenant }: MetricDefinition = catalogue[name];
    if (type === "counter" && Object.keys(labels).length === 0 && !byTenant) seriesOf(name, {});
  }
  return metrics;
}

/** Upper bound of the series of a process, buckets included, without the tenant label. */
export function seriesBudget(): number {
  return Object.values(catalogue).reduce((sum, definition: MetricDefinition) => {
    const values = Object.values(definition.labels).map((one) =>
      typeof one === "object" && "few" in one ? one.few + 1 : listOf(one).length + 1,
    );
    const combinations = values.reduce((product, count) => product * count, 1);
    // A histogram also has the +Inf bucket, a sum and a count.
    return sum + combinations * (definition.type === "histogram" ? (definition.buckets?.length ?? 0) + 3 : 1);
  }, 0);
}

function listOf(values: readonly string[] | "http-code"): readonly string[] {
  return values === "http-code" ? httpCodes : values;
}

function namesOf<Name extends string>(record: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(record) as Name[]; // the record is a constant and has no other names
}

function linesOf(name: MetricName, { type, buckets = [] }: MetricDefinition, series: Series): string[] {
  const { labels, value, counts } = series;
  const braced = labels === "" ? "" : `{${labels}}`;
  if (type !== "histogram") return [`${name}${braced} ${formatNumber(value)}`];
  let sum = 0;
  const lines = [...buckets, Number.POSITIVE_INFINITY].map((bound, index) => {
    sum += counts[index] ?? 0;
    const all = [...(labels === "" ? [] : [labels]), `le="${formatNumber(bound)}"`].join(",");
    return `${name}_bucket{${all}} ${sum}`;
  });
  return [...lines, `${name}_sum${braced} ${formatNumber(value)}`, `${name}_count${braced} ${sum}`];
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
