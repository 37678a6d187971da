import { describe, expect, it } from "vitest";
import { decideIntent, type IntentFacts } from "../../../../lib/sync/decide.ts";
import { claimsOf, decideRetainedClaims, type RetainFacts } from "../../../../lib/sync/eviction/volumes.ts";
import type { Workload } from "../../../../lib/sync/sync-objects.ts";

const containers = [{ name: "main", image: "postgres" }];
const mounting = { containers, volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] };
const template = (spec: object) => ({ metadata: { labels: { app: "db" } }, spec });
const aWorkload = (kind: string, spec: object): Workload => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name: "db", namespace: "shop", uid: "u1" },
  spec,
});

describe("claimsOf", () => {
  const rows: Record<string, readonly [Workload, readonly object[]]> = {
    "finds no claim of a workload without volumes": [
      aWorkload("Deployment", { template: template({ containers }) }),
      [],
    ],
    "finds the claims that pods mount": [
      aWorkload("Deployment", { template: template(mounting) }),
      [{ name: "data", storageClass: undefined }],
    ],
    "finds the claim templates of a StatefulSet": [
      aWorkload("StatefulSet", {
        template: template({ containers }),
        volumeClaimTemplates: [{ metadata: { name: "disk" }, spec: { storageClassName: "fast" } }],
      }),
      [{ name: "disk", storageClass: "fast" }],
    ],
    "finds the claims of a CronJob": [
      aWorkload("CronJob", { jobTemplate: { spec: { template: template(mounting) } } }),
      [{ name: "data", storageClass: undefined }],
    ],
    "counts a claim as its own": [
      { ...aWorkload("PersistentVolumeClaim", { storageClassName: "fast" }), apiVersion: "v1" },
      [{ name: "db", storageClass: "fast" }],
    ],
    "ignores volumes that end with their pod": [
      aWorkload("Deployment", {
        template: template({ containers, volumes: [{ name: "tmp", ephemeral: { volumeClaimTemplate: {} } }] }),
      }),
      [],
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [workload, claims]) => {
    expect(claimsOf(workload)).toEqual(claims);
  });
});

describe("decideRetainedClaims", () => {
  const claims = [
    { name: "data", storageClass: "fast" },
    { name: "logs", storageClass: "shared" },
  ];
  const rows: Record<string, readonly [Partial<RetainFacts>, readonly string[]]> = {
    "retains all claims by default": [{}, ["data", "logs"]],
    "retains no claim with volumes Recreate": [{ policy: { volumes: "Recreate" } }, []],
    "does not retain claims of shared storage classes": [{ policy: { sharedStorageClasses: ["shared"] } }, ["data"]],
    "retains a claim of a class that is not known": [
      { claims: [{ name: "data", storageClass: undefined }], policy: { sharedStorageClasses: ["shared"] } },
      ["data"],
    ],
    "retains a claim of the default class of a cluster": [
      { claims: [{ name: "data", storageClass: "" }], policy: { sharedStorageClasses: ["shared"] } },
      ["data"],
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [differing, names]) => {
    const retained = decideRetainedClaims({ claims, policy: {}, ...differing });
    expect(retained.map(({ name }) => name)).toEqual(names);
  });
});

describe("decideIntent with volumes", () => {
  const intentFor = (selectedClusters: readonly string[], facts: Partial<IntentFacts>) =>
    decideIntent({
      workload: aWorkload("Deployment", {}),
      record: undefined,
      references: [],
      placement: {
        apiVersion: "tmc.kcp.io/v1alpha1",
        kind: "WorkloadPlacement",
        metadata: { name: "shop" },
        spec: {},
        status: { selectedClusters: [...selectedClusters] },
      },
      ...facts,
    });
  const rows: Record<string, readonly [readonly string[], Partial<IntentFacts>, readonly string[], readonly string[]]> =
    {
      "selects clusters freely without volumes": [["west"], { volumeClusters: [] }, ["west"], []],
      "adds clusters while no copy leaves": [["east", "west"], { volumeClusters: ["east"] }, ["east", "west"], []],
      "stays where the data is if another cluster is selected": [
        ["west"],
        { volumeClusters: ["east"] },
        ["east"],
        ["east"],
      ],
      "starts no second copy while one copy of several would move": [
        ["north", "west"],
        { volumeClusters: ["east", "west"] },
        ["east", "west"],
        ["east"],
      ],
      "leaves copies alone if no cluster is selected": [[], { volumeClusters: ["east"] }, [], []],
      "holds nothing of a workload that no placement selects": [
        [],
        { volumeClusters: ["east"], placement: undefined },
        [],
        [],
      ],
    };
  it.each(Object.entries(rows))("%s", (_, [selected, facts, targets, heldClusters]) => {
    expect(intentFor(selected, facts)).toMatchObject({ targets, heldClusters });
  });
});
