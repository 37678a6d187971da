import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { clusterNames, type RestorableParts, type SuiteSettings } from "./environment.ts";
import { useProcessEnvironment } from "./process-environment.ts";
import { syncBench } from "./sync-environment.ts";
import { aDeployment, aRoom, present, uidsIn, workTypes } from "./tenant-work.ts";

const both = (replicas: number) => ({ "us-east": replicas, "us-west": replicas });

/** How a server is restored, with the namespace of its case. */
const waysToRestore = {
  backups: { title: "a copy of its data", room: "vault" },
  snapshots: { title: "a snapshot, with bumped revisions", room: "bank" },
} as const;
type Way = keyof typeof waysToRestore;

/** Holds the running controller to what it promises when kcp or a cluster is restored from a backup. */
export function restoresScenario(
  setting: SuiteSettings,
  startParts: () => Promise<RestorableParts>,
  ways: readonly Way[] = ["backups", "snapshots"],
): void {
  const { kind, testMs, waitMs, startMs } = setting;
  describe(`restores of ${kind} servers`, { timeout: testMs }, () => {
    let parts: RestorableParts;
    const stage = useProcessEnvironment(setting, {
      startParts: async () => {
        parts = await startParts();
        return parts;
      },
      // Neither a resync nor a probe helps: watches and lists alone have to notice.
      flags: ["--resync-period=2h", "--heartbeat-interval=1h"],
    });
    const bench = syncBench(() => stage, waitMs);
    const { begin } = bench;

    beforeAll(async () => {
      const { tenant } = await begin();
      for (const name of clusterNames) await tenant.register(name, { location: `${name}-1` });
      for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
    }, startMs);

    it.each(ways.map((way) => ({ way, ...waysToRestore[way] })))(
      "a cluster and kcp are restored from $title: nothing is deleted, and every change is seen",
      async ({ way, room }) => {
        const { world, tenant, work } = await begin();
        const controller = await stage.running();
        const uids = async (...names: readonly string[]): Promise<readonly string[]> =>
          (await uidsIn(world, work.namespaceOn(room))).filter((line) =>
            names.some((name) => line.includes(`/${name} `)),
          );
        await work.apply(...aRoom(room), aDeployment(room, "web"), aDeployment(room, "old"));
        for (const name of ["web", "old"]) await work.untilRuns(room, name, both(1));
        await Promise.all([parts[way].kcp.take(), parts[way]["us-east"].take()]);

        await work.merge("Deployment", room, "web", { spec: { replicas: 2 } });
        await work.apply(aDeployment(room, "young"));
        await work.remove("Deployment", room, "old");
        await work.untilRuns(room, "web", both(2));
        await work.untilRuns(room, "young", both(1));
        const written = await uids("web", "young");

        await parts[way]["us-east"].restore();
        await work.untilRuns(room, "young", both(1));
        await work.untilRuns(room, "web", both(2));
        const restored = await uids("web", "young");
        // The cluster knows web from before; only young is new there.
        expect(restored.filter((line) => !line.startsWith("us-east/young "))).toEqual(
          written.filter((line) => !line.startsWith("us-east/young ")),
        );

        await parts[way].kcp.restore();
        await work.untilRuns(room, "web", both(1));
        await work.untilRuns(room, "old", both(1));
        await work.merge("Deployment", room, "web", { spec: { replicas: 3 } });
        await work.untilRuns(room, "web", both(3));
        for (const name of ["web", "old"]) {
          for (const cluster of clusterNames) await work.untilState(room, name, cluster, "Ready");
        }
        for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
        // A write that conflicts again and again keeps its key failing.
        await eventually(async () => {
          const failing = await controller.metric("tmc_queue_failing_keys");
          return failing === 0 ? undefined : `${failing} keys fail`;
        }, waitMs);
        // kcp does not know young any more, and nobody has deleted it.
        expect(await uids("web", "young")).toEqual(restored);

        await work.remove("Deployment", room, "web");
        await eventually(async () => {
          const left = [await work.find("Deployment", room, "web"), await work.record(room, "web")];
          return left.every((each) => each === undefined) ? undefined : `left of web: ${JSON.stringify(left)}`;
        }, waitMs);
        await eventually(async () => {
          const left = await uids("web");
          return left.length === 0 ? undefined : `left of web: ${left.join(", ")}`;
        }, waitMs);
        expect(await uids("young")).toEqual(restored.filter((line) => line.includes("/young ")));
      },
    );

    it("reports the copies that a restored kcp does not know, and deletes them only on request, and only them", async () => {
      const { world, tenant, work } = await begin();
      const run = (...args: readonly string[]) => bench.run(world, args);
      const rooms = ways.map((way) => waysToRestore[way].room).toSorted();
      const namespace = work.namespaceOn(rooms[0] ?? "");
      const stranger: KubeObject = aDeployment(namespace, "stranger");
      await world.clusterClient("us-east").create({ type: workTypes.Deployment, namespace }, stranger);
      const all = async (): Promise<readonly string[]> =>
        (await Promise.all(rooms.map((room) => uidsIn(world, work.namespaceOn(room))))).flat().toSorted();
      const before = await all();

      const names = rooms.map((room) => `Deployment ${room}/young`);
      for (const name of clusterNames) {
        // A search that takes too long on a busy machine ends without a result.
        await eventually(async () => {
          const asked = await run("reconcile", "cluster", name);
          expect(asked, asked.err).toMatchObject({ code: 0 });
          const { orphanedCopies } = (await tenant.cluster(name)).status ?? {};
          const isReported = JSON.stringify(orphanedCopies?.names) === JSON.stringify(names);
          return isReported ? undefined : `${name}: ${JSON.stringify(orphanedCopies)}`;
        }, waitMs);
      }
      const listed = await run("orphans");
      expect(listed, listed.err).toMatchObject({ code: 0 });
      for (const name of names) expect(listed.out.split(name), name).toHaveLength(clusterNames.length + 1);
      expect(await all()).toEqual(before);

      const deleted = await run(
        "orphans",
        "--cluster",
        "us-east",
        "--delete",
        "--yes",
        "--timeout",
        `${waitMs / 1000}s`,
      );
      expect(deleted, deleted.err).toMatchObject({ code: 0 });
      // Those on the other cluster were not asked for.
      expect(await all()).toEqual(before.filter((line) => !line.startsWith("us-east/young ")));
      const { metadata, status } = await tenant.cluster("us-east");
      expect([metadata.annotations?.["tmc.kcp.io/delete-orphaned-copies"], status?.orphanedCopies]).toEqual([
        undefined,
        undefined,
      ]);
      expect((await tenant.cluster("us-west")).status?.orphanedCopies?.count).toBe(rooms.length);
      const left = await present(
        world.clusterClient("us-east").get({ type: workTypes.Deployment, namespace, name: "stranger" }),
      );
      expect(left).toBeDefined();
    });
  });
}
