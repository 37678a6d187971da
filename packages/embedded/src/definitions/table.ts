import type { KubeObject, ListMeta } from "@tmc/kube/kube-object.ts";
import type { PrinterColumn, ResourceDefinition } from "./definition.ts";

export type Cell = string | number | boolean | null;

/** The response to a request for a table (`kubectl get`). */
export type Table = {
  kind: "Table";
  apiVersion: "meta.k8s.io/v1";
  metadata: ListMeta;
  columnDefinitions: { name: string; type: string; format: string; description: string; priority: number }[];
  rows: { cells: Cell[]; object?: KubeObject }[];
};

export type TableOptions = Readonly<{
  /** Milliseconds since the epoch; ages are relative to this time. */
  now: number;
  /** The object in each row. @default "Metadata" */
  includeObject?: "None" | "Metadata" | "Object" | undefined;
  listMeta?: ListMeta | undefined;
  /** Omits the column definitions, as in the second and later events of a watch. */
  withoutColumns?: boolean | undefined;
}>;

/** Renders objects as the table that `kubectl get` prints. */
export function toTable(
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
  { now, includeObject = "Metadata", listMeta = {}, withoutColumns = false }: TableOptions,
): Table {
  const columns = columnsOf(definition);
  const printers = columns.map((column) => cellPrinter(column));
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { ...listMeta },
    columnDefinitions: withoutColumns
      ? []
      : columns.map(({ name, type, format = "", description = "", priority = 0 }) => ({
          name,
          type,
          format,
          description,
          priority,
        })),
    rows: objects.map((object) => ({
      cells: printers.map((print) => print(object, now)),
      ...rowObject(object, includeObject),
    })),
  };
}

function rowObject(object: KubeObject, include: "None" | "Metadata" | "Object"): { object?: KubeObject } {
  if (include === "None") return {};
  if (include === "Object") return { object };
  return { object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata } };
}

const nameDescription =
  "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const creationDescription =
  "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

const nameColumn: PrinterColumn = {
  name: "Name",
  type: "string",
  format: "name",
  description: nameDescription,
  cell: (object) => object.metadata.name ?? "",
};
const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  description: creationDescription,
  jsonPath: ".metadata.creationTimestamp",
};

/** Built-in types define their name column. Custom types get one, and an age column if they define no columns. */
function columnsOf({ columns }: ResourceDefinition): readonly PrinterColumn[] {
  if (columns.some(({ cell }) => cell !== undefined)) return columns;
  return columns.length === 0 ? [nameColumn, ageColumn] : [nameColumn, ...columns];
}

function cellPrinter(column: PrinterColumn): (object: KubeObject, now: number) => Cell {
  if (column.cell !== undefined) return column.cell;
  const steps = parseJsonPath(column.jsonPath ?? "");
  return (object, now) => {
    const value = steps === undefined ? undefined : findAll([object], steps)[0];
    if (value === undefined) return null;
    return formatCell(column.type, value, now);
  };
}

function formatCell(type: PrinterColumn["type"], value: unknown, now: number): Cell {
  switch (type) {
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date": {
      if (typeof value !== "string") return null;
      return Number.isNaN(Date.parse(value)) ? "<invalid>" : formatTimestampAge(value, now);
    }
    default:
      return formatText(value);
  }
}

function formatText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null) return "null";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Formats the time since a timestamp as kubectl does; `<unknown>` if there is none. */
export function formatTimestampAge(timestamp: unknown, now: number): string {
  if (typeof timestamp !== "string" || timestamp === "") return "<unknown>";
  return formatDuration(now - Date.parse(timestamp));
}

/** Formats a duration as kubectl does: `45s`, `5m30s`, `3d4h`. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return formatTwoUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return formatTwoUnits(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return formatTwoUnits(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? formatTwoUnits(years, "y", days % 365, "d") : `${years}y`;
}

function formatTwoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

type Step =
  | Readonly<{ kind: "field"; name: string }>
  | Readonly<{ kind: "index"; at: number }>
  | Readonly<{ kind: "all" }>
  | Readonly<{ kind: "filter"; path: readonly Step[]; operator: string; expected: unknown }>;

/** Evaluates a simple JSONPath as kubectl and printer columns use it; returns nothing for an unsupported path. */
export function findByJsonPath(value: unknown, path: string): unknown[] {
  const steps = parseJsonPath(path);
  return steps === undefined ? [] : findAll([value], steps);
}

/** Whether a JSONPath is simple enough for a printer column. */
export function isJsonPath(path: string): boolean {
  return parseJsonPath(path) !== undefined;
}

function parseJsonPath(path: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  let rest = path.replace(/^\{(.*)\}$/s, "$1").replace(/^\$/, "");
  while (rest !== "") {
    const name = /^\.((?:[^.[\]\\]|\\.)+)/.exec(rest);
    const quoted = /^\.?\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/.exec(rest);
    const index = /^\.?\[(-?\d+)\]/.exec(rest);
    const all = /^\.?\[\*\]|^\.\*/.exec(rest);
    const filter = /^\.?\[\?\(\s*@((?:[^=!<>\s])*)\s*(?:(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|[^)\s]+)\s*)?\)\]/.exec(
      rest,
    );
    const dot = /^\.$/.exec(rest);
    const match = all ?? quoted ?? index ?? filter ?? name ?? dot;
    if (match === null) return undefined;
    if (match === all) steps.push({ kind: "all" });
    else if (match === index) steps.push({ kind: "index", at: Number(index[1]) });
    else if (match === quoted) steps.push({ kind: "field", name: withoutEscapes(quoted[1] ?? quoted[2] ?? "") });
    else if (match === name) steps.push({ kind: "field", name: withoutEscapes(name[1] ?? "") });
    else if (match === filter) {
      const inner = parseJsonPath(filter[1] ?? "");
      if (inner === undefined) return undefined;
      steps.push({
        kind: "filter",
        path: inner,
        operator: filter[2] ?? "exists",
        expected: parseLiteral(filter[3] ?? ""),
      });
    }
    rest = rest.slice(match[0].length);
  }
  return steps;
}

function withoutEscapes(name: string): string {
  return name.replace(/\\(.)/gs, "$1");
}

function parseLiteral(literal: string): unknown {
  const quoted = /^(["'])(.*)\1$/s.exec(literal);
  if (quoted !== null) return quoted[2];
  if (literal === "true" || literal === "false") return literal === "true";
  const number = Number(literal);
  return literal !== "" && !Number.isNaN(number) ? number : literal;
}

function findAll(values: readonly unknown[], steps: readonly Step[]): unknown[] {
  return steps.reduce<unknown[]>((found, step) => found.flatMap((value) => evaluateStep(value, step)), [...values]);
}

function evaluateStep(value: unknown, step: Step): unknown[] {
  if (step.kind === "field") {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, step.name))
      return [];
    const found: unknown = Reflect.get(value, step.name);
    return found === undefined ? [] : [found];
  }
  if (step.kind === "all") return typeof value === "object" && value !== null ? Object.values(value) : [];
  if (!Array.isArray(value)) return [];
  const items: unknown[] = value;
  if (step.kind === "index") {
    const found = items.at(step.at);
    return found === undefined ? [] : [found];
  }
  return items.filter((item) => matchesFilter(findAll([item], step.path)[0], step.operator, step.expected));
}

function matchesFilter(actual: unknown, operator: string, expected: unknown): boolean {
  if (actual === undefined) return false;
  if (operator === "exists") return true;
  if (operator === "==") return actual === expected;
  if (operator === "!=") return actual !== expected;
  if (typeof actual !== "number" || typeof expected !== "number") return false;
  if (operator === "<") return actual < expected;
  if (operator === ">") return actual > expected;
  return operator === "<=" ? actual <= expected : actual >= expected;
}
