import { describe, expect, it } from "vitest";
import { parseSourceFlags, type SourceConfig, type SourceFlags } from "../../../lib/sources/flags.ts";
import { kplaneTemplate } from "../../../lib/sources/secret-template.ts";

const accepted: Record<string, { flags: SourceFlags; expected: Partial<SourceConfig> }> = {
  "registrations are read, all of them, where nothing is said": {
    flags: {},
    expected: { sources: ["clusterregistration"], namespaces: undefined, template: undefined, shard: undefined },
  },
  "sources keep the order they are given in": {
    flags: { clusterSource: ["synctarget, ClusterRegistration", "controlplaneendpoint"] },
    expected: { sources: ["synctarget", "clusterregistration", "controlplaneendpoint"] },
  },
  "namespaces are given with commas or again": {
    flags: { clusterSource: ["controlplaneendpoint"], clusterNamespaceScope: ["team-a,team-b", "team-a"] },
    expected: { namespaces: ["team-a", "team-b"] },
  },
  "a template is read": {
    flags: { clusterKubeconfigSecretTemplate: " controlplane-{name}-kubeconfig " },
    expected: { template: kplaneTemplate },
  },
  "shards have names": {
    flags: { clusterShardId: "b/a,b,c" },
    expected: { shard: { id: "b", shards: ["a", "b", "c"] } },
  },
  "shards have numbers": {
    flags: { clusterShardId: "1/3" },
    expected: { shard: { id: "1", shards: ["0", "1", "2"] } },
  },
  "one shard is a shard": { flags: { clusterShardId: "0/1" }, expected: { shard: { id: "0", shards: ["0"] } } },
};

describe("options about sources", () => {
  it.each(Object.entries(accepted))("%s", (_, { flags, expected }) => {
    expect(parseSourceFlags(flags)).toMatchObject(expected);
  });

  const refused: Record<string, { flags: SourceFlags; why: string }> = {
    "a source that is none": {
      flags: { clusterSource: ["kubeconfig"] },
      why: '--cluster-source "kubeconfig" is not one of clusterregistration, synctarget, controlplaneendpoint, controlplaneregistration',
    },
    "no source": { flags: { clusterSource: [" , "] }, why: "--cluster-source names no source" },
    "a source twice": {
      flags: { clusterSource: ["synctarget,synctarget"] },
      why: '--cluster-source "synctarget" is given twice',
    },
    "a namespace that can be none": {
      flags: { clusterSource: ["controlplaneendpoint"], clusterNamespaceScope: ["team/a"] },
      why: '--cluster-namespace-scope "team/a" is not the name of a namespace',
    },
    "no namespace": {
      flags: { clusterSource: ["controlplaneendpoint"], clusterNamespaceScope: [""] },
      why: "--cluster-namespace-scope names no namespace",
    },
    "namespaces for what has none": {
      flags: { clusterSource: ["clusterregistration,synctarget"], clusterNamespaceScope: ["a"] },
      why: "--cluster-namespace-scope has no meaning for clusterregistration, synctarget",
    },
    "a shard among unknown ones": {
      flags: { clusterShardId: "a" },
      why: '--cluster-shard-id "a" does not say which shards',
    },
    "a shard that is not among them": {
      flags: { clusterShardId: "d/a,b" },
      why: '--cluster-shard-id "d" is not one of a, b',
    },
    "a number beyond the last": {
      flags: { clusterShardId: "3/3" },
      why: '--cluster-shard-id "3" is not one of 0 to 2',
    },
    "no shards": { flags: { clusterShardId: "0/0" }, why: "there can be 1 to 100 shards" },
    "too many shards": { flags: { clusterShardId: "0/1000" }, why: "there can be 1 to 100 shards" },
    "a shard twice": { flags: { clusterShardId: "a/a,b,a" }, why: '--cluster-shard-id "a" is given twice' },
    "a shard that can be none": {
      flags: { clusterShardId: "A/A,b" },
      why: '--cluster-shard-id "A" is not the name of a shard',
    },
  };
  it.each(Object.entries(refused))("are refused: %s", (_, { flags, why }) => {
    expect(() => parseSourceFlags(flags)).toThrow(why);
  });

  it("are refused with everything that is wrong", () => {
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
