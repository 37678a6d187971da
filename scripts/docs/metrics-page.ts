import { catalogue, type LabelValues, type MetricDefinition } from "../../lib/observe/catalogue.ts";
import { seriesBudget } from "../../lib/observe/metrics.ts";
import { type Alias, aliases } from "./metric-aliases.ts";

/** The page that lists all metrics, as Markdown. */
export function metricsPage(): string {
  return `${[
    "# Metrics",
    "<!-- Made from lib/observe by `npm run generate`; change it there. -->",
    "`/metrics` on `--metrics-port` serves these in Prometheus's text format. A metric is there once it has been recorded.",
    table(
      ["Name", "Type", "Unit", "Labels", "What it says"],
      Object.entries(catalogue).map(([name, definition]) => metricRow(name, definition)),
    ),
    `Labels have closed lists of values; what is outside of its list is counted as \`other\`, and names of objects are never labels. So a process has at most ${seriesBudget()} series, however many tenants, clusters and placements there are. Metrics marked "by tenant" get a label \`tenant\` where the operator asks for so many tenants; all others are then \`other\`.`,
    "## Names used elsewhere",
    "Other descriptions of TMC use these names; some of them for several things at once, or for gauges that end in `_total`.",
    table(
      ["Name", "Here"],
      Object.entries(aliases).map(([name, alias]) => [code(name), aliasWords(alias)]),
    ),
  ].join("\n\n")}\n`;
}

function metricRow(name: string, { type, unit, labels, help, byTenant }: MetricDefinition): readonly string[] {
  const words = Object.entries(labels).map(([label, values]) => `${code(label)}${valueWords(values)}`);
  return [code(name), type, unit, [...words, ...(byTenant === true ? ["by tenant"] : [])].join("; "), help];
}

function valueWords(values: LabelValues): string {
  if (values === "http-code") return ": an HTTP status code, or `none`";
  return "few" in values ? "" : `: ${values.map(code).join(", ")}`;
}

function aliasWords(alias: Alias): string {
  return "now" in alias ? alias.now.map(code).join(", ") : alias.without;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(words: string): string {
  return `\`${words}\``;
}
