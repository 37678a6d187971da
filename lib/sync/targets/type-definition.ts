import { byKey } from "@tmc/kube/compare.ts";
import { isFields, textAt, valueAt } from "@tmc/kube/json.ts";
import type { TypeDefinition } from "../../api/workload-kinds.ts";
import { parseStringFields } from "../../model/json.ts";
import { shortHash } from "../../model/text.ts";

/** The annotation of a definition that TMC applied: for which control plane, the hash of its spec, and its creation time. */
export const definitionAnnotation = "tmc.kcp.io/definition";

/** The hash of a definition's spec. */
export function definitionHash(spec: TypeDefinition["spec"]): string {
  return shortHash(JSON.stringify(spec, sortFields));
}

/** The definition as it is written to a cluster. */
export function definitionManifest(definition: TypeDefinition, hub: string) {
  const { name, spec, annotations, fingerprint, madeAt = "" } = definition;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name,
      labels: { "app.kubernetes.io/managed-by": "tmc" },
      annotations: { ...annotations, [definitionAnnotation]: JSON.stringify({ hub, fingerprint, madeAt }) },
    },
    spec,
  };
}

/** What to do about the definition of a type on a cluster. */
export type DefinitionAction =
  /** The type is served: objects may be written. */
  | Readonly<{ action: "use" }>
  | Readonly<{ action: "apply" }>
  | Readonly<{ action: "wait"; message: string }>
  /** TMC does not own the definition, and it does not fit. */
  | Readonly<{ action: "reject"; message: string }>;

/** A definition as a cluster has it. */
export type ObservedDefinition = Readonly<{
  metadata: Readonly<{
    annotations?: Readonly<Record<string, string>> | undefined;
    deletionTimestamp?: string | undefined;
  }>;
  spec?: unknown;
  status?: unknown;
}>;

/**
 * Decides what to do about the definition of a type on a cluster where TMC installs types.
 *
 * TMC creates a missing definition and updates one that it wrote for the same control plane. It never changes a definition
 * of any other author, and uses it if it serves the needed version.
 */
export function decideDefinition(
  { desired, hub }: Readonly<{ desired: TypeDefinition; hub: string }>,
  observed: ObservedDefinition | undefined,
): DefinitionAction {
  if (observed === undefined) return { action: "apply" };
  const { name } = desired;
  if (observed.metadata.deletionTimestamp !== undefined) {
    return { action: "wait", message: `the definition of ${name} is being deleted on the cluster` };
  }
  const written = parseStringFields(observed.metadata.annotations?.[definitionAnnotation], [
    "hub",
    "fingerprint",
    "madeAt",
  ]);
  const isOurs = written?.hub === hub;
  if (isOurs && written.fingerprint !== desired.fingerprint && !isNewer(written.madeAt, desired.madeAt))
    return { action: "apply" };
  const mismatch = findMismatch(observed.spec, desired);
  if (mismatch !== undefined) {
    const description = isOurs ? "a newer definition" : "a foreign definition";
    return { action: "reject", message: `the cluster has ${description} of ${name}, which ${mismatch}` };
  }
  if (isEstablished(observed.status)) return { action: "use" };
  return { action: "wait", message: `the cluster has the definition of ${name} and does not serve it yet` };
}

/** Why a definition does not fit; undefined when it does. */
function findMismatch(spec: unknown, { version, kind }: TypeDefinition): string | undefined {
  if (textAt(spec, "scope") !== "Namespaced") return "is not namespaced";
  if (textAt(spec, "names", "kind") !== kind) return `is not of kind ${kind}`;
  const versions = valueAt(spec, "versions");
  const isServed = Array.isArray(versions) && versions.some((each) => isFields(each) && serves(each, version));
  return isServed ? undefined : `does not serve ${version}`;
}

const serves = (fields: Readonly<Record<string, unknown>>, version: string): boolean =>
  fields.name === version && fields.served === true;

function isEstablished(status: unknown): boolean {
  const conditions = valueAt(status, "conditions");
  return (
    Array.isArray(conditions) &&
    conditions.some((each) => textAt(each, "type") === "Established" && textAt(each, "status") === "True")
  );
}

/** False where either time is unknown. */
function isNewer(one: string, other: string | undefined): boolean {
  return Date.parse(one) > Date.parse(other ?? "");
}

function sortFields(_name: string, value: unknown): unknown {
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(byKey));
}
