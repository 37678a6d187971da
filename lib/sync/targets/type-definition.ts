import { byKey } from "@tmc/kube/compare.ts";
import type { TypeDefinition } from "../../api/workload-kinds.ts";
import { isFields, parseStringFields, textAt, valueAt } from "../../model/json.ts";
import { shortHash } from "../../model/short-hash.ts";

/** The annotation by which a definition on a cluster says that TMC has put it there, for which hub, and what it says. */
export const definitionAnnotation = "tmc.kcp.io/definition";

/** The fingerprint of a definition's spec. */
export function fingerprintOfDefinition(spec: TypeDefinition["spec"]): string {
  return shortHash(JSON.stringify(spec, inOneOrder));
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

/** What is to be done about the definition of a type on a cluster. */
export type DefinitionAct =
  /** It is served: objects may come. */
  | Readonly<{ do: "use" }>
  | Readonly<{ do: "apply" }>
  | Readonly<{ do: "wait"; why: string }>
  /** It is somebody else's, and not what is needed. */
  | Readonly<{ do: "refuse"; why: string }>;

/** A definition as a cluster has it. */
export type FoundDefinition = Readonly<{
  metadata: Readonly<{
    annotations?: Readonly<Record<string, string>> | undefined;
    deletionTimestamp?: string | undefined;
  }>;
  spec?: unknown;
  status?: unknown;
}>;

/**
 * Decides what to do about the definition of a type on a cluster that is to be given it.
 *
 * What is not there is written, and what TMC itself wrote for the same hub is brought up to date. A definition that anybody
 * else has put there is never changed: it is used when it serves what is needed.
 */
export function decideDefinition(
  { wanted, hub }: Readonly<{ wanted: TypeDefinition; hub: string }>,
  found: FoundDefinition | undefined,
): DefinitionAct {
  if (found === undefined) return { do: "apply" };
  if (found.metadata.deletionTimestamp !== undefined) {
    return { do: "wait", why: `somebody removes the definition of ${wanted.name} there` };
  }
  const mark = parseStringFields(found.metadata.annotations?.[definitionAnnotation], ["hub", "fingerprint", "madeAt"]);
  const isOurs = mark?.hub === hub;
  if (isOurs && mark.fingerprint !== wanted.fingerprint && !isNewer(mark.madeAt, wanted.madeAt)) return { do: "apply" };
  const lack = whatIsLacking(found.spec, wanted);
  if (lack !== undefined) {
    const whose = isOurs ? "a newer definition" : "another's definition";
    return { do: "refuse", why: `the cluster has ${whose} of ${wanted.name}, which ${lack}` };
  }
  if (isEstablished(found.status)) return { do: "use" };
  return { do: "wait", why: `the cluster has the definition of ${wanted.name} and does not serve it yet` };
}

function whatIsLacking(spec: unknown, { version, kind }: TypeDefinition): string | undefined {
  if (textAt(spec, "scope") !== "Namespaced") return "has no namespaces";
  if (textAt(spec, "names", "kind") !== kind) return `is not of the kind ${kind}`;
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

/** Where either time is not known, nobody can say. */
function isNewer(one: string, other: string | undefined): boolean {
  return Date.parse(one) > Date.parse(other ?? "");
}

function inOneOrder(_name: string, value: unknown): unknown {
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(byKey));
}
