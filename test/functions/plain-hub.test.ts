import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { expect, test } from "vitest";
import { kinds } from "../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../lib/api/resource-schema.ts";
import { createHeartbeatPlanner } from "../../lib/lambda/heartbeat.ts";
import { createProbe } from "../../lib/lambda/probe.ts";
import { createReconcile } from "../../lib/lambda/reconcile.ts";
import { createResyncer } from "../../lib/lambda/resync.ts";
import { statusOf } from "../lib/controller/stage.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { eventually } from "../support/eventually.ts";
import { eventOf } from "./recording-sqs.ts";
import { clusterToken, contextOf, setCloudStage } from "./stage.ts";

test("a plain Kubernetes cluster with our kinds is a hub too", async () => {
  const stage = await setCloudStage();
  const west = stage.clusters.get("west");
  if (west === undefined) throw new Error("there is no west");
  const hub = createKubeClient({ endpoint: { server: west.url }, transport: west.transport() });
  const crds = { type: { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" } };
  for (const kind of kinds) await hub.create(crds, customResourceDefinition(kind));
  await eventually(async () => hub.listAll(placements).then(() => undefined, String));
  await hub.create(registrations, aRegistration("east"));
  await hub.create(placements, aPlacement("web"));

  const { secrets } = stage.secrets;
  secrets.set("tmc/hub", JSON.stringify({ server: "https://hub.example.com", token: clusterToken }));
  secrets.set("tmc/_/east", secrets.get(`tmc/${stage.cluster}/east`) ?? "");
  const host = () => stage.host({ TMC_HUB: "kubernetes", TMC_KCP_SECRET: "tmc/hub", TMC_WORKSPACES: "" });
  const cloud = { ...stage.cloud, openHubTransport: () => west.transport() };

  await createHeartbeatPlanner(host(), cloud)({}, contextOf());
  await createProbe(host(), cloud)(eventOf(stage.sqs.take("heartbeat")), contextOf());
  await createReconcile(host(), cloud)(eventOf(stage.sqs.take("work.fifo")), contextOf());
  expect(statusOf(await hub.get({ ...placements, name: "web" })).selectedClusters).toEqual(["east"]);
  expect(await createResyncer(host(), cloud)({}, contextOf())).toEqual({ keys: 2, sent: 2 });
  await hub.close();
  await stage.stop();
});
