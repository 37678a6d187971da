import { expect, test } from "vitest";
import { workloadLanes } from "../../../lib/kcp/workload-lanes.ts";
import { createWorkloadBook } from "../../../lib/relay/workload-book.ts";
import { syncFinalizer } from "../../../lib/sync/record.ts";
import { workloadKindsWith } from "../../../lib/sync/workload-kinds.ts";

const types = workloadKindsWith();
const deployment = (name: string, finalizers: readonly string[]) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "shop", uid: name, generation: 1, resourceVersion: "1", finalizers: [...finalizers] },
});

test("what is new is told before what was looked after already, once all is listed", () => {
  const sent: string[] = [];
  const book = createWorkloadBook({
    types,
    cluster: "tenant",
    send: (items) =>
      void sent.push(...items.map(({ key, isPatient }) => `${key.name}${isPatient === true ? " patiently" : ""}`)),
    isOpen: () => true,
    onListed: () => void sent.push("listed"),
  });
  book.kindsListed();
  for (const lane of workloadLanes(types)) {
    const isOurs = lane.id === "deployments.v1.apps";
    const known = ["a", "b", "d"].map((name) => deployment(name, [syncFinalizer]));
    book.takeList(lane.id, isOurs ? [...known, deployment("c", []), deployment("e", ["of.somebody/else"])] : []);
  }
  const nameOf = (name: string): string => `deployments.v1.apps/shop/${name}`;
  const known = ["a", "b", "d"].map((name) => `${nameOf(name)} patiently`);
  expect(sent).toEqual([nameOf("c"), nameOf("e"), ...known, "listed"]);
});
