import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Parts, SuiteSettings } from "./environment.ts";
import { useProcessEnvironment } from "./process-environment.ts";
import { syncBench } from "./sync-environment.ts";
import { aDeployment, aRoom } from "./tenant-work.ts";
import { beginUpsync, untilOriginalsDeleted, upsyncCases, upsyncNamespace } from "./upsync-cases.ts";

/** Checks upsync with the real command: an object that is created on one cluster reaches the other, and is deleted with its origin. */
export function upsyncScenario(setting: SuiteSettings, startParts: () => Promise<Parts>): void {
  const { kind, testMs, waitMs } = setting;
  describe(`upsync on ${kind} parts`, { timeout: testMs }, () => {
    const stage = useProcessEnvironment(setting, { startParts, flags: ["--resync-period=2s"] });
    const bench = syncBench(() => stage, waitMs);
    upsyncCases(bench);

    it("deletes nothing when the origin is NotReady, and drops its part from the aggregated status", async () => {
      const begun = await beginUpsync(bench);
      const { world, tenant, work, clusterObjects } = begun;
      await work.apply(...aRoom(upsyncNamespace));
      const at = { cluster: "us-west", kind: "Deployment", namespace: upsyncNamespace, name: "owl" } as const;
      await clusterObjects.create("us-west", aDeployment(upsyncNamespace, "owl", { replicas: 2 }));
      await clusterObjects.untilUpsynced(at);
      await clusterObjects.untilReady(upsyncNamespace, "owl", 4);
      const copy = await work.copy("us-east", "Deployment", upsyncNamespace, "owl");
      world.parts.clusters["us-west"].freeze();
      await tenant.untilCluster("us-west", "False ClusterUnhealthy");
      await work.untilState(upsyncNamespace, "owl", "us-west", "Stale ClusterNotReady");
      await clusterObjects.untilReady(upsyncNamespace, "owl", 2);
      expect((await work.copy("us-east", "Deployment", upsyncNamespace, "owl"))?.metadata.uid).toBe(copy?.metadata.uid);
      world.parts.clusters["us-west"].thaw();
      await tenant.untilCluster("us-west", "True ClusterReady");
      await clusterObjects.untilReady(upsyncNamespace, "owl", 4);
      await clusterObjects.delete(at);
      await untilOriginalsDeleted(bench, begun, at);
      await work.untilCleared(upsyncNamespace);
    });

    it("deletes and writes nothing when a kubeconfig leads to another cluster, until a user accepts it", async () => {
      const begun = await beginUpsync(bench);
      const { world, tenant, form, work, clusterObjects } = begun;
      const at = { cluster: "us-east", kind: "Deployment", namespace: upsyncNamespace, name: "hen" } as const;
      await clusterObjects.create("us-east", aDeployment(upsyncNamespace, "hen", { replicas: 1 }));
      const known = await clusterObjects.untilUpsynced(at);
      await clusterObjects.untilReady(upsyncNamespace, "hen", 2);
      const copy = await work.copy("us-west", "Deployment", upsyncNamespace, "hen");
      const expectKept = async (): Promise<void> => {
        expect((await work.find("Deployment", upsyncNamespace, "hen"))?.metadata.uid).toBe(known.metadata.uid);
        const present = await work.copy("us-west", "Deployment", upsyncNamespace, "hen");
        expect(present?.metadata.uid).toBe(copy?.metadata.uid);
        expect(await clusterObjects.read(at)).toBeDefined();
      };
      const path = world.clusterKubeconfigs["us-east"];
      const [own, other] = [await readFile(path, "utf8"), await readFile(world.clusterKubeconfigs["us-west"], "utf8")];
      const accept = async (): Promise<void> => {
        const accepted = await bench.run(world, ["cluster", "accept-identity", "us-east", "--yes"]);
        expect(accepted, accepted.err).toMatchObject({ code: 0 });
        await tenant.untilCluster("us-east", "True ClusterReady");
      };

      await writeFile(path, other);
      await tenant.untilCluster("us-east", "False ClusterIdentityChanged");
      await clusterObjects.untilCondition("us-east", "ClusterIdentityUnique", "False ClusterShared");
      await form.resynced(2);
      await expectKept();
      await accept();
      // The accepted cluster has none of the upsynced objects.
      await clusterObjects.untilCondition("us-east", "UpsyncHeld", "True DeletionsHeld");
      await expectKept();

      await writeFile(path, own);
      await tenant.untilCluster("us-east", "False ClusterIdentityChanged");
      await accept();
      await clusterObjects.untilCondition("us-east", "UpsyncHeld", "False NoDeletionsHeld");
      await expectKept();
      await clusterObjects.delete(at);
      await untilOriginalsDeleted(bench, begun, at);
      await work.untilCleared(upsyncNamespace);
    });
  });
}
