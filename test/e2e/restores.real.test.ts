import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { clusterNames } from "./environment.ts";
import { useProcessEnvironment } from "./process-environment.ts";
import { type Backup, type RealParts, startRealParts } from "./real-parts.ts";
import { syncBench } from "./sync-environment.ts";
import { aDeployment, aRoom, type Deployment } from "./tenant-work.ts";

const setting = { kind: "real", testMs: 240_000, waitMs: 100_000, startMs: 240_000 } as const;

describe("restores of real servers from copies of their etcd data", { timeout: setting.testMs }, () => {
  let parts: RealParts | undefined;
  // Neither a resync nor a probe helps: watches and lists alone have to notice.
  const flags = ["--resync-period=2h", "--heartbeat-interval=1h"];
  const startParts = async (): Promise<RealParts> => {
    parts = await startRealParts({ workloads: true });
    return parts;
  };
  const stage = useProcessEnvironment(setting, { startParts, flags });
  const { begin, waitMs } = syncBench(() => stage, setting.waitMs);
  const backup = (name: "kcp" | "us-east"): Backup => {
    if (parts === undefined) throw new Error("the parts have not started");
    return parts.backups[name];
  };

  it("a cluster gets its copies again, and kcp's state is the truth again", async () => {
    const { tenant, work } = await begin();
    for (const name of clusterNames) await tenant.register(name, { location: `${name}-1` });
    for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
    await work.apply(...aRoom("vault"), aDeployment("vault", "web"), aDeployment("vault", "old"));
    for (const name of ["web", "old"]) await work.untilRuns("vault", name, { "us-east": 1, "us-west": 1 });
    await Promise.all([backup("kcp").take(), backup("us-east").take()]);

    await work.merge("Deployment", "vault", "web", { spec: { replicas: 2 } });
    await work.apply(aDeployment("vault", "young"));
    await work.remove("Deployment", "vault", "old");
    await work.untilRuns("vault", "web", { "us-east": 2, "us-west": 2 });
    await work.untilRuns("vault", "young", { "us-east": 1, "us-west": 1 });

    await backup("us-east").restore();
    await work.untilRuns("vault", "young", { "us-east": 1, "us-west": 1 });
    await work.untilRuns("vault", "web", { "us-east": 2, "us-west": 2 });

    await backup("kcp").restore();
    await work.untilRuns("vault", "web", { "us-east": 1, "us-west": 1 });
    await work.untilRuns("vault", "old", { "us-east": 1, "us-west": 1 });
    await work.merge("Deployment", "vault", "web", { spec: { replicas: 3 } });
    await work.untilRuns("vault", "web", { "us-east": 3, "us-west": 3 });
    await work.remove("Deployment", "vault", "web");
    await eventually(async () => {
      const left = [await work.find("Deployment", "vault", "web"), await work.record("vault", "web")];
      return left.every((each) => each === undefined) ? undefined : `left of web: ${JSON.stringify(left)}`;
    }, waitMs);
    // kcp does not know of it any more, and nobody has deleted it.
    expect(await work.copy<Deployment>("us-west", "Deployment", "vault", "young")).toBeDefined();
  });
});
