import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import {
  type EmbeddedCluster,
  type EmbeddedClusterOptions,
  startEmbeddedCluster,
} from "../../src/kubernetes/embedded-cluster.ts";
import { type Kinds, type Resource, servedAt } from "../../src/kubernetes/kinds.ts";
import { clusterUser } from "../../src/kubernetes/store-world.ts";
import type { DeleteRequest } from "../../src/storage/operations.ts";
import { createRandom } from "../support/test-core.ts";
import { noon } from "./builders.ts";

/** An in-process cluster with a manual clock. */
export interface TestCluster {
  cluster: EmbeddedCluster;
  clock: ManualClock;
  /** Errors of its controllers. */
  failures: string[];
  create<R extends Resource>(resource: R, object: Partial<KubeObject> & { metadata: KubeObject["metadata"] }): Kinds[R];
  /** Applies a merge patch. */
  patch<R extends Resource>(resource: R, name: string, body: object, namespace?: string): Kinds[R];
  get<R extends Resource>(resource: R, name: string, namespace?: string): Kinds[R];
  list<R extends Resource>(resource: R, namespace?: string): readonly Kinds[R][];
  remove(resource: Resource, name: string, options?: DeleteRequest & { namespace?: string }): void;
  /** Sends a request as the administrator, or with another token. */
  call(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    options?: { token?: string; body?: object },
  ): Promise<{ status: number; body: string }>;
}

/** Starts a cluster with one node, a manual clock at noon and reproducible random numbers. */
export async function startTestCluster(options: Partial<EmbeddedClusterOptions> = {}): Promise<TestCluster> {
  const clock = createManualClock(noon);
  const failures: string[] = [];
  const cluster = await startEmbeddedCluster({
    name: "east",
    clock,
    random: createRandom(),
    listen: false,
    nodes: 1,
    podReadyMs: 100,
    onControllerError: (controller, key, error) => failures.push(`${controller} ${key}: ${String(error)}`),
    ...options,
  });
  const target = (resource: Resource, namespace: string | undefined) => {
    const { group, version } = servedAt[resource];
    const definition = cluster.catalog.find(group, version, resource);
    if (definition === undefined) throw new Error(`test cluster: no ${resource}`);
    return { definition, logicalCluster: "", namespace: definition.namespaced ? namespace : undefined };
  };
  const context = { user: clusterUser, fieldManager: "test" };
  const typed = <R extends Resource>(_: R, object: unknown): Kinds[R] => object as Kinds[R];
  return {
    cluster,
    clock,
    failures,
    create: (resource, object) => {
      const where = target(resource, object.metadata.namespace ?? "default");
      const { group, version, kind } = where.definition;
      const apiVersion = group === "" ? version : `${group}/${version}`;
      return typed(resource, cluster.operations.create(where, { ...object, apiVersion, kind }, context));
    },
    patch: (resource, name, body, namespace = "default") =>
      typed(
        resource,
        cluster.operations.patch({ ...target(resource, namespace), name }, { kind: "merge", body }, context).object,
      ),
    get: (resource, name, namespace = "default") =>
      typed(resource, cluster.operations.get({ ...target(resource, namespace), name })),
    list: (resource, namespace) =>
      cluster.operations.list(target(resource, namespace)).items.map((object) => typed(resource, object)),
    remove: (resource, name, { namespace = "default", ...options } = {}) => {
      cluster.operations.delete({ ...target(resource, namespace), name }, options, context);
    },
    call: async (method, path, { token, body } = {}) => {
      const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const response = await cluster.transport(token).send({
        method,
        path,
        headers: { "content-type": contentType },
        timeoutMs: 10_000,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.text() };
    },
  };
}

export const aWebApp = (replicas: number, image = "web:1", own: object = {}) => ({
  metadata: { name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "c", image, ports: [{ containerPort: 80 }] }] },
    },
    ...own,
  },
});
