import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, test, vi } from "vitest";
import { createLedger } from "../../../lib/relay/change-tracker.ts";
import type { SecretWatch } from "../../../lib/relay/secret-watch.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const noSecrets: SecretWatch = { refer: () => {}, release: () => {}, referrers: () => [], stop: async () => {} };
const object = (name: string): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name, uid: name, resourceVersion: "1" },
});

function aLedger() {
  const sent: string[] = [];
  const heard: string[] = [];
  const ledger = createLedger({
    queue: { send: async (items) => void sent.push(...items.map(({ key }) => `${key.logicalCluster} ${key.name}`)) },
    clock: createManualClock(),
    random: () => 0.5,
    listener: { changed: (_, cluster, { metadata }) => heard.push(`${cluster} ${metadata.name}`) },
    onListed: () => {},
  });
  return { ledger, sent, heard };
}

test("a book that was closed takes nothing more, and one that is opened anew begins anew", async () => {
  const { ledger, sent, heard } = aLedger();
  const before = ledger.open("a", noSecrets);
  for (const kind of ["ClusterRegistration", "WorkloadPlacement"] as const) before.takeList(kind, []);
  before.takeChanged("WorkloadPlacement", object("web"));
  await vi.waitFor(() => expect(sent).toEqual(["a web"]));

  ledger.close("a");
  before.takeChanged("WorkloadPlacement", object("late"));
  before.takeDeleted("WorkloadPlacement", object("web"));
  before.takeList("WorkloadPlacement", [object("listed")]);
  ledger.secretsChanged([{ logicalCluster: "a", name: "east" }]);
  expect([ledger.has("a"), ledger.isListed("a"), ledger.outbox.size, heard]).toEqual([false, false, 0, ["a web"]]);

  const after = ledger.open("a", noSecrets);
  before.takeList("ClusterRegistration", []);
  after.takeList("WorkloadPlacement", [object("web")]);
  expect(ledger.unlisted()).toEqual(["a"]);
  after.takeList("ClusterRegistration", []);
  await vi.waitFor(() => expect(sent).toEqual(["a web", "a web"]));
});
