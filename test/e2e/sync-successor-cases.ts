import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { ownerAnnotation } from "../../lib/sync/ownership/owner.ts";
import { eventually } from "../support/eventually.ts";
import { clusterNames } from "./environment.ts";
import type { SyncBench } from "./sync-environment.ts";
import { aRoom, workTypes } from "./tenant-work.ts";

/** Objects that are deleted and created again under the same name, as `kubectl replace --force` does. */
export function syncSuccessorCases({ begin, waitMs }: SyncBench): void {
  it("gives an object that was created again a record of its own, and keeps its copies as its placement says", async () => {
    const { world, form, work } = await begin();
    const configMaps = { workloadTypes: [{ apiVersion: "v1", kind: "ConfigMap" }], namespaces: ["desk"] };
    const [namespace, placement] = aRoom("desk", { strategy: "Spread", workloadSelector: configMaps });
    const replaced: KubeObject = {
      apiVersion: "tmc.kcp.io/v1alpha1",
      kind: "WorkloadPlacement",
      metadata: { name: "desk-labelled" },
      spec: {
        strategy: "Spread",
        deletionPolicy: "Orphan",
        workloadSelector: { ...configMaps, labelSelector: { matchLabels: { kept: "yes" } } },
      },
    };
    const note = (labels: Readonly<Record<string, string>>, data: Readonly<Record<string, string>>): KubeObject => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "note", namespace: "desk", labels },
      data,
    });
    const copies = () => Promise.all(clusterNames.map((name) => work.copy(name, "ConfigMap", "desk", "note")));
    const untilCopies = (text: string) =>
      eventually(async () => {
        const found = await copies();
        return found.every((copy) => JSON.stringify(copy?.data) === JSON.stringify({ text }))
          ? undefined
          : `the clusters have ${JSON.stringify(found.map((copy) => copy?.data))}`;
      }, waitMs);
    if (namespace === undefined || placement === undefined) throw new Error("the room has two objects");
    await work.apply(namespace, placement, note({}, { text: "one" }));
    await untilCopies("one");
    const uids = (await copies()).map((copy) => copy?.metadata.uid);

    // The garbage collector of the workspace marks the record while the controller is down.
    await form.kill();
    await work.remove("ConfigMap", "desk", "note");
    await eventually(async () => {
      const record = await work.record("desk", "note", "ConfigMap");
      return record?.metadata.deletionTimestamp === undefined ? "the record is not terminating yet" : undefined;
    }, waitMs);
    await work.apply(replaced, note({ kept: "yes" }, { text: "two" }));
    const successor = await work.find("ConfigMap", "desk", "note");
    await form.running();
    await untilCopies("two");
    await eventually(async () => {
      const record = await work.record("desk", "note", "ConfigMap");
      const isNew =
        record?.metadata.deletionTimestamp === undefined && record?.spec.workload.uid === successor?.metadata.uid;
      return isNew ? undefined : `the record is ${JSON.stringify(record)}`;
    }, waitMs);
    expect((await work.record("desk", "note", "ConfigMap"))?.spec).toMatchObject({
      placement: "desk-labelled",
      deletionPolicy: "Orphan",
      clusters: [...clusterNames],
    });
    expect((await copies()).map((copy) => copy?.metadata.uid)).toEqual(uids);

    // No placement selects it any more: its own one says that the copies stay.
    await work.remove("WorkloadPlacement", undefined, "desk");
    await work.remove("WorkloadPlacement", undefined, "desk-labelled");
    await eventually(async () => {
      const found = await copies();
      const isReleased = found.every((copy) => copy?.metadata.annotations?.[ownerAnnotation] === undefined);
      return isReleased ? undefined : "a copy still has its owner annotation";
    }, waitMs);
    expect((await copies()).map((copy) => copy?.metadata.uid)).toEqual(uids);
    await work.remove("ConfigMap", "desk", "note");
    for (const name of clusterNames) {
      await world.clusterClient(name).delete({ type: workTypes.Namespace, name: work.namespaceOn("desk") });
    }
    await work.untilCleared("desk");
  });
}
