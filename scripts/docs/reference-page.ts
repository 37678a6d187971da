import { permissionClaims } from "../../lib/api/api-export.ts";
import { bindingName, exportName, exportWorkspace } from "../../lib/api/group.ts";
import { apiVersionOf, type ServedKind } from "../../lib/api/kind.ts";
import { kinds } from "../../lib/api/kinds.ts";
import { clusterRoles } from "../../lib/api/rbac.ts";
import type { OpenApiSchema } from "../../lib/api/schema.ts";
import { workloadTypes } from "../../lib/api/workload-types.ts";

/** The reference page of the API, as Markdown. */
export function referencePage(): string {
  return `${[
    "# API reference",
    "<!-- Made from lib/api by `npm run generate`; change it there. -->",
    ...kinds.flatMap(kindSection),
    ...workloadSection(),
    ...exportSection(),
    ...roleSection(),
  ].join("\n\n")}\n`;
}

function kindSection(kind: ServedKind): string[] {
  return [
    `## ${kind.kind}`,
    kind.description,
    table(
      ["", ""],
      [
        ["apiVersion", code(apiVersionOf(kind))],
        ["Resource", [kind.plural, ...kind.shortNames].map(code).join(", ")],
        ["Scope", kind.scope],
        ["Columns", kind.columns.map((column) => column.name).join(", ")],
      ],
    ),
    table(
      ["Field", "Type", "Rules", "Meaning"],
      [...fieldRows("spec", kind.spec), ...fieldRows("status", kind.status)],
    ),
  ];
}

function workloadSection(): string[] {
  return [
    "## Workload types",
    "kcp serves no workloads by itself; the export brings these types along. They take every field that the type has on a Kubernetes cluster, and the cluster that runs the object checks it. On a plain Kubernetes hub the cluster's own types are used.",
    "**Apply them with `kubectl apply --server-side`.** kcp cannot merge the lists that Kubernetes merges by key (containers, volumes, environment variables, the ports of a Service …) from the patches that kubectl sends otherwise: a second `kubectl apply` without `--server-side` that changes such a list, `kubectl set image`, `set env`, `set resources`, and `kubectl edit` or `kubectl patch` of such a list. It refuses them with `unable to find api field`, beside a warning that says what to do, and nothing is lost. What works:",
    [
      "- `kubectl apply --server-side`, `kubectl replace`, `kubectl patch --type merge` and `--type json`, for everything;",
      "- `kubectl scale`, `rollout restart`, `rollout pause`, `label`, `annotate`, `expose`, `autoscale`, `create`;",
      "- every command, for scalar fields and labels, and for PersistentVolumeClaims, Ingresses and HorizontalPodAutoscalers as a whole.",
    ].join("\n"),
    "In Argo CD set the sync option `ServerSideApply=true`. One thing that kcp does to patches of these types and that no schema can change: a patch of kubectl's usual type that names `metadata.finalizers` or `metadata.ownerReferences` replaces the whole list.",
    table(
      ["Kind", "apiVersion", "Resource", "Scale"],
      workloadTypes.map((type) => [
        type.kind,
        code(apiVersionOf(type)),
        [type.plural, ...type.shortNames].map(code).join(", "),
        type.scale === undefined ? "" : "yes",
      ]),
    ),
  ];
}

function exportSection(): string[] {
  return [
    "## Export and binding",
    `The APIExport ${code(exportName)} is in the workspace ${code(exportWorkspace)}; a tenant binds it with an APIBinding, by custom called ${code(bindingName)}. It claims, besides the types above:`,
    table(
      ["Resource", "Verbs"],
      permissionClaims.map(({ resource, verbs }) => [code(resource), verbs.join(", ")]),
    ),
  ];
}

function roleSection(): string[] {
  return [
    "## Roles",
    ...clusterRoles.map(
      ({ metadata, rules }) =>
        `### ${metadata.name}\n\n${table(
          ["Group", "Resources", "Verbs"],
          rules.map(({ apiGroups, resources, verbs }) => [
            apiGroups.map((group) => (group === "" ? "core" : code(group))).join(", "),
            resources.join(", "),
            verbs.join(", "),
          ]),
        )}`,
    ),
  ];
}

function fieldRows(path: string, schema: OpenApiSchema, mandatory = path === "spec"): string[][] {
  const row = [code(path), typeName(schema), rulesOf(schema, mandatory), schema.description ?? ""];
  const inner = schema.type === "array" ? { path: `${path}[]`, schema: schema.items } : { path, schema };
  const children = Object.entries(inner.schema?.properties ?? {}).flatMap(([name, child]) =>
    fieldRows(`${inner.path}.${name}`, child, inner.schema?.required?.includes(name) ?? false),
  );
  return [row, ...children];
}

function typeName(schema: OpenApiSchema): string {
  if (schema.type === "array") return `list of ${schema.items === undefined ? "anything" : typeName(schema.items)}`;
  if (schema.additionalProperties !== undefined) return `map of ${typeName(schema.additionalProperties)}`;
  if (schema.format === "date-time") return "time";
  return schema.type ?? "anything";
}

function rulesOf(schema: OpenApiSchema, mandatory: boolean): string {
  const keys = schema["x-kubernetes-list-map-keys"];
  const length = limits("length", schema.minLength, schema.maxLength);
  const value = limits("value", schema.minimum, schema.maximum);
  const items = limits("entries", schema.minItems, schema.maxItems);
  const isOneOf = schema.minProperties === 1 && schema.maxProperties === 1;
  return [
    mandatory ? "required" : undefined,
    isOneOf ? "exactly one of its fields" : undefined,
    schema.default === undefined ? undefined : `default ${code(JSON.stringify(schema.default))}`,
    schema.enum === undefined ? undefined : `one of ${schema.enum.map(code).join(", ")}`,
    keys === undefined ? undefined : `one for each ${keys.map(code).join(", ")}`,
    length,
    value,
    items,
    schema.pattern === undefined ? undefined : code(schema.pattern),
  ]
    .filter((rule) => rule !== undefined)
    .join("; ");
}

function limits(what: string, least: number | undefined, most: number | undefined): string | undefined {
  if (least !== undefined && most !== undefined) return `${what} ${least} to ${most}`;
  if (least !== undefined) return `${what} at least ${least}`;
  return most === undefined ? undefined : `${what} at most ${most}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(words: string): string {
  return `\`${words}\``;
}
