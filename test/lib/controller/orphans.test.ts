import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, expect, test } from "vitest";
import { reconcileRequestedAnnotation } from "../../../lib/relay/event-to-key/fingerprint.ts";
import { deleteOrphansAnnotation } from "../../../lib/sync/orphans/decide.ts";
import { namespaceManifest } from "../../../lib/sync/ownership/namespace-map.ts";
import { ownershipMetadata } from "../../../lib/sync/ownership/owner.ts";
import { statusOf } from "../../support/controller-environment.ts";
import {
  aDeployment,
  deployments,
  type MovesStage,
  namespaces,
  setMovesStage,
} from "../../support/moves-environment.ts";
import { placements, registrations } from "../upstream/tenants.ts";

const stages: MovesStage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

async function aStage(): Promise<MovesStage> {
  const stage = await setMovesStage({ clusterNames: ["east"] });
  stages.push(stage);
  await stage.client.create({ type: deployments, namespace: "shop" }, aDeployment("web"));
  await stage.pass(10_000);
  return stage;
}

/** Creates an object on east as TMC wrote it for a workload that is gone upstream. */
async function putOwned({ on, cluster, namespaceThere }: MovesStage, name: string, hub = "kcp"): Promise<void> {
  const locator = { hub, logicalCluster: cluster, namespace: "shop" };
  const manifest = namespaceManifest(locator);
  const at = manifest.metadata.name ?? namespaceThere();
  if (at !== namespaceThere()) await on("east").create({ type: namespaces }, manifest);
  const owner = { ...locator, registration: "east", apiVersion: "apps/v1", kind: "Deployment", name };
  const object = aDeployment(name, { namespace: at, ...ownershipMetadata(owner) });
  await on("east").create({ type: deployments, namespace: at }, object);
}

async function askAgain({ client, clock, pass }: MovesStage): Promise<void> {
  const annotations = { [reconcileRequestedAnnotation]: new Date(clock.now()).toISOString() };
  await client.patch({ ...registrations, name: "east" }, { type: "merge", body: { metadata: { annotations } } });
  await pass(3_000);
}

type Orphans = Readonly<{ count: number; names: readonly string[]; since: string }>;
const orphansOf = async ({ registration }: MovesStage): Promise<Orphans | undefined> =>
  statusOf(await registration("east")).orphanedCopies as Orphans | undefined;

test("a copy whose workload and sync record are gone is reported on its registration, and stays", async () => {
  const stage = await aStage();
  await putOwned(stage, "old");
  await putOwned(stage, "theirs", "another-hub");
  await askAgain(stage);
  expect(await orphansOf(stage)).toMatchObject({ count: 1, names: ["Deployment shop/old"] });
  await stage.pass(120_000, 10_000);
  expect(await stage.copy("east", "old")).toBeDefined();
});

test("a copy is not reported while the upstream does not answer whether its workload exists", async () => {
  const stage = await aStage();
  await putOwned(stage, "old");
  stage.tenants.kcp.faults.inject({
    match: { verb: "get", resource: "deployments" },
    effect: { kind: "status", code: 503 },
  });
  await askAgain(stage);
  expect(await orphansOf(stage)).toBeUndefined();
});

test("confirmed orphaned copies are deleted, and no other object", async () => {
  const stage = await aStage();
  await putOwned(stage, "old");
  await putOwned(stage, "theirs", "another-hub");
  const foreign: KubeObject = aDeployment("foreign", { namespace: stage.namespaceThere() });
  await stage.on("east").create({ type: deployments, namespace: stage.namespaceThere() }, foreign);
  await askAgain(stage);
  const { since } = (await orphansOf(stage)) ?? {};
  const annotations = { [deleteOrphansAnnotation]: `1@${since ?? ""}` };
  await stage.client.patch({ ...registrations, name: "east" }, { type: "merge", body: { metadata: { annotations } } });
  await stage.pass(20_000);
  expect(await orphansOf(stage)).toBeUndefined();
  const { items } = await stage.on("east").list<KubeObject>({ type: deployments });
  expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(["foreign", "theirs", "web"]);
});

test("a copy that a restored cluster brings back, of a workload that is elsewhere, is reported and stays until a user confirms", async () => {
  const stage = await aStage();
  const east = stage.clusters.get("east");
  const backup = east?.snapshot();
  if (east === undefined || backup === undefined) throw new Error("no cluster");
  await stage.change(placements.type, "shop", { spec: { clusterNames: ["west"] } });
  await stage.pass(30_000, 5_000);
  expect(await stage.where()).toBe("west");
  east.restore(backup);
  await stage.pass(70_000, 10_000);
  expect(await stage.where()).toBe("east west");
  await askAgain(stage);
  expect(await orphansOf(stage)).toMatchObject({ count: 1, names: ["Deployment shop/web"] });
  const { since } = (await orphansOf(stage)) ?? {};
  await stage.change(registrations.type, "east", {
    metadata: { annotations: { [deleteOrphansAnnotation]: `1@${since ?? ""}` } },
  });
  await stage.pass(20_000);
  expect([await stage.where(), await orphansOf(stage)]).toEqual(["west", undefined]);
});
