import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { CopyState, WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { resourceTypes } from "../../../lib/cli/workspace.ts";
import { newRecord, recordName } from "../../../lib/sync/ownership/record.ts";
import { beReady, type Outcome, startTestWorkspace, type TestWorkspace } from "./support.ts";

export const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
export const secrets: ResourceType = { group: "", version: "v1", plural: "secrets" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };

type Copy = Readonly<{ name: string; state: CopyState }> & Readonly<Record<string, unknown>>;
type Condition = Readonly<{ type: string; status: "True" | "False"; reason: string; message: string }>;

/** A workspace with clusters, a placement and workloads, in the state that a controller would write. */
export type PlacedWorkspace = TestWorkspace &
  Readonly<{
    /** Creates a workload in the namespace shop. */
    create(type: ResourceType, object: KubeObject): Promise<KubeObject>;
    /** Creates the sync record of a workload with a status. */
    recorded(type: ResourceType, workload: KubeObject, content: RecordContent): Promise<WorkloadSync>;
    record(type: ResourceType, name: string): Promise<WorkloadSync | undefined>;
    /** Replaces the copies in the sync record of a workload; without copies the sync record is deleted. */
    becomes(type: ResourceType, name: string, copies: readonly Copy[]): Promise<void>;
    select(placement: string, ...clusters: readonly string[]): Promise<void>;
    /** Creates a client for a cluster. */
    on(cluster: string): KubeClient;
    /** Runs a command, and `then` as soon as the command has printed a text. */
    runUntil(command: string, text: string, then: () => Promise<void>): Promise<Outcome>;
  }>;

export type RecordContent = Readonly<{
  placement?: string;
  copies: readonly Copy[];
  conditions: readonly Condition[];
  references?: WorkloadSync["spec"]["references"];
}>;

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

export async function startPlacedWorkspace(): Promise<PlacedWorkspace> {
  const workspace = await startTestWorkspace();
  const { client, clock, run } = workspace;
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  for (const name of ["east", "west"]) {
    const { err } = await run(`cluster register ${name} --location us-${name}-1`);
    if (err !== "") throw new Error(err);
    await beReady(workspace, name);
  }
  const at = (type: ResourceType, name: string) => ({
    type: resourceTypes.syncRecords,
    namespace: "shop",
    name: recordName({ type, name }),
  });
  const find = async (type: ResourceType, name: string): Promise<WorkloadSync | undefined> => {
    const { items } = await client.list<WorkloadSync>({ type: resourceTypes.syncRecords, namespace: "shop" });
    return items.find(({ metadata }) => metadata.name === at(type, name).name);
  };
  const writeStatus = (type: ResourceType, name: string, status: object) =>
    client.patch<WorkloadSync>(at(type, name), { type: "merge", body: { status } }, { subresource: "status" });
  return {
    ...workspace,
    on: (name) => {
      const endpoint = workspace.environment.clusters.find((each) => each.name === name)?.kubeconfig.contexts[0];
      if (endpoint === undefined) throw new Error(`no cluster ${name}`);
      const withToken = { ...endpoint.endpoint, token: async () => endpoint.token ?? "" };
      return createKubeClient({ endpoint: withToken, transport: createHttpsTransport(withToken), name });
    },
    runUntil: async (command, text, then) => {
      let printed = "";
      const found = Promise.withResolvers<void>();
      const onPrint = (part: string): void => {
        printed += part;
        if (printed.includes(text)) found.resolve();
      };
      const ended = run(command, { onPrint });
      await Promise.race([found.promise, ended]);
      await then();
      return ended;
    },
    create: (type, object) => client.create<KubeObject>({ type, namespace: "shop" }, object),
    recorded: async (type, workload, { placement = "shop", copies, conditions, references = [] }) => {
      const name = workload.metadata.name ?? "";
      const { finalizers: _, ...metadata } = newRecord(at(type, name).name, workload, "kcp").metadata;
      const fresh = newRecord(at(type, name).name, workload, "kcp");
      const clusters = copies.map((copy) => copy.name);
      await client.create(
        { type: resourceTypes.syncRecords, namespace: "shop" },
        { ...fresh, metadata, spec: { ...fresh.spec, placement, clusters, references } },
      );
      return writeStatus(type, name, {
        clusters: copies,
        conditions: conditions.map((each) => ({ ...each, lastTransitionTime: time(clock.now()) })),
        observedGeneration: workload.metadata.generation ?? 0,
      });
    },
    record: find,
    becomes: async (type, name, copies) => {
      if (copies.length === 0) return void (await client.delete(at(type, name)));
      const body = { spec: { clusters: copies.map((copy) => copy.name) } };
      await client.patch(at(type, name), { type: "merge", body });
      await writeStatus(type, name, { clusters: copies });
    },
    select: async (placement, ...selectedClusters) => {
      const address = { type: resourceTypes.placements, name: placement };
      const { metadata } = await client.get<WorkloadPlacement>(address);
      const status = { selectedClusters, observedGeneration: metadata.generation };
      await client.patch(address, { type: "merge", body: { status } }, { subresource: "status" });
    },
  };
}

/** Returns a Deployment with a number of replicas. */
export function aDeployment(name: string, replicas: number): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "shop", labels: { app: name } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "web", image: "nginx:1.27" }] } },
    },
  };
}
