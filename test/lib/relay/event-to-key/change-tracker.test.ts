import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test, vi } from "vitest";
import { createChangeTracker } from "../../../../lib/relay/event-to-key/change-tracker.ts";
import type { SecretWatch } from "../../../../lib/relay/watch/secret-watch.ts";

const noSecrets: SecretWatch = { refer: () => {}, release: () => {}, referrers: () => [], stop: async () => {} };
const object = (name: string): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name, uid: name, resourceVersion: "1" },
});

function aTracker() {
  const sent: string[] = [];
  const reported: string[] = [];
  const tracker = createChangeTracker({
    queue: { send: async (items) => void sent.push(...items.map(({ key }) => `${key.logicalCluster} ${key.name}`)) },
    clock: createManualClock(),
    random: () => 0.5,
    listener: { changed: (_, logicalCluster, { metadata }) => reported.push(`${logicalCluster} ${metadata.name}`) },
    onListed: () => {},
  });
  return { tracker, sent, reported };
}

test("ignores late reports of an untracked logical logicalCluster, and starts from nothing when it is tracked again", async () => {
  const { tracker, sent, reported } = aTracker();
  const before = tracker.track("a", noSecrets);
  for (const kind of ["ClusterRegistration", "WorkloadPlacement"] as const) before.listed(kind, []);
  before.changed("WorkloadPlacement", object("web"));
  await vi.waitFor(() => expect(sent).toEqual(["a web"]));

  tracker.untrack("a");
  before.changed("WorkloadPlacement", object("late"));
  before.deleted("WorkloadPlacement", object("web"));
  before.listed("WorkloadPlacement", [object("listed")]);
  tracker.secretsChanged([{ logicalCluster: "a", name: "east" }]);
  expect([tracker.has("a"), tracker.isListed("a"), tracker.outbox.size, reported]).toEqual([
    false,
    false,
    0,
    ["a web"],
  ]);

  const after = tracker.track("a", noSecrets);
  before.listed("ClusterRegistration", []);
  after.listed("WorkloadPlacement", [object("web")]);
  expect(tracker.unlisted()).toEqual(["a"]);
  after.listed("ClusterRegistration", []);
  await vi.waitFor(() => expect(sent).toEqual(["a web", "a web"]));
});

test("sends an object whose version went back, and after that each one with another version, without their versions", async () => {
  const versions: string[] = [];
  const tracker = createChangeTracker({
    queue: {
      send: async (items) =>
        void versions.push(...items.map(({ key, resourceVersion = "none" }) => `${key.name} ${resourceVersion}`)),
    },
    clock: createManualClock(),
    random: () => 0.5,
    listener: {},
    onListed: () => {},
  });
  const placement = (name: string, resourceVersion: string): KubeObject => ({
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: { name, uid: name, generation: 1, resourceVersion },
  });
  const tenant = tracker.track("a", noSecrets);
  tenant.listed("ClusterRegistration", [], "10");
  tenant.listed("WorkloadPlacement", [placement("a", "5"), placement("b", "6"), placement("c", "7")], "10");
  tenant.changed("WorkloadPlacement", placement("a", "90"));
  tenant.listed("WorkloadPlacement", [placement("a", "90"), placement("b", "6"), placement("c", "95")], "100");
  await vi.waitFor(() => expect(versions.splice(0)).toEqual(["a 5", "b 6", "c 7"]));

  tenant.listed("WorkloadPlacement", [placement("a", "5"), placement("b", "6"), placement("c", "1000")], "1000");
  await vi.waitFor(() => expect(versions.splice(0)).toEqual(["a none", "c 1000"]));
  tenant.listed("WorkloadPlacement", [placement("a", "5"), placement("b", "6"), placement("c", "1000")], "1001");
  tenant.changed("WorkloadPlacement", {
    ...placement("b", "80"),
    metadata: { ...placement("b", "80").metadata, generation: 2 },
  });
  await vi.waitFor(() => expect(versions.splice(0)).toEqual(["b none"]));
});
