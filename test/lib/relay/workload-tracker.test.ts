import { expect, test } from "vitest";
import { workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { createWorkloadBook } from "../../../lib/relay/workload-tracker.ts";
import { syncFinalizer } from "../../../lib/sync/ownership/record.ts";
import { recordLane, workloadLanes } from "../../../lib/upstream/watched-resources.ts";

const types = workloadKindsWith();
const deployment = (name: string, finalizers: readonly string[]) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "shop", uid: name, generation: 1, resourceVersion: "1", finalizers: [...finalizers] },
});

/** A book, and what it has sent so far. */
function aBook() {
  const sent: string[] = [];
  const book = createWorkloadBook({
    types,
    logicalCluster: "tenant",
    send: (items) =>
      void sent.push(
        ...items.map(({ key, isLowPriority }) => `${key.name}${isLowPriority === true ? " patiently" : ""}`),
      ),
    isOpen: () => true,
    onListed: () => void sent.push("listed"),
  });
  return { book, sent };
}

const nameOf = (name: string): string => `deployments.v1.apps/shop/${name}`;

test("what is new is told before what was looked after already, once all is listed", () => {
  const { book, sent } = aBook();
  book.kindsListed();
  for (const lane of workloadLanes(types)) {
    const isOurs = lane.id === "deployments.v1.apps";
    const known = ["a", "b", "d"].map((name) => deployment(name, [syncFinalizer]));
    book.takeList(lane.id, isOurs ? [...known, deployment("c", []), deployment("e", ["of.somebody/else"])] : []);
  }
  const known = ["a", "b", "d"].map((name) => `${nameOf(name)} patiently`);
  expect(sent).toEqual([nameOf("c"), nameOf("e"), ...known, "listed"]);
});

test("what is new is told though the records are still to come, and no other", () => {
  const { book, sent } = aBook();
  for (const { id, role } of workloadLanes(types)) {
    if (role === "record") continue;
    book.takeList(id, id === "deployments.v1.apps" ? [deployment("a", [syncFinalizer]), deployment("b", [])] : []);
  }
  expect(sent).toEqual([]);
  book.kindsListed();
  expect(sent).toEqual([nameOf("b")]);
  book.takeChanged("deployments.v1.apps", deployment("c", []));
  book.takeChanged("deployments.v1.apps", { ...deployment("a", [syncFinalizer]), spec: { replicas: 2 } });
  expect(sent).toEqual([nameOf("b"), nameOf("c")]);

  // Whoever looked at them had not been told everything: they are looked at again, b as one that is under way by now.
  book.takeChanged("deployments.v1.apps", deployment("b", [syncFinalizer]));
  sent.length = 0;
  book.takeList(recordLane.id, []);
  expect(sent).toEqual([nameOf("c"), `${nameOf("a")} patiently`, `${nameOf("b")} patiently`, "listed"]);
});
