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

/** The numbers of a process. Only what is in the catalogue can be recorded, with exactly its labels. */
export interface Metrics {
  add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Has `read` set gauges before each rendering, for what is cheaper to ask than to follow; the answer takes it back. */
  onScrape(read: (metrics: Metrics) => void): () => void;
  /** All series in Prometheus's text format. */
  render(): string;
}

export type MetricsOptions = Readonly<{
  /** Splits by tenant what can be split, for so many tenants; all others are one called "other". @default 0, no split */
  tenants?: number;
}>;

/** The content type of what `render` gives. */
export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/** What is counted under no known value of a label. */
const other = "other";
/** The codes that API servers and what stands before them answer with; "none" where nothing answered. */
const httpCodes: readonly string[] = [
  ...["101", "200", "201", "202", "204", "206"],
  ...["301", "302", "303", "304", "307", "308"],
  ...["400", "401", "402", "403", "404", "405", "406", "407", "408", "409", "410", "411", "412", "413", "414", "415"],
  ...["416", "417", "421", "422", "423", "424", "425", "426", "428", "429", "431", "451"],
  ...["500", "501", "502", "503", "504", "505", "507", "508", "511"],
  "none",
];

/** Half a character, which is in no value. */
const between = "\ud800";

/** Of a histogram, `value` is the sum, and `counts` says how many fell between each bound and the one before. */
type Series = { readonly labels: string; value: number; counts: number[] };

/** Creates an empty set of metrics; counters without labels are there from the beginning, at zero. */
export function createMetrics({ tenants = 0 }: MetricsOptions = {}): Metrics {
  const families = new Map<MetricName, Map<string, Series>>();
  /** The series again, by the values that are given: that is asked at every request and every work. */
  const remembered = new Map<MetricName, Map<string, Series>>();
  const readers = new Set<(metrics: Metrics) => void>();
  const seen = new Map<string, Set<string>>();

  /** A value that a label may have; at most so many different ones of those that are not listed. */
  const fewOf = (place: string, value: string, most: number): string => {
    const known = seen.get(place) ?? new Set();
    seen.set(place, known);
    if (!known.has(value) && known.size >= most) return other;
    known.add(value);
    return value;
  };
  const bounded = (place: string, value: string, values: LabelValues): string => {
    if (typeof values === "object" && "few" in values) return fewOf(place, value, values.few);
    return listOf(values).includes(value) ? value : other;
  };

  const seriesOf = (name: MetricName, labels: object): Series => {
    const definition: MetricDefinition = catalogue[name];
    const isSplit = definition.byTenant === true && tenants > 0;
    const given = [...Object.keys(definition.labels), ...(isSplit ? ["tenant"] : [])].map((label) => {
      const value: unknown = Reflect.get(labels, label);
      // Two halves of characters become the same sign on the wire, and then two series one.
      return typeof value === "string" ? value.toWellFormed() : "";
    });
    const found = remembered.get(name) ?? new Map<string, Series>();
    remembered.set(name, found);
    const key = given.join(between);
    const known = found.get(key);
    if (known !== undefined) return known;

    const pairs = Object.entries(definition.labels).map(([label, values], at): [string, string] => [
      label,
      bounded(`${name} ${label}`, given[at] ?? "", values),
    ]);
    if (isSplit) pairs.push(["tenant", fewOf("tenant", given.at(-1) ?? "", tenants)]);
    const series = seriesWith(name, definition, pairs);
    // Of values that became "other" there may be any number.
    if (pairs.every(([, value], at) => value === given[at])) found.set(key, series);
    return series;
  };
  const seriesWith = (
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
      // A counter that falls is taken for a restart by whoever reads it.
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

/** The most series that a process can have, buckets included; without the split by tenant. */
export function seriesBudget(): number {
  return Object.values(catalogue).reduce((sum, definition: MetricDefinition) => {
    const values = Object.values(definition.labels).map((one) =>
      typeof one === "object" && "few" in one ? one.few + 1 : listOf(one).length + 1,
    );
    const combinations = values.reduce((product, count) => product * count, 1);
    // A histogram also has the bucket without a bound, a sum and a count.
    return sum + combinations * (definition.type === "histogram" ? (definition.buckets?.length ?? 0) + 3 : 1);
  }, 0);
}

function listOf(values: readonly string[] | "http-code"): readonly string[] {
  return values === "http-code" ? httpCodes : values;
}

function namesOf<Name extends string>(record: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(record) as Name[]; // the record is a constant: it has no other names
}

function linesOf(name: MetricName, { type, buckets = [] }: MetricDefinition, series: Series): string[] {
  const { labels, value, counts } = series;
  const braced = labels === "" ? "" : `{${labels}}`;
  if (type !== "histogram") return [`${name}${braced} ${number(value)}`];
  let sum = 0;
  const lines = [...buckets, Number.POSITIVE_INFINITY].map((bound, index) => {
    sum += counts[index] ?? 0;
    const all = [...(labels === "" ? [] : [labels]), `le="${number(bound)}"`].join(",");
    return `${name}_bucket{${all}} ${sum}`;
  });
  return [...lines, `${name}_sum${braced} ${number(value)}`, `${name}_count${braced} ${sum}`];
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
