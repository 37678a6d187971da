import { expect, test } from "vitest";
import { allWorkloadTypes } from "../../../../lib/api/workload-kinds.ts";
import { createWorkloadTracker } from "../../../../lib/relay/event-to-key/workload-tracker.ts";
import {
  lastWrittenHashAnnotation,
  newRecord,
  recordHash,
  syncFinalizer,
} from "../../../../lib/sync/ownership/record.ts";
import { recordResource, watchedResources } from "../../../../lib/upstream/watched-resources.ts";

const types = allWorkloadTypes();
const deployment = (name: string, finalizers: readonly string[]) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "shop", uid: name, generation: 1, resourceVersion: "1", finalizers: [...finalizers] },
});

/** A tracker, and what it has sent so far. */
function aTracker() {
  const sent: string[] = [];
  const tracker = createWorkloadTracker({
    types,
    logicalCluster: "tenant",
    send: (items) =>
      void sent.push(
        ...items.map(({ key, isLowPriority }) => `${key.name}${isLowPriority === true ? " at low priority" : ""}`),
      ),
    isTracked: () => true,
    onListed: () => void sent.push("listed"),
  });
  return { tracker, sent };
}

const nameOf = (name: string): string => `deployments.v1.apps/shop/${name}`;

test("sends the keys of new workloads before those that already have TMC's finalizer, once everything is listed", () => {
  const { tracker, sent } = aTracker();
  tracker.kindsAreListed();
  for (const resource of watchedResources(types)) {
    const isDeployments = resource.id === "deployments.v1.apps";
    const known = ["a", "b", "d"].map((name) => deployment(name, [syncFinalizer]));
    tracker.listed(
      resource.id,
      isDeployments ? [...known, deployment("c", []), deployment("e", ["example.com/other"])] : [],
    );
  }
  const known = ["a", "b", "d"].map((name) => `${nameOf(name)} at low priority`);
  expect(sent).toEqual([nameOf("c"), nameOf("e"), ...known, "listed"]);
});

test("sends only the keys of new workloads while the sync records are not listed", () => {
  const { tracker, sent } = aTracker();
  for (const { id, role } of watchedResources(types)) {
    if (role === "record") continue;
    tracker.listed(id, id === "deployments.v1.apps" ? [deployment("a", [syncFinalizer]), deployment("b", [])] : []);
  }
  expect(sent).toEqual([]);
  tracker.kindsAreListed();
  expect(sent).toEqual([nameOf("b")]);
  tracker.changed("deployments.v1.apps", deployment("c", []));
  tracker.changed("deployments.v1.apps", { ...deployment("a", [syncFinalizer]), spec: { replicas: 2 } });
  expect(sent).toEqual([nameOf("b"), nameOf("c")]);

  // Their reconciles ran without the sync records, so their keys are sent again; b has the finalizer by now.
  tracker.changed("deployments.v1.apps", deployment("b", [syncFinalizer]));
  sent.length = 0;
  tracker.listed(recordResource.id, []);
  expect(sent).toEqual([nameOf("c"), `${nameOf("a")} at low priority`, `${nameOf("b")} at low priority`, "listed"]);
});

test("sends a workload again when it or its sync record went back to an older version", () => {
  const versions: string[] = [];
  const tracker = createWorkloadTracker({
    types,
    logicalCluster: "tenant",
    send: (items) =>
      void versions.push(...items.map(({ key, resourceVersion = "none" }) => `${key.name} ${resourceVersion}`)),
    isTracked: () => true,
    onListed: () => {},
  });
  const at = (name: string, resourceVersion: string) => {
    const object = deployment(name, [syncFinalizer]);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  };
  const recordOf = (name: string, resourceVersion: string) => {
    const workload = { apiVersion: "apps/v1", kind: "Deployment", name, uid: name };
    const record = newRecord(`record-${name}`, { ...deployment(name, []), spec: {} }, "kcp");
    const annotations = { [lastWrittenHashAnnotation]: recordHash({ ...record, spec: { workload } }) };
    const metadata = { ...record.metadata, uid: `record-${name}`, resourceVersion, annotations };
    return { ...record, metadata, spec: { workload } };
  };
  tracker.kindsAreListed();
  for (const { id, role } of watchedResources(types)) {
    if (id === "deployments.v1.apps") tracker.listed(id, [at("a", "20"), at("b", "21")], "30");
    else tracker.listed(id, role === "record" ? [recordOf("a", "25"), recordOf("b", "26")] : [], "30");
  }
  versions.length = 0;
  tracker.changed("deployments.v1.apps", at("a", "40"));
  tracker.changed(recordResource.id, recordOf("b", "41"));
  expect(versions).toEqual([]);

  tracker.listed("deployments.v1.apps", [at("a", "20"), at("b", "21")], "1000030");
  expect(versions.splice(0)).toEqual([`${nameOf("a")} none`]);
  tracker.listed(recordResource.id, [recordOf("a", "25"), recordOf("b", "26")], "1000030");
  expect(versions.splice(0)).toEqual([`${nameOf("b")} none`]);
  tracker.listed(recordResource.id, [recordOf("a", "25"), recordOf("b", "26")], "1000031");
  expect(versions).toEqual([]);
});
