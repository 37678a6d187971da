import { ControllerError } from "@tmc/kube/fault.ts";
import { parseSecretTemplate, type SecretTemplate } from "./secret-template.ts";
import type { ShardConfig } from "./shard.ts";
import { type SourceKind, sourceKinds, typesOf } from "./source-kinds.ts";

/** What the command line gave about sources, as text; what was not given is missing. */
export type SourceFlags = Readonly<{
  /** Given several times, or as a list with commas; the first wins where two have a cluster of the same name. */
  clusterSource?: readonly string[] | undefined;
  /** Given several times, or as a list with commas. */
  clusterNamespaceScope?: readonly string[] | undefined;
  clusterKubeconfigSecretTemplate?: string | undefined;
  /** `b/a,b,c`, or `1/3` for the second of three. */
  clusterShardId?: string | undefined;
}>;

/** Where clusters come from, checked. */
export type SourceConfig = Readonly<{
  /** In the order in which they win. */
  sources: readonly SourceKind[];
  /** The namespaces that objects are read from, of kinds that live in namespaces; undefined for all. */
  namespaces: readonly string[] | undefined;
  /** The rule for secrets of clusters that name none; undefined for none, and for kplane's own where it is about kplane. */
  template: SecretTemplate | undefined;
  /** Undefined where one process serves all. */
  shard: ShardConfig | undefined;
}>;

/** What each option is when it is not given. */
export const sourceFlagDefaults = { clusterSource: "clusterregistration" } as const;

/** Ten relays would be many; each cluster is hashed with every shard. */
const mostShards = 100;
const namePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

type Wrong = (option: string, why: string) => void;

/** Checks the options about sources and gives them their types; everything that is wrong is named in one error. */
export function parseSourceFlags(flags: SourceFlags): SourceConfig {
  const problems: string[] = [];
  const wrong: Wrong = (option, why) => void problems.push(`--${option} ${why}`);
  const sources = sourcesOf(flags.clusterSource, wrong);
  const config: SourceConfig = {
    sources,
    namespaces: namespacesOf(flags.clusterNamespaceScope, sources, wrong),
    template: templateOf(flags.clusterKubeconfigSecretTemplate, wrong),
    shard: shardOf(flags.clusterShardId, wrong),
  };
  if (problems.length > 0) throw new ControllerError("invalid", problems.join("; "));
  return config;
}

function sourcesOf(texts: readonly string[] | undefined, wrong: Wrong): readonly SourceKind[] {
  const words = wordsOf(texts ?? [sourceFlagDefaults.clusterSource]);
  if (words.length === 0) wrong("cluster-source", `names no source: there are ${sourceKinds.join(", ")}`);
  const sources = new Set<SourceKind>();
  for (const word of words) {
    const kind = sourceKinds.find((known) => known === word.toLowerCase());
    if (kind === undefined) wrong("cluster-source", `"${word}" is not one of ${sourceKinds.join(", ")}`);
    else if (sources.has(kind)) wrong("cluster-source", `"${word}" is given twice`);
    else sources.add(kind);
  }
  return [...sources];
}

function namespacesOf(
  texts: readonly string[] | undefined,
  sources: readonly SourceKind[],
  wrong: Wrong,
): readonly string[] | undefined {
  if (texts === undefined) return undefined;
  const words = [...new Set(wordsOf(texts))];
  if (words.length === 0) wrong("cluster-namespace-scope", "names no namespace; leave it out for all");
  for (const word of words) {
    if (!namePattern.test(word)) wrong("cluster-namespace-scope", `"${word}" is not the name of a namespace`);
  }
  const isOfUse = sources.some((source) => typesOf[source].some(({ maybeNamespaced }) => maybeNamespaced));
  if (sources.length > 0 && !isOfUse) {
    wrong("cluster-namespace-scope", `has no meaning for ${sources.join(", ")}: they live in no namespace`);
  }
  return words;
}

function templateOf(text: string | undefined, wrong: Wrong): SecretTemplate | undefined {
  if (text === undefined) return undefined;
  try {
    return parseSecretTemplate(text.trim());
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    wrong("cluster-kubeconfig-secret-template", `"${text}": ${why}`);
    return undefined;
  }
}

function shardOf(text: string | undefined, wrong: Wrong): ShardConfig | undefined {
  if (text === undefined) return undefined;
  const [, idText, allText] = /^([^/]*)\/([^/]*)$/.exec(text.trim()) ?? [];
  if (idText === undefined || allText === undefined) {
    wrong("cluster-shard-id", `"${text}" does not say which shards there are: b/a,b,c, or 1/3 for the second of three`);
    return undefined;
  }
  const id = idText.trim();
  const all = wordsOf([allText]);
  const count = all.length === 1 && /^[0-9]{1,6}$/.test(all[0] ?? "") ? Number(all[0]) : undefined;
  if ((count ?? all.length) > mostShards || count === 0) {
    wrong("cluster-shard-id", `"${text}": there can be 1 to ${mostShards} shards`);
    return undefined;
  }
  const shards = count === undefined ? all : Array.from({ length: count }, (_, index) => String(index));
  const doubles = shards.filter((shard, at) => shards.indexOf(shard) !== at);
  for (const shard of shards) {
    if (!namePattern.test(shard)) wrong("cluster-shard-id", `"${shard}" is not the name of a shard`);
  }
  for (const shard of new Set(doubles)) wrong("cluster-shard-id", `"${shard}" is given twice`);
  if (!shards.includes(id)) {
    const known = count === undefined ? shards.join(", ") : `0 to ${count - 1}`;
    wrong("cluster-shard-id", `"${id}" is not one of ${known}`);
  }
  return { id, shards };
}

function wordsOf(texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => text.split(","))
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
