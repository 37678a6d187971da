import { withDefaults } from "@tmc/embedded/machinery/defaults.ts";
import { prune } from "@tmc/embedded/machinery/prune.ts";
import { validateObject } from "@tmc/embedded/machinery/validate.ts";
import { loadAll, YAMLException } from "js-yaml";
import { group } from "../api/group.ts";
import { objectSchema } from "../api/kind.ts";
import { type WorkloadPlacement, workloadPlacement } from "../api/workload-placement.ts";

const schema = objectSchema(workloadPlacement);

/**
 * Reads the placements of a manifest, in YAML or JSON, and checks them as a server would; other kinds in it are passed
 * over. Everything that is wrong is named in one error.
 */
export function parsePlacements(text: string, source: string): readonly WorkloadPlacement[] {
  const placements = documentsOf(text, source).filter(isPlacement);
  if (placements.length === 0) throw new Error(`${source}: has no WorkloadPlacement in it`);
  const problems: string[] = [];
  const checked = placements.map((document, at) => {
    const name = nameOf(document) ?? "";
    const { object, unknown } = prune(schema, withDefaults(schema, document));
    const wrong = [
      ...(name === "" ? ["metadata.name: is missing"] : []),
      ...unknown.map((field) => `${field}: is not a field of a placement`),
      ...validateObject(schema, object).map(({ field, message }) => `${field}: ${message}`),
    ];
    problems.push(...wrong.map((problem) => `${name === "" ? `placement ${at + 1}` : name}: ${problem}`));
    // Checked above by the schema from which the type is made.
    return object as unknown as WorkloadPlacement;
  });
  if (problems.length > 0) throw new Error(`${source}: ${problems.join("; ")}`);
  return checked;
}

type Document = Readonly<Record<string, unknown>>;

function documentsOf(text: string, source: string): readonly Document[] {
  let documents: unknown[];
  try {
    documents = loadAll(text);
  } catch (error) {
    const line = error instanceof YAMLException && error.mark ? ` in line ${error.mark.line + 1}` : "";
    throw new Error(`${source}: is not yaml${line}`, { cause: error });
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
