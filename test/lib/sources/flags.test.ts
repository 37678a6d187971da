import { describe, expect, it } from "vitest";
import { parseSourceFlags, type SourceConfig, type SourceFlags } from "../../../lib/sources/flags.ts";
import { kplaneTemplate } from "../../../lib/sources/secret-template.ts";

const accepted: Record<string, { flags: SourceFlags; expected: Partial<SourceConfig> }> = {
  "reads all ClusterRegistrations by default": {
    flags: {},
    expected: { sources: ["clusterregistration"], namespaces: undefined, template: undefined, shard: undefined },
  },
  "keeps the order of the sources": {
    flags: { clusterSource: ["synctarget, ClusterRegistration", "controlplaneendpoint"] },
    expected: { sources: ["synctarget", "clusterregistration", "controlplaneendpoint"] },
  },
  "accepts namespaces separated by commas and repeated": {
    flags: { clusterSource: ["controlplaneendpoint"], clusterNamespaceScope: ["team-a,team-b", "team-a"] },
    expected: { namespaces: ["team-a", "team-b"] },
  },
  "parses a secret template": {
    flags: { clusterKubeconfigSecretTemplate: " controlplane-{name}-kubeconfig " },
    expected: { template: kplaneTemplate },
  },
  "accepts named shards": {
    flags: { clusterShardId: "b/a,b,c" },
    expected: { shard: { id: "b", shards: ["a", "b", "c"] } },
  },
  "accepts numbered shards": {
    flags: { clusterShardId: "1/3" },
    expected: { shard: { id: "1", shards: ["0", "1", "2"] } },
  },
  "accepts a single shard": { flags: { clusterShardId: "0/1" }, expected: { shard: { id: "0", shards: ["0"] } } },
};

describe("parseSourceFlags", () => {
  it.each(Object.entries(accepted))("%s", (_, { flags, expected }) => {
    expect(parseSourceFlags(flags)).toMatchObject(expected);
  });

  const invalid: Record<string, { flags: SourceFlags; why: string }> = {
    "an unknown source": {
      flags: { clusterSource: ["kubeconfig"] },
      why: '--cluster-source "kubeconfig" is not one of clusterregistration, synctarget, controlplaneendpoint, controlplaneregistration',
    },
    "an empty list of sources": { flags: { clusterSource: [" , "] }, why: "--cluster-source is empty" },
    "a source that is given twice": {
      flags: { clusterSource: ["synctarget,synctarget"] },
      why: '--cluster-source "synctarget" is given twice',
    },
    "an invalid namespace name": {
      flags: { clusterSource: ["controlplaneendpoint"], clusterNamespaceScope: ["team/a"] },
      why: '--cluster-namespace-scope "team/a" is not a valid namespace name',
    },
    "an empty list of namespaces": {
      flags: { clusterSource: ["controlplaneendpoint"], clusterNamespaceScope: [""] },
      why: "--cluster-namespace-scope is empty",
    },
    "namespaces for cluster-scoped sources": {
      flags: { clusterSource: ["clusterregistration,synctarget"], clusterNamespaceScope: ["a"] },
      why: "--cluster-namespace-scope has no effect on clusterregistration, synctarget",
    },
    "a shard without the list of shards": {
      flags: { clusterShardId: "a" },
      why: '--cluster-shard-id "a" does not have the form b/a,b,c',
    },
    "a shard that is not in the list": {
      flags: { clusterShardId: "d/a,b" },
      why: '--cluster-shard-id "d" is not one of a, b',
    },
    "a shard number that is too high": {
      flags: { clusterShardId: "3/3" },
      why: '--cluster-shard-id "3" is not one of 0 to 2',
    },
    "zero shards": { flags: { clusterShardId: "0/0" }, why: "there can be 1 to 100 shards" },
    "too many shards": { flags: { clusterShardId: "0/1000" }, why: "there can be 1 to 100 shards" },
    "a shard that is listed twice": {
      flags: { clusterShardId: "a/a,b,a" },
      why: '--cluster-shard-id "a" is given twice',
    },
    "an invalid shard name": {
      flags: { clusterShardId: "A/A,b" },
      why: '--cluster-shard-id "A" is not a valid shard name',
    },
  };
  it.each(Object.entries(invalid))("rejects %s", (_, { flags, why }) => {
    expect(() => parseSourceFlags(flags)).toThrow(why);
  });

  it("reports the errors of all flags in one message", () => {
    expect(() =>
      parseSourceFlags({
        clusterSource: ["clusters"],
        clusterNamespaceScope: ["A"],
        clusterKubeconfigSecretTemplate: "x/one",
        clusterShardId: "x",
      }),
    ).toThrow(
      /^--cluster-source .*; --cluster-namespace-scope .*; --cluster-kubeconfig-secret-template "x\/one": \{name\} is missing.*; --cluster-shard-id .*$/,
    );
  });
});
