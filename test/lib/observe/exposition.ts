/** A family of metrics as a scraper reads it. */
export type Family = { name: string; type: string; help: string; samples: Sample[] };
export type Sample = Readonly<{ name: string; labels: Readonly<Record<string, string>>; value: number }>;

/**
 * Reads Prometheus's text format as strictly as its description: each family once, its help and type before its
 * samples, no series twice, every sample of a family whose type allows it, histograms that add up. Throws what is wrong.
 */
export function parseExposition(text: string): Map<string, Family> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Map<string, Family>();
  const series = new Set<string>();
  let current: Family | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line);
    if (comment !== null) {
      const [, what, name = "", words = ""] = comment;
      if (what === "HELP") {
        if (families.has(name)) throw new Error(`${name} comes twice`);
        if (/\\(?![\\n])/.test(words)) throw new Error(`stray backslash: ${line}`);
        current = { name, type: "", help: words, samples: [] };
        families.set(name, current);
      } else {
        if (current?.name !== name) throw new Error(`type of ${name} without its help`);
        if (!["counter", "gauge", "histogram"].includes(words)) throw new Error(`no type: ${line}`);
        current.type = words;
      }
      continue;
    }
    const sample = sampleOf(line);
    if (current === undefined || current.type === "") throw new Error(`sample before its type: ${line}`);
    const endings = current.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
    if (!endings.some((ending) => sample.name === `${current?.name}${ending}`)) throw new Error(`stranger: ${line}`);
    const identity = JSON.stringify([sample.name, Object.entries(sample.labels).toSorted()]);
    if (series.has(identity)) throw new Error(`series twice: ${line}`);
    series.add(identity);
    if (current.type === "counter" && !(sample.value >= 0)) throw new Error(`a counter below zero: ${line}`);
    current.samples.push(sample);
  }
  for (const family of families.values()) {
    if (family.type === "histogram") checkHistogram(family);
  }
  return families;
}

function sampleOf(line: string): Sample {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^\n]*)\})? (\S+)$/.exec(line);
  if (match === null) throw new Error(`no sample: ${line}`);
  const [, name = "", inside, number = ""] = match;
  const value =
    number === "+Inf" ? Number.POSITIVE_INFINITY : number === "-Inf" ? Number.NEGATIVE_INFINITY : Number(number);
  if (Number.isNaN(value) && number !== "NaN") throw new Error(`no number: ${line}`);
  const labels: Record<string, string> = {};
  let left = inside ?? "";
  while (left !== "") {
    const pair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(left);
    if (pair === null) throw new Error(`no labels: ${line}`);
    const [whole, label = "", raw = ""] = pair;
    if (label in labels) throw new Error(`label twice: ${line}`);
    labels[label] = raw.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
    left = left.slice(whole.length);
  }
  return { name, labels, value };
}

function checkHistogram({ name, samples }: Family): void {
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const [labels, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels: { le } }) => (le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le)));
    const counts = buckets.map(({ value }) => value);
    const rises = (list: readonly number[], least: number) =>
      list.every((value, index) => index === 0 || value - (list[index - 1] ?? 0) >= least);
    if (!rises(bounds, Number.MIN_VALUE) || bounds.at(-1) !== Number.POSITIVE_INFINITY)
      throw new Error(`${name}${labels}: bounds`);
    if (!rises(counts, 0)) throw new Error(`${name}${labels}: counts fall`);
    const count = group.find((sample) => sample.name === `${name}_count`);
    if (count === undefined || count.value !== counts.at(-1)) throw new Error(`${name}${labels}: count`);
    if (!group.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name}${labels}: no sum`);
  }
}
