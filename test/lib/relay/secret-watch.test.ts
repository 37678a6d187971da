import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { createSecretWatch, type FedSecretWatch } from "../../../lib/relay/secret-watch.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const registration = { logicalCluster: "lc", name: "east" };
const reference = { namespace: "default", name: "kubeconfig" };
const aSecret = (resourceVersion: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...reference, resourceVersion },
});

describe("a watch of secrets that another watch feeds", () => {
  let told: string[];
  let secrets: FedSecretWatch;
  beforeEach(() => {
    told = [];
    secrets = createSecretWatch({
      client: undefined,
      clusterOf: () => registration.logicalCluster,
      clock: createManualClock(),
      random: () => 0.5,
      relistSeconds: 1_800,
      onChanged: (registrations) => told.push(...registrations.map(({ name }) => name)),
      onTrouble: (error) => {
        throw error;
      },
    });
  });

  it("tells of a secret that a list has and that its registration may have missed", () => {
    secrets.refer(registration, reference);
    secrets.feed.listed([aSecret("5")], 1);
    expect(told).toEqual(["east"]);
  });

  it("tells of it once", () => {
    secrets.refer(registration, reference);
    secrets.feed.listed([aSecret("5")], 1);
    secrets.feed.listed([aSecret("5")], 2);
    secrets.feed.changed(aSecret("5"));
    expect(told).toEqual(["east"]);
  });

  it("says nothing of one that is not there and never was", () => {
    secrets.refer(registration, reference);
    secrets.feed.listed([], 1);
    expect(told).toEqual([]);
  });

  it("tells of one that comes, changes and goes", () => {
    secrets.refer(registration, reference);
    secrets.feed.listed([], 1);
    secrets.feed.changed(aSecret("5"));
    secrets.feed.changed(aSecret("6"));
    secrets.feed.deleted(aSecret("7"));
    expect(told).toEqual(["east", "east", "east"]);
  });
});
