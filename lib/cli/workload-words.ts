import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { subdomainProblems } from "@tmc/kube/selector.ts";
import { workloadKindsWith } from "../api/workload-kinds.ts";
import { workloadTypes } from "../api/workload-types.ts";
import { closestMatch } from "../model/text.ts";
import { UsageError } from "./cli-io.ts";

/** A type of workload as somebody named it. */
export type NamedType = Readonly<{
  type: ResourceType;
  /** Undefined for a type that only its server knows. */
  apiVersion: string | undefined;
  kind: string | undefined;
}>;

/** A workload as somebody named it; its namespace stands elsewhere. */
export type NamedWorkload = NamedType & Readonly<{ name: string }>;

/** What kubectl calls the types that kcp serves by itself; those of our own say it themselves. */
const claimedShortNames: Readonly<Record<string, readonly string[]>> = {
  configmaps: ["cm"],
  secrets: [],
  serviceaccounts: ["sa"],
};

type KnownType = Required<NamedType> & Readonly<{ words: readonly string[] }>;

const knownTypes: readonly KnownType[] = workloadKindsWith().map(({ type, apiVersion, kind }) => {
  const { plural } = type;
  const short = workloadTypes.find((each) => each.plural === plural)?.shortNames ?? claimedShortNames[plural] ?? [];
  return { type, apiVersion, kind, words: [plural, kind.toLowerCase(), ...short] };
});

/** `databases.v1.example.com` */
const wholeName = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?)\.(v[0-9]+((alpha|beta)[0-9]+)?)\.([a-z0-9][-a-z0-9.]*)$/;

/**
 * Finds the type that a word means, the way kubectl does: plural, singular, kind or short name, with or without the group
 * and the version behind it. Any other type goes by its whole name.
 */
export function parseWorkloadType(text: string): NamedType {
  const word = text.toLowerCase();
  const known = knownTypes.find(({ type: { group, version }, words }) =>
    words.some((each) => [each, `${each}.${group}`, `${each}.${version}.${group}`].includes(word)),
  );
  if (known !== undefined) return { type: known.type, apiVersion: known.apiVersion, kind: known.kind };
  const [, plural, , version, , , group] = wholeName.exec(word) ?? [];
  if (plural !== undefined && version !== undefined && group !== undefined) {
    return { type: { group, version, plural }, apiVersion: `${group}/${version}`, kind: undefined };
  }
  const similar = closestMatch(
    word,
    knownTypes.flatMap(({ words }) => words),
  );
  const hint = similar === undefined ? "" : ` (did you mean ${similar}?)`;
  throw new UsageError(
    `"${text}": is no type of workload${hint}; a type of your own goes by its whole name, such as databases.v1.example.com`,
  );
}

/** Reads `deploy/web`, or `deploy` and `web` as two words. */
export function parseWorkloadWords(first: string, second?: string): NamedWorkload {
  const at = first.indexOf("/");
  if (at >= 0 && second !== undefined) {
    throw new UsageError(`"${first}" and "${second}": write kind/name, or kind and name as two words`);
  }
  const [kind, name] = at >= 0 ? [first.slice(0, at), first.slice(at + 1)] : [first, second];
  if (name === undefined) throw new UsageError(`"${first}": which one? write kind/name, such as ${first}/web`);
  const problems = subdomainProblems(name);
  if (problems.length > 0) throw new UsageError(`"${name}": ${problems.join("; ")}`);
  return { ...parseWorkloadType(kind), name };
}

/** `deployment.apps/web`, as kubectl writes it. */
export function workloadTitle({ apiVersion, kind, name }: Readonly<Record<"apiVersion" | "kind" | "name", string>>) {
  const at = apiVersion.indexOf("/");
  return `${kind.toLowerCase()}${at < 0 ? "" : `.${apiVersion.slice(0, at)}`}/${name}`;
}

/** `deployment.apps`, or the type's own name where the kind is not known. */
export function typeTitle({ type, kind }: NamedType): string {
  return type.group === ""
    ? (kind?.toLowerCase() ?? type.plural)
    : `${kind?.toLowerCase() ?? type.plural}.${type.group}`;
}
