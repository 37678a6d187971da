import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { subdomainErrors } from "@tmc/kube/selector.ts";
import { allWorkloadTypes } from "../../api/workload-kinds.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { workloadTypes } from "../../api/workload-types.ts";
import { closestMatch } from "../../model/text.ts";
import { UsageError } from "../cli-io.ts";

/** A workload type that an argument names. */
export type NamedType = Readonly<{
  type: ResourceType;
  /** Undefined for the kind of a custom resource, which only its server knows. */
  apiVersion: string | undefined;
  kind: string | undefined;
}>;

/** A workload that an argument names; its namespace comes from an option. */
export type NamedWorkload = NamedType & Readonly<{ name: string }>;

/** Short names of the types that kcp serves; the schemas of the other types contain theirs. */
const claimedShortNames: Readonly<Record<string, readonly string[]>> = {
  configmaps: ["cm"],
  secrets: [],
  serviceaccounts: ["sa"],
};

type KnownType = Required<NamedType> & Readonly<{ names: readonly string[] }>;

const knownTypes: readonly KnownType[] = allWorkloadTypes().map(({ type, apiVersion, kind }) => {
  const { plural } = type;
  const short = workloadTypes.find((each) => each.plural === plural)?.shortNames ?? claimedShortNames[plural] ?? [];
  return { type, apiVersion, kind, names: [plural, kind.toLowerCase(), ...short] };
});

/** `databases.v1.example.com` */
const fullName = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?)\.(v[0-9]+((alpha|beta)[0-9]+)?)\.([a-z0-9][-a-z0-9.]*)$/;

/**
 * Resolves a type argument as kubectl does: a plural, singular, kind or short name, with or without version and group. A
 * custom resource must be given with its full name.
 */
export function parseWorkloadType(text: string): NamedType {
  const argument = text.toLowerCase();
  const known = knownTypes.find(({ type: { group, version }, names }) =>
    names.some((each) => [each, `${each}.${group}`, `${each}.${version}.${group}`].includes(argument)),
  );
  if (known !== undefined) return { type: known.type, apiVersion: known.apiVersion, kind: known.kind };
  const [, plural, , version, , , group] = fullName.exec(argument) ?? [];
  if (plural !== undefined && version !== undefined && group !== undefined) {
    return { type: { group, version, plural }, apiVersion: `${group}/${version}`, kind: undefined };
  }
  const similar = closestMatch(
    argument,
    knownTypes.flatMap(({ names }) => names),
  );
  const hint = similar === undefined ? "" : ` (did you mean ${similar}?)`;
  throw new UsageError(
    `"${text}": unknown workload type${hint}; specify a custom resource by its full name, such as databases.v1.example.com`,
  );
}

/** Parses `deploy/web`, or `deploy` and `web` as two arguments. */
export function parseWorkloadArgument(first: string, second?: string): NamedWorkload {
  const at = first.indexOf("/");
  if (at >= 0 && second !== undefined) {
    throw new UsageError(`"${first}" and "${second}": expected kind/name, or kind and name as two arguments`);
  }
  const [kind, name] = at >= 0 ? [first.slice(0, at), first.slice(at + 1)] : [first, second];
  if (name === undefined)
    throw new UsageError(`"${first}": name is required; expected kind/name, such as ${first}/web`);
  const errors = subdomainErrors(name);
  if (errors.length > 0) throw new UsageError(`"${name}": ${errors.join("; ")}`);
  return { ...parseWorkloadType(kind), name };
}

/** Returns the name of a workload as kubectl prints it, such as `deployment.apps/web`. */
export function workloadTitle({ apiVersion, kind, name }: Readonly<Record<"apiVersion" | "kind" | "name", string>>) {
  const at = apiVersion.indexOf("/");
  return `${kind.toLowerCase()}${at < 0 ? "" : `.${apiVersion.slice(0, at)}`}/${name}`;
}

/** Returns the name of a type, such as `deployment.apps`; with its plural when the kind is unknown. */
export function typeTitle({ type, kind }: NamedType): string {
  return type.group === ""
    ? (kind?.toLowerCase() ?? type.plural)
    : `${kind?.toLowerCase() ?? type.plural}.${type.group}`;
}

/** Whether a sync record belongs to a workload of a type. */
export function isRecordOfType({ metadata, spec }: WorkloadSync, { apiVersion, kind, type }: NamedType): boolean {
  if (spec.workload.apiVersion !== apiVersion) return false;
  return kind === undefined ? metadata.name?.startsWith(`${type.plural}-`) === true : spec.workload.kind === kind;
}

/** Returns the type of the workload that a sync record belongs to; undefined if the record does not show it. */
export function typeOfRecord({ metadata, spec }: WorkloadSync): NamedType | undefined {
  const { apiVersion, kind, name } = spec.workload;
  const known = allWorkloadTypes().find((each) => each.apiVersion === apiVersion && each.kind === kind);
  if (known !== undefined) return known;
  // For a custom resource, the plural is the first part of the sync record's name.
  const [group = "", version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const plural = metadata.name?.slice(0, metadata.name.lastIndexOf(`-${name.slice(0, 200)}-`));
  if (plural === undefined || plural === "" || version === undefined) return undefined;
  return { type: { group, version, plural }, apiVersion, kind };
}
