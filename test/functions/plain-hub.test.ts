import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { expect, test } from "vitest";
import { kinds } from "../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../lib/api/resource-schema.ts";
import { createHeartbeatFunction } from "../../lib/lambda/heartbeat.ts";
import { createProbeFunction } from "../../lib/lambda/probe.ts";
import { createReconcileFunction } from "../../lib/lambda/reconcile.ts";
import { createResyncFunction } from "../../lib/lambda/resync.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { statusOf } from "../support/controller-environment.ts";
import { eventually } from "../support/eventually.ts";
import { clusterToken, contextOf, secretNameOf, startFunctionsEnvironment } from "../support/functions-environment.ts";
import { eventOf } from "./recording-sqs.ts";

test("a plain Kubernetes cluster with TMC's CRDs can be the upstream of the functions", async () => {
  const stage = await startFunctionsEnvironment();
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
  secrets.set(secretNameOf("_", "east"), secrets.get(secretNameOf(stage.cluster, "east")) ?? "");
  const host = () => stage.host({ TMC_HUB: "kubernetes", TMC_KCP_SECRET: "tmc/hub", TMC_WORKSPACES: "" });
  const cloud = { ...stage.cloud, openHubTransport: () => west.transport() };

  await createHeartbeatFunction(host(), cloud)({}, contextOf());
  await createProbeFunction(host(), cloud)(eventOf(stage.sqs.take("heartbeat")), contextOf());
  await createReconcileFunction(host(), cloud)(eventOf(stage.sqs.take("work.fifo")), contextOf());
  expect(statusOf(await hub.get({ ...placements, name: "web" })).selectedClusters).toEqual(["east"]);
  expect(await createResyncFunction(host(), cloud)({}, contextOf())).toEqual({ keys: 2, left: 0, isContinued: false });
  await hub.close();
  await stage.stop();
});
