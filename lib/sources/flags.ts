import { ControllerError } from "@tmc/kube/fault.ts";
import { parseSecretTemplate, type SecretTemplate } from "./secret-template.ts";
import type { ShardConfig } from "./shard.ts";
import { type SourceKind, sourceKinds, typesOf } from "./source-kinds.ts";

/** The values of the cluster source flags. */
export type SourceFlags = Readonly<{
  /** Repeated or comma-separated. If two sources have a cluster of the same name, the first source wins. */
  clusterSource?: readonly string[] | undefined;
  /** Repeated or comma-separated. */
  clusterNamespaceScope?: readonly string[] | undefined;
  clusterKubeconfigSecretTemplate?: string | undefined;
  /** `b/a,b,c`, or `1/3` for the second of three. */
  clusterShardId?: string | undefined;
}>;

/** The validated configuration of cluster sources. */
export type SourceConfig = Readonly<{
  /** In order of precedence. */
  sources: readonly SourceKind[];
  /** Namespaces from which namespaced kinds are read; undefined for all. */
  namespaces: readonly string[] | undefined;
  /** Secret template for clusters that name no secret. If undefined, only kplane's kinds have a default template. */
  template: SecretTemplate | undefined;
  /** Undefined without sharding. */
  shard: ShardConfig | undefined;
}>;

export const sourceFlagDefaults = { clusterSource: "clusterregistration" } as const;

/** Ten shards would be many already, and each cluster is hashed with every shard. */
const maxShards = 100;
const namePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

type AddError = (option: string, why: string) => void;

/** Parses the cluster source flags; throws one error that names everything that is wrong. */
export function parseSourceFlags(flags: SourceFlags): SourceConfig {
  const errors: string[] = [];
  const addError: AddError = (option, why) => void errors.push(`--${option} ${why}`);
  const sources = parseSources(flags.clusterSource, addError);
  const config: SourceConfig = {
    sources,
    namespaces: parseNamespaces(flags.clusterNamespaceScope, sources, addError),
    template: parseTemplate(flags.clusterKubeconfigSecretTemplate, addError),
    shard: parseShard(flags.clusterShardId, addError),
  };
  if (errors.length > 0) throw new ControllerError("invalid", errors.join("; "));
  return config;
}

function parseSources(texts: readonly string[] | undefined, addError: AddError): readonly SourceKind[] {
  const words = splitList(texts ?? [sourceFlagDefaults.clusterSource]);
  if (words.length === 0) addError("cluster-source", `is empty: use one or more of ${sourceKinds.join(", ")}`);
  const sources = new Set<SourceKind>();
  for (const word of words) {
    const kind = sourceKinds.find((known) => known === word.toLowerCase());
    if (kind === undefined) addError("cluster-source", `"${word}" is not one of ${sourceKinds.join(", ")}`);
    else if (sources.has(kind)) addError("cluster-source", `"${word}" is given twice`);
    else sources.add(kind);
  }
  return [...sources];
}

function parseNamespaces(
  texts: readonly string[] | undefined,
  sources: readonly SourceKind[],
  addError: AddError,
): readonly string[] | undefined {
  if (texts === undefined) return undefined;
  const words = [...new Set(splitList(texts))];
  if (words.length === 0) addError("cluster-namespace-scope", "is empty: omit it for all namespaces");
  for (const word of words) {
    if (!namePattern.test(word)) addError("cluster-namespace-scope", `"${word}" is not a valid namespace name`);
  }
  const isOfUse = sources.some((source) => typesOf[source].some(({ maybeNamespaced }) => maybeNamespaced));
  if (sources.length > 0 && !isOfUse) {
    addError("cluster-namespace-scope", `has no effect on ${sources.join(", ")}: these kinds are cluster-scoped`);
  }
  return words;
}

function parseTemplate(text: string | undefined, addError: AddError): SecretTemplate | undefined {
  if (text === undefined) return undefined;
  try {
    return parseSecretTemplate(text.trim());
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    addError("cluster-kubeconfig-secret-template", `"${text}": ${why}`);
    return undefined;
  }
}

function parseShard(text: string | undefined, addError: AddError): ShardConfig | undefined {
  if (text === undefined) return undefined;
  const [, idText, allText] = /^([^/]*)\/([^/]*)$/.exec(text.trim()) ?? [];
  if (idText === undefined || allText === undefined) {
    addError("cluster-shard-id", `"${text}" does not have the form b/a,b,c, or 1/3 for the second of three shards`);
    return undefined;
  }
  const id = idText.trim();
  const all = splitList([allText]);
  const count = all.length === 1 && /^[0-9]{1,6}$/.test(all[0] ?? "") ? Number(all[0]) : undefined;
  if ((count ?? all.length) > maxShards || count === 0) {
    addError("cluster-shard-id", `"${text}": there can be 1 to ${maxShards} shards`);
    return undefined;
  }
  const shards = count === undefined ? all : Array.from({ length: count }, (_, index) => String(index));
  const doubles = shards.filter((shard, at) => shards.indexOf(shard) !== at);
  for (const shard of shards) {
    if (!namePattern.test(shard)) addError("cluster-shard-id", `"${shard}" is not a valid shard name`);
  }
  for (const shard of new Set(doubles)) addError("cluster-shard-id", `"${shard}" is given twice`);
  if (!shards.includes(id)) {
    const known = count === undefined ? shards.join(", ") : `0 to ${count - 1}`;
    addError("cluster-shard-id", `"${id}" is not one of ${known}`);
  }
  return { id, shards };
}

function splitList(texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => text.split(","))
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
