import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ManualClock } from "@tmc/kube/manual-clock.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type WorkloadKey, workloadKey } from "../../lib/model/key.ts";
import { matchesLastWrittenHash, newRecord, recordName, syncFinalizer } from "../../lib/sync/ownership/record.ts";
import type { RecordAddress } from "../../lib/sync/workload-hub.ts";
import type { FlushableWorkloadHub } from "../../lib/upstream/workload-hub.ts";

/** A hub of workloads and its tenant. */
export type WorkloadHubUnderTest = Readonly<{
  hub: FlushableWorkloadHub;
  /** The hub of another process for the same tenant. */
  another(): FlushableWorkloadHub;
  /** A client in the tenant's workspace, as its owner has it. */
  tenant: KubeClient;
  cluster: string;
  clock: ManualClock;
  /** The requests that the hub has made since this was last asked: `get 200`. */
  requests(): readonly string[];
  /** Has every request that is like this answered by a code, until the answer is called. */
  refuse(match: Readonly<{ verb?: string; resource?: string }>, code: number): () => void;
  stop(): Promise<void>;
}>;

const deployments = { group: "apps", version: "v1", plural: "deployments" };
const forEver = new AbortController().signal;
const events = { type: { group: "", version: "v1", plural: "events" }, namespace: "shop" };
const core = (plural: string) => ({ type: { group: "", version: "v1", plural }, namespace: "shop" });

export const aDeployment = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "shop", ...metadata },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "web", image: "nginx" }] },
    },
    ...spec,
  },
});

/** The contract of every hub of workloads, with and without a cache. */
export function workloadHubContract(
  name: string,
  { start, isCached }: Readonly<{ start: () => Promise<WorkloadHubUnderTest>; isCached: boolean }>,
): void {
  describe(name, () => {
    let at: WorkloadHubUnderTest;
    let count = 0;
    let key: WorkloadKey;
    let place: RecordAddress;
    let workloadName: string;
    beforeAll(async () => {
      at = await start();
      await at.tenant.create(
        { type: { group: "", version: "v1", plural: "namespaces" } },
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { team: "a" } } },
      );
    });
    afterAll(() => at.stop());
    beforeEach(async () => {
      workloadName = `web-${++count}`;
      const address = { type: deployments, namespace: "shop", name: workloadName };
      key = workloadKey(at.cluster, address);
      place = { logicalCluster: at.cluster, namespace: "shop", name: recordName(address) };
      await at.tenant.create({ type: deployments, namespace: "shop" }, aDeployment(workloadName));
      await vi.waitFor(async () => {
        const listed = await at.hub.list(at.cluster, deployments, forEver);
        // A list of a batch is as old as the batch.
        if (isCached) expect(listed.map(({ metadata }) => metadata.name)).toContain(workloadName);
      });
      at.requests();
    });

    const read = async (): Promise<KubeObject> => {
      const workload = await at.hub.read(key, forEver);
      if (workload === undefined) throw new Error(`${workloadName} is not there`);
      return workload;
    };
    const address = () => ({ type: deployments, namespace: "shop", name: workloadName });
    const stored = () => at.tenant.get<KubeObject>(address());
    const change = (body: object) => at.tenant.patch(address(), { type: "merge", body });

    describe("workloads", () => {
      test("are read completely", async () => {
        expect(await read()).toMatchObject({ kind: "Deployment", spec: { replicas: 1 } });
        expect(at.requests()).toEqual(isCached ? [] : ["get 200"]);
      });

      test("one that never existed is absent by an authoritative read", async () => {
        const none = workloadKey(at.cluster, { ...address(), name: "none" });
        expect(await at.hub.read(none, forEver)).toBeUndefined();
        expect(at.requests()).toEqual(["get 404"]);
      });

      test("one that was deleted is absent by an authoritative read", async () => {
        await at.tenant.delete(address());
        await vi.waitFor(async () => expect(await at.hub.read(key, forEver)).toBeUndefined());
        expect(at.requests()).toContain("get 404");
      });

      test("a type that is temporarily not served makes no object absent", async () => {
        const none = workloadKey(at.cluster, { ...address(), name: "none" });
        const end = at.refuse({ verb: "get", resource: "deployments" }, 404);
        await expect(at.hub.read(none, forEver)).rejects.toMatchObject({ fault: "unreachable" });
        end();
      });

      test("their status is written with one request, and read at once", async () => {
        const seen = await read();
        at.requests();
        const written = await at.hub.writeStatus(key, seen, { readyReplicas: 1 }, forEver);
        expect(written.status).toEqual({ readyReplicas: 1 });
        expect(at.requests()).toEqual(["patch 200"]);
        expect((await read()).status).toEqual({ readyReplicas: 1 });
        expect((await stored()).status).toEqual({ readyReplicas: 1 });
        expect((await stored()).metadata.generation).toBe(seen.metadata.generation);
      });

      test("a status is replaced completely, and an equal one is not written", async () => {
        const first = await at.hub.writeStatus(key, await read(), { replicas: 2, readyReplicas: 1 }, forEver);
        at.requests();
        expect(await at.hub.writeStatus(key, first, { readyReplicas: 1, replicas: 2 }, forEver)).toBe(first);
        expect(at.requests()).toEqual([]);
        await at.hub.writeStatus(key, first, { replicas: 2 }, forEver);
        expect((await stored()).status).toEqual({ replicas: 2 });
      });

      test("one is created, is readable at once, and never replaces another", async () => {
        const made = workloadKey(at.cluster, { ...address(), name: `${workloadName}-created` });
        const object = aDeployment(`${workloadName}-created`);
        const created = await at.hub.createWorkload(made, object, forEver);
        expect(created.metadata.uid).toBeDefined();
        expect((await at.hub.read(made, forEver))?.metadata.uid).toBe(created.metadata.uid);
        await expect(at.hub.createWorkload(made, object, forEver)).rejects.toMatchObject({ fault: "exists" });
      });

      test("an update sets the desired fields and keeps the status", async () => {
        await at.tenant.patch(address(), {
          type: "merge",
          body: { metadata: { labels: { old: "1", both: "1" }, annotations: { old: "1" } }, spec: { paused: true } },
        });
        const before = await at.hub.writeStatus(key, await stored(), { replicas: 2 }, forEver);
        const wanted = aDeployment(workloadName, { replicas: 4 }, { labels: { both: "2" } });
        const written = await at.hub.updateWorkload(key, before, wanted, forEver);
        const { metadata, spec, status } = await stored();
        expect(metadata.labels).toEqual({ both: "2" });
        expect(metadata.annotations).not.toHaveProperty("old");
        expect(spec).toEqual(wanted.spec);
        expect(status).toEqual({ replicas: 2 });
        at.requests();
        const again = { ...wanted, metadata: { ...wanted.metadata, annotations: metadata.annotations ?? {} } };
        expect(await at.hub.updateWorkload(key, written, again, forEver)).toBe(written);
        expect(at.requests()).toEqual([]);
        await expect(at.hub.updateWorkload(key, before, aDeployment(workloadName), forEver)).rejects.toMatchObject({
          fault: "conflict",
        });
      });

      test("one is deleted with its uid and resourceVersion, and not after a change", async () => {
        const seen = await stored();
        await change({ metadata: { labels: { mine: "1" } } });
        await expect(at.hub.deleteWorkload(key, seen, forEver)).rejects.toMatchObject({ fault: "conflict" });
        await at.hub.deleteWorkload(key, await stored(), forEver);
        expect(await at.hub.read(key, forEver)).toBeUndefined();
        // What has gone need not be removed.
        await at.hub.deleteWorkload(key, seen, forEver);
      });

      test("a write of finalizers changes nothing else", async () => {
        const seen = await read();
        const guarded = await at.hub.writeFinalizers(key, seen, [syncFinalizer], forEver);
        expect((await stored()).metadata.finalizers).toEqual([syncFinalizer]);
        expect((await stored()).spec).toEqual(seen.spec);
        expect(await at.hub.writeFinalizers(key, guarded, [syncFinalizer], forEver)).toBe(guarded);
        await at.hub.writeFinalizers(key, guarded, [], forEver);
        expect((await stored()).metadata.finalizers ?? []).toEqual([]);
      });

      test("a write with an older resourceVersion conflicts, and the next read is fresh", async () => {
        const seen = await read();
        await change({ spec: { replicas: 5 } });
        await expect(at.hub.writeStatus(key, seen, { replicas: 9 }, forEver)).rejects.toMatchObject({
          fault: "conflict",
        });
        expect(await read()).toMatchObject({ spec: { replicas: 5 } });
      });

      test("one that ends with its last finalizer is absent at the next read", async () => {
        await at.hub.writeFinalizers(key, await read(), [syncFinalizer], forEver);
        await at.tenant.delete(address());
        const dying = await vi.waitFor(async () => {
          const seen = await read();
          expect(seen.metadata.deletionTimestamp).toBeDefined();
          return seen;
        });
        await at.hub.writeFinalizers(key, dying, [], forEver);
        expect(await at.hub.read(key, forEver)).toBeUndefined();
      });
    });

    describe("records", () => {
      const wanted = async () => newRecord(place.name, await read(), "kcp");

      test("a record that was never created is absent", async () => {
        expect(await at.hub.readRecord(place, forEver)).toBeUndefined();
        expect(at.requests()).toEqual(isCached ? [] : ["get 404"]);
      });

      test("records are readable after their creation, and are labeled as TMC's", async () => {
        const made = await at.hub.createRecord(place, await wanted(), forEver);
        expect(await at.hub.readRecord(place, forEver)).toEqual(made);
        expect(matchesLastWrittenHash(made)).toBe(true);
        expect(made.metadata.finalizers).toEqual([syncFinalizer]);
        await vi.waitFor(async () =>
          expect((await at.hub.listRecords(at.cluster, forEver)).map((each) => each.metadata.name)).toContain(
            place.name,
          ),
        );
      });

      test("a relist includes records of another process", async () => {
        await at.hub.listRecords(at.cluster, forEver);
        await at.another().createRecord(place, await wanted(), forEver);
        const names = async () =>
          (await at.hub.listRecordsUncached(at.cluster, forEver)).map(({ metadata }) => metadata.name);
        if (isCached) await vi.waitFor(async () => expect(await names()).toContain(place.name));
        else expect(await names()).toContain(place.name);
      });

      test("a second record of the same name conflicts, and the first is read", async () => {
        await at.hub.createRecord(place, await wanted(), forEver);
        const second = at.hub.createRecord(place, await wanted(), forEver);
        await expect(second).rejects.toMatchObject({ fault: "exists" });
        expect((await at.hub.readRecord(place, forEver))?.metadata.name).toBe(place.name);
      });

      test("a record's spec is written with one request and with TMC's field manager", async () => {
        const made = await at.hub.createRecord(place, await wanted(), forEver);
        at.requests();
        const spec = { ...made.spec, placement: "all", clusters: ["east", "west"] };
        const written = await at.hub.writeRecord(place, made, { ...made, spec }, forEver);
        expect(at.requests()).toEqual(["patch 200"]);
        expect(written.spec).toEqual(spec);
        expect(matchesLastWrittenHash(written)).toBe(true);
        expect(await at.hub.writeRecord(place, written, written, forEver)).toBe(written);
        const fewer = { ...written, spec: { ...written.spec, clusters: ["west"] } };
        expect((await at.hub.writeRecord(place, written, fewer, forEver)).spec.clusters).toEqual(["west"]);
        expect(at.requests()).toEqual(["patch 200"]);
      });

      test("a record's status is written through its subresource", async () => {
        const made = await at.hub.createRecord(place, await wanted(), forEver);
        const status = { clusters: [{ name: "east", state: "Ready" as const }] };
        const written = await at.hub.writeRecordStatus(place, made, status, forEver);
        expect([written.status, written.spec, matchesLastWrittenHash(written)]).toEqual([status, made.spec, true]);
        expect((await at.hub.readRecord(place, forEver))?.status).toEqual(status);
      });

      test("a record's status that the server rejects is written again with its reasons alone", async () => {
        const made = await at.hub.createRecord(place, await wanted(), forEver);
        const condition = { type: "Ready", reason: "NotReady", lastTransitionTime: "2026-01-01T00:00:00Z" };
        const good = { conditions: [{ ...condition, status: "True" as const, message: "well" }] };
        const before = await at.hub.writeRecordStatus(place, made, good, forEver);
        // Longer than the schema allows.
        const bad = { conditions: [{ ...condition, status: "False" as const, message: "x".repeat(40_000) }] };
        await at.hub.writeRecordStatus(place, before, bad, forEver);
        expect((await at.hub.readRecord(place, forEver))?.status?.conditions).toMatchObject([
          { status: "False", reason: "NotReady", message: "the API server rejected the details of this status" },
        ]);
      });
    });

    describe("dependencies of workloads", () => {
      test("the labels of namespaces", async () => {
        expect(await at.hub.namespaceLabels(at.cluster, "shop", forEver)).toMatchObject({ team: "a" });
        expect(await at.hub.namespaceLabels(at.cluster, "nowhere", forEver)).toBeUndefined();
      });

      test("a dependency has a version that changes with its content, and is readable", async () => {
        const reference = {
          logicalCluster: at.cluster,
          namespace: "shop",
          kind: "Secret",
          name: `key-${count}`,
        } as const;
        expect(await at.hub.referenceVersion(reference, forEver)).toBeUndefined();
        const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: reference.name }, stringData: { a: "1" } };
        await at.tenant.create(core("secrets"), secret);
        const version = await at.hub.referenceVersion(reference, forEver);
        expect(version).toBeDefined();
        await at.tenant.patch(
          { ...core("secrets"), name: reference.name },
          { type: "merge", body: { stringData: { a: "2" } } },
        );
        await vi.waitFor(async () => expect(await at.hub.referenceVersion(reference, forEver)).not.toBe(version));
        expect(await at.hub.readReference(reference, forEver)).toMatchObject({ data: { a: "Mg==" } });
      });

      test("a PersistentVolumeClaim keeps its version when its status changes", async () => {
        const reference = {
          logicalCluster: at.cluster,
          namespace: "shop",
          kind: "PersistentVolumeClaim",
          name: `disk-${count}`,
        } as const;
        const claims = core("persistentvolumeclaims");
        await at.tenant.create(claims, {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: reference.name, namespace: "shop" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        });
        const version = await at.hub.referenceVersion(reference, forEver);
        const claim = workloadKey(at.cluster, { ...claims, name: reference.name });
        const seen = await at.hub.read(claim, forEver);
        expect(seen).toBeDefined();
        if (seen !== undefined) await at.hub.writeStatus(claim, seen, { phase: "Bound" }, forEver);
        expect(await at.hub.referenceVersion(reference, forEver)).toBe(version);
      });

      test("a dependency is read completely, and listed by its metadata alone", async () => {
        const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `map-${count}` }, data: { a: "1" } };
        const last = { "kubectl.kubernetes.io/last-applied-configuration": "{}" };
        const metadata = { ...map.metadata, annotations: last };
        await at.tenant.create(core("configmaps"), { ...map, metadata });
        const own = workloadKey(at.cluster, { ...core("configmaps"), name: map.metadata.name });
        expect(await at.hub.read(own, forEver)).toMatchObject({ kind: "ConfigMap", data: { a: "1" } });
        const listed = await vi.waitFor(async () => {
          const all = await at.hub.list(at.cluster, core("configmaps").type, forEver);
          const found = all.find((each) => each.metadata.name === map.metadata.name);
          expect(found).toBeDefined();
          return found;
        });
        expect(listed).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
        expect(listed?.data).toBeUndefined();
        expect(listed?.metadata.annotations?.["kubectl.kubernetes.io/last-applied-configuration"]).toBeUndefined();
      });
    });

    describe("Events", () => {
      const event = { type: "Warning", reason: "SyncFailed", message: "east refuses it" } as const;
      const recordedEvents = async (): Promise<readonly KubeObject[]> => {
        await at.hub.whenFlushed();
        const { items } = await at.tenant.list<KubeObject>(events);
        return items.filter(({ involvedObject }) => JSON.stringify(involvedObject).includes(`"${workloadName}"`));
      };

      test("equal Events are one object, counted at most once a minute", async () => {
        const about = await read();
        at.hub.recordEvent(key, about, event);
        at.hub.recordEvent(key, about, event);
        at.hub.recordEvent(key, about, { ...event, message: "west refuses it" });
        expect((await recordedEvents()).map(({ message, count: times }) => [message, times]).toSorted()).toEqual([
          ["east refuses it", 1],
          ["west refuses it", 1],
        ]);
        at.clock.advance(61_000);
        at.hub.recordEvent(key, about, event);
        expect((await recordedEvents()).map(({ message, count: times }) => [message, times]).toSorted()).toEqual([
          ["east refuses it", 2],
          ["west refuses it", 1],
        ]);
      });

      test("an equal Event of another process is the same object", async () => {
        const about = await read();
        at.hub.recordEvent(key, about, event);
        await at.hub.whenFlushed();
        const other = at.another();
        other.recordEvent(key, about, event);
        await other.whenFlushed();
        const all = await recordedEvents();
        expect(all).toMatchObject([{ type: "Warning", reason: "SyncFailed", involvedObject: { kind: "Deployment" } }]);
        expect(all.map(({ count: times }) => times)).toEqual([2]);
      });

      test("an Event that the server has expired is created again", async () => {
        const about = await read();
        at.hub.recordEvent(key, about, event);
        const [stored] = await recordedEvents();
        await at.tenant.delete({ ...events, name: stored?.metadata.name ?? "" });
        at.clock.advance(61_000);
        at.hub.recordEvent(key, about, event);
        expect((await recordedEvents()).map(({ count: times }) => times)).toEqual([1]);
      });

      test("a failed write of an Event fails no reconcile", async () => {
        const end = at.refuse({ resource: "events" }, 403);
        at.hub.recordEvent(key, await read(), { ...event, reason: "Rejected" });
        await at.hub.whenFlushed();
        end();
        expect(await recordedEvents()).toEqual([]);
      });
    });

    test("a workspace that forbids everything gives the fault of its response", async () => {
      const end = at.refuse({ verb: "patch", resource: "deployments" }, 500);
      const error = await at.hub
        .writeFinalizers(key, await read(), ["a/b"], forEver)
        .catch((thrown: unknown) => thrown);
      end();
      expect([error instanceof ApiError, faultOf(error)]).toEqual([true, "unreachable"]);
    });
  });
}
