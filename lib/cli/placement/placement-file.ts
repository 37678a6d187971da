import { withDefaults } from "@tmc/embedded/machinery/defaults.ts";
import { prune } from "@tmc/embedded/machinery/prune.ts";
import { validateObject } from "@tmc/embedded/machinery/validate.ts";
import { loadAll, YAMLException } from "js-yaml";
import { group } from "../../api/group.ts";
import { objectSchema } from "../../api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../../api/workload-placement.ts";

const schema = objectSchema(workloadPlacement);

/**
 * Parses the placements in a YAML or JSON manifest and validates them as a server would; objects of other kinds are ignored.
 * One error lists everything that is invalid.
 */
export function parsePlacements(text: string, source: string): readonly WorkloadPlacement[] {
  const placements = documentsOf(text, source).filter(isPlacement);
  if (placements.length === 0) throw new Error(`${source}: contains no WorkloadPlacement`);
  const errors: string[] = [];
  const checked = placements.map((document, at) => {
    const name = nameOf(document) ?? "";
    const { object, unknown } = prune(schema, withDefaults(schema, document));
    const invalid = [
      ...(name === "" ? ["metadata.name: required"] : []),
      ...unknown.map((field) => `${field}: unknown field`),
      ...validateObject(schema, object).map(({ field, message }) => `${field}: ${message}`),
    ];
    errors.push(...invalid.map((message) => `${name === "" ? `placement ${at + 1}` : name}: ${message}`));
    // Validated above against the schema that the type is derived from.
    return object as unknown as WorkloadPlacement;
  });
  if (errors.length > 0) throw new Error(`${source}: ${errors.join("; ")}`);
  return checked;
}

type Document = Readonly<Record<string, unknown>>;

function documentsOf(text: string, source: string): readonly Document[] {
  let documents: unknown[];
  try {
    documents = loadAll(text);
  } catch (error) {
    const line = error instanceof YAMLException && error.mark ? ` in line ${error.mark.line + 1}` : "";
    throw new Error(`${source}: invalid YAML${line}`, { cause: error });
  }
  return documents
    .filter(isDocument)
    .flatMap((document) =>
      document.kind === "List" && Array.isArray(document.items) ? document.items.filter(isDocument) : [document],
    );
}

function isDocument(value: unknown): value is Document {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlacement({ apiVersion, kind }: Document): boolean {
  return kind === workloadPlacement.kind && typeof apiVersion === "string" && apiVersion.startsWith(`${group}/`);
}

function nameOf({ metadata }: Document): string | undefined {
  return isDocument(metadata) && typeof metadata.name === "string" ? metadata.name : undefined;
}
