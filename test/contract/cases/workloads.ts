import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { eventually, eventuallyGone, refusal, unique } from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

const apps = (plural: string): ResourceType => ({ group: "apps", version: "v1", plural });
const core = (plural: string): ResourceType => ({ group: "", version: "v1", plural });
const jobs: ResourceType = { group: "batch", version: "v1", plural: "jobs" };

type Condition = { type: string; status: string; reason?: string };
type Workload = KubeObject & {
  spec: Record<string, unknown> & {
    template: { spec: Record<string, unknown> & { containers: Record<string, unknown>[] } };
  };
  status?: Record<string, unknown> & { conditions?: Condition[] };
};
type Pod = KubeObject & {
  spec: { nodeName?: string };
  status: { phase: string; podIP?: string; conditions?: Condition[] };
};
type Service = KubeObject & {
  spec: { clusterIP: string; type: string; ports: object[] };
  status: { loadBalancer: { ingress?: object[] } };
};

const aDeployment = (name: string, replicas = 2, image = "nginx:1"): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          { name: "web", image, ports: [{ containerPort: 80 }] },
          { name: "side", image: "busybox:1" },
        ],
      },
    },
  },
});

export function workloadCases(room: MakeRoom): void {
  const address = (namespace: string, name = "web") => ({ type: apps("deployments"), namespace, name });
  const available = async ({ client, namespace }: Room, replicas: number, name = "web"): Promise<Workload> => {
    let last: Workload | undefined;
    await eventually(async () => {
      last = await client.get<Workload>(address(namespace, name));
      const { status = {}, metadata } = last;
      const settled =
        status.observedGeneration === metadata.generation &&
        status.availableReplicas === replicas &&
        status.updatedReplicas === replicas &&
        status.replicas === replicas;
      return settled ? undefined : JSON.stringify(status);
    }, 30_000);
    if (last === undefined) throw new Error("unreachable: eventually returned without a look");
    return last;
  };
  const running = async (replicas = 2): Promise<Room> => {
    const here = await room();
    await here.client.create({ type: apps("deployments"), namespace: here.namespace }, aDeployment("web", replicas));
    await available(here, replicas);
    return here;
  };

  it("fills in a deployment's defaults", async () => {
    const { client, namespace } = await room();
    const made = await client.create<Workload>({ type: apps("deployments"), namespace }, aDeployment("web"));
    expect(made.metadata.generation).toBe(1);
    expect(made.spec).toMatchObject({
      replicas: 2,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      template: {
        spec: {
          restartPolicy: "Always",
          dnsPolicy: "ClusterFirst",
          schedulerName: "default-scheduler",
          terminationGracePeriodSeconds: 30,
          securityContext: {},
          containers: [
            {
              name: "web",
              image: "nginx:1",
              ports: [{ containerPort: 80, protocol: "TCP" }],
              resources: {},
              imagePullPolicy: "IfNotPresent",
              terminationMessagePath: "/dev/termination-log",
              terminationMessagePolicy: "File",
            },
            { name: "side" },
          ],
        },
      },
    });
  });

  it("runs a deployment until it is available", async () => {
    const here = await running(3);
    const { status } = await here.client.get<Workload>(address(here.namespace));
    expect(status).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      updatedReplicas: 3,
      observedGeneration: 1,
    });
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Available", status: "True", reason: "MinimumReplicasAvailable" }),
    );
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" }),
    );
  });

  it("owns pods through a replica set", async () => {
    const { client, namespace } = await running(2);
    const sets = await client.list<Workload>({ type: apps("replicasets"), namespace });
    expect(sets.items).toHaveLength(1);
    const [set] = sets.items;
    const hash = set?.metadata.labels?.["pod-template-hash"];
    expect(set?.metadata.name).toBe(`web-${hash}`);
    expect(set?.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("1");
    expect(set?.metadata.ownerReferences).toMatchObject([
      { kind: "Deployment", name: "web", controller: true, blockOwnerDeletion: true },
    ]);
    const pods = await client.list<Pod>({ type: core("pods"), namespace }, { labelSelector: "app=web" });
    expect(pods.items).toHaveLength(2);
    for (const pod of pods.items) {
      expect(pod.metadata.name).toMatch(new RegExp(`^web-${hash}-[bcdfghjklmnpqrstvwxz2456789]{5}$`));
      expect(pod.metadata.ownerReferences).toMatchObject([
        { kind: "ReplicaSet", name: set?.metadata.name, controller: true },
      ]);
      expect(pod.spec.nodeName).toBeTruthy();
      expect(pod.status.phase).toBe("Running");
      expect(pod.status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
    }
  });

  it("scales", async () => {
    const here = await running(1);
    await here.client.patch(
      address(here.namespace),
      { type: "merge", body: { spec: { replicas: 4 } } },
      { subresource: "scale" },
    );
    await available(here, 4);
    await here.client.patch(address(here.namespace), { type: "merge", body: { spec: { replicas: 0 } } });
    await eventually(async () => {
      const { items } = await here.client.list({ type: core("pods"), namespace: here.namespace });
      return items.length === 0 ? undefined : `${items.length} pods are left`;
    }, 60_000);
  }, 90_000);

  it("answers the scale with its selector", async () => {
    const { client, namespace } = await running(1);
    expect(await client.get(address(namespace), { subresource: "scale" })).toMatchObject({
      kind: "Scale",
      spec: { replicas: 1 },
      status: { replicas: 1, selector: "app=web" },
    });
  });

  it("rolls a change out through a second replica set", async () => {
    const here = await running(2);
    const { client, namespace } = here;
    await client.patch(address(namespace), {
      type: "strategic",
      body: { spec: { template: { spec: { containers: [{ name: "web", image: "nginx:2" }] } } } },
    });
    const next = await available(here, 2);
    expect(next.metadata.generation).toBe(2);
    expect(next.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("2");
    expect(next.spec.template.spec.containers).toMatchObject([
      { name: "web", image: "nginx:2", ports: [{ containerPort: 80 }] },
      { name: "side", image: "busybox:1" },
    ]);
    const { items } = await client.list<Workload>({ type: apps("replicasets"), namespace });
    expect(items.map((set) => set.spec.replicas).toSorted()).toEqual([0, 2]);
  }, 60_000);

  it("deletes replica sets and pods with their deployment", async () => {
    const { client, namespace } = await running(2);
    await client.delete(address(namespace), { propagationPolicy: "Background" });
    await eventuallyGone(client, address(namespace));
    await eventually(async () => {
      const pods = await client.list({ type: core("pods"), namespace });
      const sets = await client.list({ type: apps("replicasets"), namespace });
      return pods.items.length + sets.items.length === 0
        ? undefined
        : `${sets.items.length} sets and ${pods.items.length} pods are left`;
    }, 60_000);
  }, 90_000);

  it("replaces a pod that was deleted", async () => {
    const here = await running(1);
    const { client, namespace } = here;
    const before = await client.list({ type: core("pods"), namespace });
    const name = before.items[0]?.metadata.name ?? "";
    await client.delete({ type: core("pods"), namespace, name }, { gracePeriodSeconds: 0 });
    await eventually(async () => {
      const { items } = await client.list<Pod>({ type: core("pods"), namespace });
      const fresh = items.filter((pod) => pod.metadata.name !== name && pod.status.phase === "Running");
      return fresh.length === 1 ? undefined : JSON.stringify(items.map((pod) => [pod.metadata.name, pod.status.phase]));
    }, 30_000);
  }, 60_000);

  it("refuses a deployment whose selector does not match its template", async () => {
    const { client, namespace } = await room();
    const wrong = JSON.parse(JSON.stringify(aDeployment("web")));
    wrong.spec.template.metadata.labels = { app: "other" };
    expect(await refusal(client.create({ type: apps("deployments"), namespace }, wrong))).toEqual({
      status: 422,
      reason: "Invalid",
      message:
        'Deployment.apps "web" is invalid: spec.template.metadata.labels: Invalid value: {"app":"other"}: `selector` does not match template `labels`',
    });
  });

  it("refuses a change of a deployment's selector", async () => {
    const { client, namespace } = await running(1);
    const failure = await refusal(
      client.patch(address(namespace), {
        type: "merge",
        body: {
          spec: {
            selector: { matchLabels: { app: "web", x: "y" } },
            template: { metadata: { labels: { app: "web", x: "y" } } },
          },
        },
      }),
    );
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain("field is immutable");
  });

  it("runs a pod on every node for a daemon set", async () => {
    const { client, namespace } = await room();
    const { spec } = aDeployment("ds") as Workload;
    const { items } = await client.list({ type: core("nodes") });
    await client.create(
      { type: apps("daemonsets"), namespace },
      {
        apiVersion: "apps/v1",
        kind: "DaemonSet",
        metadata: { name: "ds" },
        spec: { selector: spec.selector, template: spec.template },
      },
    );
    await eventually(async () => {
      const { status } = await client.get<Workload>({ type: apps("daemonsets"), namespace, name: "ds" });
      return status?.numberReady === items.length && status.desiredNumberScheduled === items.length
        ? undefined
        : JSON.stringify(status);
    }, 30_000);
  }, 60_000);

  it("starts a stateful set's pods in order and with stable names", async () => {
    const { client, namespace } = await room();
    const { spec } = aDeployment("db") as Workload;
    await client.create(
      { type: apps("statefulsets"), namespace },
      {
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        metadata: { name: "db" },
        spec: { replicas: 3, serviceName: "db", selector: spec.selector, template: spec.template },
      },
    );
    await eventually(async () => {
      const { status } = await client.get<Workload>({ type: apps("statefulsets"), namespace, name: "db" });
      return status?.readyReplicas === 3 ? undefined : JSON.stringify(status);
    }, 30_000);
    const { items } = await client.list<Pod>({ type: core("pods"), namespace });
    expect(items.map((pod) => pod.metadata.name)).toEqual(["db-0", "db-1", "db-2"]);
    expect(items[0]?.metadata.labels).toMatchObject({
      "statefulset.kubernetes.io/pod-name": "db-0",
      "apps.kubernetes.io/pod-index": "0",
    });
  }, 60_000);

  it("runs a job to completion", async () => {
    const { client, namespace } = await room();
    await client.create(
      { type: jobs, namespace },
      {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "once" },
        spec: {
          completions: 2,
          parallelism: 2,
          template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox:1" }] } },
        },
      },
    );
    await eventually(async () => {
      const { status } = await client.get<Workload>({ type: jobs, namespace, name: "once" });
      const complete =
        status?.conditions?.some(({ type, status: state }) => type === "Complete" && state === "True") === true;
      return complete && status?.succeeded === 2 ? undefined : JSON.stringify(status);
    }, 30_000);
  }, 60_000);

  it("gives a service an address of the cluster and fills in its defaults", async () => {
    const { client, namespace } = await room();
    const made = await client.create<Service>(
      { type: core("services"), namespace },
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "web" },
        spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
      },
    );
    expect(made.spec.clusterIP).toMatch(/^10\./);
    expect(made.spec).toMatchObject({
      type: "ClusterIP",
      sessionAffinity: "None",
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      internalTrafficPolicy: "Cluster",
    });
    const next = await client.patch<Service>(
      { type: core("services"), namespace, name: "web" },
      { type: "merge", body: { metadata: { labels: { a: "b" } } } },
    );
    expect(next.spec.clusterIP).toBe(made.spec.clusterIP);
  });

  it("merges a service's ports by their number in a strategic patch", async () => {
    const { client, namespace } = await room();
    await client.create(
      { type: core("services"), namespace },
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "web" },
        spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80 }] },
      },
    );
    const next = await client.patch<Service>(
      { type: core("services"), namespace, name: "web" },
      { type: "strategic", body: { spec: { ports: [{ name: "https", port: 443 }] } } },
    );
    expect(next.spec.ports.map((port) => (port as { port: number }).port).toSorted()).toEqual([443, 80]);
  });

  it("shows a service's ready pods as endpoints", async () => {
    const { client, namespace } = await running(2);
    await client.create(
      { type: core("services"), namespace },
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "web" },
        spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
      },
    );
    const slices = { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" };
    await eventually(async () => {
      const { items } = await client.list<KubeObject & { endpoints: { conditions: { ready: boolean } }[] }>(
        { type: slices, namespace },
        { labelSelector: "kubernetes.io/service-name=web" },
      );
      const ready = items.flatMap((slice) => slice.endpoints ?? []).filter(({ conditions }) => conditions.ready);
      return ready.length === 2 ? undefined : `${ready.length} endpoints are ready`;
    }, 30_000);
  }, 60_000);

  it("applies containers by their name", async () => {
    const { client, namespace } = await room();
    await client.create({ type: apps("deployments"), namespace }, aDeployment("web"), { fieldManager: "alice" });
    const body = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        template: { spec: { containers: [{ name: "extra", image: "redis:1", ports: [{ containerPort: 6379 }] }] } },
      },
    };
    const next = await client.patch<Workload>(address(namespace), { type: "apply", body }, { fieldManager: "bob" });
    expect(next.spec.template.spec.containers.map(({ name }) => name)).toEqual(["web", "side", "extra"]);
    expect(next.metadata.managedFields?.find(({ manager }) => manager === "bob")?.fieldsV1).toEqual({
      "f:spec": {
        "f:template": {
          "f:spec": {
            "f:containers": {
              'k:{"name":"extra"}': {
                ".": {},
                "f:image": {},
                "f:name": {},
                "f:ports": { 'k:{"containerPort":6379,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
              },
            },
          },
        },
      },
    });
  });

  it("names the field, the owner and the version in a conflict over replicas", async () => {
    const { client, namespace } = await room();
    await client.create({ type: apps("deployments"), namespace }, aDeployment("web"), { fieldManager: "alice" });
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec: { replicas: 9 } };
    const { message } = await refusal(
      client.patch(address(namespace), { type: "apply", body }, { fieldManager: "bob" }),
    );
    expect(message).toBe('Apply failed with 1 conflict: conflict with "alice" using apps/v1: .spec.replicas');
  });

  it("does not count a status write as a new generation", async () => {
    const { client, namespace } = await running(1);
    const { metadata, status } = await client.get<Workload>(address(namespace));
    const next = await client.patch<Workload>(
      address(namespace),
      { type: "merge", body: { status: { ...status, collisionCount: 0 } } },
      { subresource: "status" },
    );
    expect(next.metadata.generation).toBe(metadata.generation);
  });

  it("leaves a pod that no node can hold pending, and says why", async () => {
    const { client, namespace } = await room();
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: unique("huge") },
      spec: { containers: [{ name: "c", image: "busybox:1", resources: { requests: { cpu: "100000" } } }] },
    };
    await client.create({ type: core("pods"), namespace }, pod);
    await eventually(async () => {
      const { status } = await client.get<Pod>({ type: core("pods"), namespace, name: pod.metadata.name });
      const scheduled = status.conditions?.find(({ type }) => type === "PodScheduled");
      return scheduled?.status === "False" && scheduled.reason === "Unschedulable" && status.phase === "Pending"
        ? undefined
        : JSON.stringify(status);
    }, 30_000);
  }, 60_000);

  it("shows its nodes as ready, with what they can hold", async () => {
    const { client } = await room();
    const { items } = await client.list<
      KubeObject & {
        status: { capacity: Record<string, string>; allocatable: Record<string, string>; conditions: Condition[] };
      }
    >({ type: core("nodes") });
    expect(items.length).toBeGreaterThan(0);
    for (const node of items) {
      expect(node.status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
      for (const resource of ["cpu", "memory", "pods"]) expect(node.status.allocatable[resource]).toBeTruthy();
    }
  });

  it("prints deployments and pods the way kubectl shows them", async () => {
    const { client, namespace } = await running(2);
    const columns = async (path: string): Promise<{ names: string[]; cells: unknown[] }> => {
      const { text } = await client.raw("GET", path, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
      const table = JSON.parse(text);
      const shown = table.columnDefinitions.map((column: { priority: number }) => column.priority === 0);
      return {
        names: table.columnDefinitions
          .filter((_: unknown, index: number) => shown[index])
          .map((column: { name: string }) => column.name),
        cells: table.rows[0].cells.filter((_: unknown, index: number) => shown[index]),
      };
    };
    const deployments = await columns(`/apis/apps/v1/namespaces/${namespace}/deployments`);
    expect(deployments.names).toEqual(["Name", "Ready", "Up-to-date", "Available", "Age"]);
    expect(deployments.cells.slice(0, 4)).toEqual(["web", "2/2", 2, 2]);
    const pods = await columns(`/api/v1/namespaces/${namespace}/pods`);
    expect(pods.names).toEqual(["Name", "Ready", "Status", "Restarts", "Age"]);
    expect(pods.cells.slice(1, 4)).toEqual(["2/2", "Running", "0"]);
  });
}
