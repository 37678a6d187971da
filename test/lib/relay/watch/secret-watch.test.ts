import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { createSecretWatch, type SecretTracker } from "../../../../lib/relay/watch/secret-watch.ts";

const registration = { logicalCluster: "lc", name: "east" };
const reference = { namespace: "default", name: "kubeconfig" };
const aSecret = (resourceVersion: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...reference, resourceVersion },
});

describe("a secret watch that another informer feeds", () => {
  let reported: string[];
  let secrets: SecretTracker;
  beforeEach(() => {
    reported = [];
    secrets = createSecretWatch({
      client: undefined,
      clusterOf: () => registration.logicalCluster,
      clock: createManualClock(),
      random: () => 0.5,
      relistSeconds: 1_800,
      onChanged: (registrations) => reported.push(...registrations.map(({ name }) => name)),
      onFailure: (error) => {
        throw error;
      },
    });
  });

  it("reports a listed secret, because its registration may have been reconciled before it existed", () => {
    secrets.refer(registration, reference);
    secrets.feed.listed([aSecret("5")]);
    expect(reported).toEqual(["east"]);
  });

  it("reports the same version of a secret once", () => {
    secrets.refer(registration, reference);
    secrets.feed.listed([aSecret("5")]);
    secrets.feed.listed([aSecret("5")]);
    secrets.feed.changed(aSecret("5"));
    expect(reported).toEqual(["east"]);
  });

  it("does not report a secret that never existed", () => {
    secrets.refer(registration, reference);
    secrets.feed.listed([]);
    expect(reported).toEqual([]);
  });

  it("reports a secret that is created, changed and deleted", () => {
    secrets.refer(registration, reference);
    secrets.feed.listed([]);
    secrets.feed.changed(aSecret("5"));
    secrets.feed.changed(aSecret("6"));
    secrets.feed.deleted(aSecret("7"));
    expect(reported).toEqual(["east", "east", "east"]);
  });
});
