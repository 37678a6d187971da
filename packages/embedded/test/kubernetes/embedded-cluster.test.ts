import { describe, expect, test } from "vitest";
import { outcomeAnnotation } from "../../src/kubernetes/behavior.ts";
import type { ObjectCondition, Pod } from "../../src/kubernetes/kinds.ts";
import { noon } from "./builders.ts";
import { aWebApp, startTestCluster, type TestCluster } from "./test-cluster.ts";

const names = (objects: readonly { metadata: { name: string } }[]): string[] =>
  objects.map((each) => each.metadata.name);
const reasonOf = (conditions: readonly ObjectCondition[] | undefined, type: string) =>
  conditions?.find((condition) => condition.type === type)?.reason;
const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
const template = (image: string, annotations?: Record<string, string>) => ({
  metadata: { labels: { app: "x" }, ...(annotations === undefined ? {} : { annotations }) },
  spec: { containers: [{ name: "c", image }] },
});
const aDatabase = (more: object = {}) => ({
  metadata: { name: "db" },
  spec: {
    replicas: 2,
    serviceName: "db",
    selector: { matchLabels: { app: "x" } },
    template: template("db:1"),
    ...more,
  },
});

describe("a new cluster", () => {
  test("has the initial objects of every cluster", async () => {
    const { list, failures } = await startTestCluster({
      nodes: [{ cpu: 4, labels: { "topology.kubernetes.io/zone": "a" } }, {}],
    });
    expect(names(list("namespaces"))).toEqual(["default", "kube-node-lease", "kube-public", "kube-system"]);
    expect(names(list("serviceaccounts"))).toEqual(["default", "default", "default", "default"]);
    expect(names(list("configmaps", "kube-system"))).toEqual(["kube-root-ca.crt"]);
    expect(names(list("services"))).toEqual(["kubernetes"]);
    expect(names(list("storageclasses"))).toEqual(["standard"]);
    const [first] = list("nodes");
    expect(first).toMatchObject({
      metadata: {
        name: "east-node-1",
        labels: { "kubernetes.io/hostname": "east-node-1", "topology.kubernetes.io/zone": "a" },
      },
      status: { allocatable: { cpu: "4", memory: "32Gi", pods: "110" }, nodeInfo: { kubeletVersion: "v1.36.3" } },
    });
    expect(failures).toEqual([]);
  });
  test("creates the initial objects of a namespace, and empties a deleted one", async () => {
    const { create, list, remove, clock, failures } = await startTestCluster();
    create("namespaces", { metadata: { name: "team" } });
    clock.advance(0);
    expect(names(list("serviceaccounts", "team"))).toEqual(["default"]);
    create("deployments", { ...aWebApp(2), metadata: { name: "web", namespace: "team" } });
    clock.advance(1000);
    expect(list("pods", "team")).toHaveLength(2);
    remove("namespaces", "team");
    clock.advance(1000);
    expect(names(list("namespaces"))).not.toContain("team");
    expect(list("pods", "team")).toEqual([]);
    expect(failures).toEqual([]);
  });
  test("authenticates its users and authorizes them by their roles", async () => {
    const { call } = await startTestCluster({ users: { secret: { name: "bob", groups: [] } } });
    const pods = "/api/v1/namespaces/default/pods";
    expect((await call("GET", pods)).status).toBe(200);
    expect((await call("GET", pods, { token: "wrong" })).status).toBe(401);
    expect((await call("GET", pods, { token: "secret" })).status).toBe(403);
    const body = {
      metadata: { name: "bob" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "bob" }],
    };
    await call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", { body });
    expect((await call("GET", pods, { token: "secret" })).status).toBe(200);
    expect((await call("POST", pods, { token: "secret", body: {} })).status).toBe(403);
  });
  test("serves the types of a custom resource definition", async () => {
    const { call, clock } = await startTestCluster();
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const body = {
      metadata: { name: "widgets.ex.io" },
      spec: {
        group: "ex.io",
        scope: "Namespaced",
        names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
    expect((await call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body })).status).toBe(201);
    clock.advance(0);
    expect((await call("GET", "/apis/ex.io/v1/namespaces/default/widgets")).status).toBe(200);
  });
});

describe("a deployment", () => {
  test("gets pods that become ready, and then causes no further write", async () => {
    const { create, get, list, clock, cluster, failures } = await startTestCluster();
    create("deployments", aWebApp(3));
    clock.advance(50);
    expect(get("deployments", "web").status).toMatchObject({ replicas: 3, unavailableReplicas: 3 });
    clock.advance(1000);
    const web = get("deployments", "web");
    expect(web.status).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      updatedReplicas: 3,
      observedGeneration: 1,
    });
    expect(reasonOf(web.status?.conditions, "Available")).toBe("MinimumReplicasAvailable");
    expect(reasonOf(web.status?.conditions, "Progressing")).toBe("NewReplicaSetAvailable");
    expect(web.metadata).toMatchObject({ generation: 1, annotations: { "deployment.kubernetes.io/revision": "1" } });
    expect(new Set(list("pods").map((pod) => pod.status?.podIP)).size).toBe(3);
    const { revision } = cluster.store;
    clock.advance(3_600_000);
    expect(cluster.store.revision).toBe(revision);
    expect(failures).toEqual([]);
  });
  test("rolls out a change without falling below the minimum of available pods, and rolls it back", async () => {
    const { create, get, list, patch, clock, cluster } = await startTestCluster();
    create("deployments", aWebApp(4));
    clock.advance(1000);
    const first = list("replicasets")[0]?.metadata.name ?? "";
    const counts: number[] = [];
    const stop = cluster.store.subscribe(({ key }) => {
      if (key.storage === "pods") counts.push(list("pods").filter(isReady).length);
    });
    patch("deployments", "web", { spec: { template: { spec: { containers: [{ name: "c", image: "web:2" }] } } } });
    clock.advance(5000);
    stop();
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(3);
    expect(list("pods").map((pod) => pod.spec.containers[0]?.image)).toEqual(Array(4).fill("web:2"));
    expect(get("deployments", "web").metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("2");
    const { spec } = get("replicasets", first);
    patch("deployments", "web", { spec: { template: { spec: { containers: spec.template.spec.containers } } } });
    clock.advance(5000);
    expect(get("replicasets", first)).toMatchObject({
      spec: { replicas: 4 },
      metadata: {
        annotations: { "deployment.kubernetes.io/revision": "3", "deployment.kubernetes.io/revision-history": "1" },
      },
    });
    expect(list("replicasets")).toHaveLength(2);
  });
  test("with Recreate never runs two versions at once", async () => {
    const { create, list, patch, clock, cluster } = await startTestCluster();
    create("deployments", aWebApp(2, "web:1", { strategy: { type: "Recreate" } }));
    clock.advance(1000);
    const seen = new Set<string>();
    cluster.store.subscribe(({ key }) => {
      if (key.storage === "pods")
        seen.add([...new Set(list("pods").map((pod) => pod.spec.containers[0]?.image))].toSorted().join());
    });
    patch("deployments", "web", { spec: { template: { spec: { containers: [{ name: "c", image: "web:2" }] } } } });
    clock.advance(5000);
    expect(seen).toEqual(new Set(["web:1", "", "web:2"]));
  });
  test("replaces a deleted pod, which gets its grace period", async () => {
    const { create, list, remove, clock } = await startTestCluster();
    create("deployments", aWebApp(1));
    clock.advance(1000);
    const [old] = names(list("pods"));
    remove("pods", old ?? "");
    clock.advance(50);
    expect(list("pods")).toHaveLength(2);
    clock.advance(1000);
    expect(list("pods")).toHaveLength(1);
    expect(names(list("pods"))).not.toContain(old);
  });
  test("is deleted with its replica sets and pods", async () => {
    const { create, list, remove, clock } = await startTestCluster();
    create("deployments", aWebApp(2));
    clock.advance(1000);
    remove("deployments", "web");
    clock.advance(1000);
    expect([list("replicasets"), list("pods")]).toEqual([[], []]);
  });
  test("reports a stuck rollout when its image cannot be pulled, and continues when it can", async () => {
    const { create, get, patch, list, clock } = await startTestCluster();
    const own = {
      progressDeadlineSeconds: 30,
      template: {
        ...template("web:1", { [outcomeAnnotation]: "image-missing" }),
        metadata: { labels: { app: "web" }, annotations: { [outcomeAnnotation]: "image-missing" } },
      },
    };
    create("deployments", aWebApp(1, "web:1", own));
    clock.advance(1000);
    expect(list("pods")[0]?.status?.containerStatuses?.[0]?.state.waiting?.reason).toBe("ErrImagePull");
    clock.advance(40_000);
    expect(reasonOf(get("deployments", "web").status?.conditions, "Progressing")).toBe("ProgressDeadlineExceeded");
    patch("deployments", "web", { spec: { template: { metadata: { annotations: { [outcomeAnnotation]: null } } } } });
    clock.advance(2000);
    expect(get("deployments", "web").status).toMatchObject({ availableReplicas: 1, replicas: 1 });
  });
});

describe("other workloads", () => {
  test("a stateful set starts its pods in order, each with a bound volume, and keeps the volumes", async () => {
    const { create, get, list, remove, patch, clock, failures } = await startTestCluster();
    const claim = {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    create("statefulsets", aDatabase({ volumeClaimTemplates: [claim] }));
    clock.advance(50);
    expect(names(list("pods"))).toEqual(["db-0"]);
    clock.advance(2000);
    expect(get("statefulsets", "db").status).toMatchObject({ replicas: 2, readyReplicas: 2, currentReplicas: 2 });
    expect(list("persistentvolumeclaims").map((each) => [each.metadata.name, each.status?.phase])).toEqual([
      ["data-db-0", "Bound"],
      ["data-db-1", "Bound"],
    ]);
    patch("statefulsets", "db", { spec: { replicas: 1 } });
    clock.advance(2000);
    expect(names(list("pods"))).toEqual(["db-0"]);
    remove("statefulsets", "db");
    clock.advance(2000);
    expect(list("pods")).toEqual([]);
    expect(list("persistentvolumes")).toHaveLength(2);
    remove("persistentvolumeclaims", "data-db-0");
    clock.advance(2000);
    expect(list("persistentvolumes")).toHaveLength(1);
    expect(failures).toEqual([]);
  });
  test("a stateful set updates its pods from the last", async () => {
    const { create, get, list, patch, clock } = await startTestCluster();
    create("statefulsets", aDatabase());
    clock.advance(2000);
    patch("statefulsets", "db", { spec: { template: { spec: { containers: [{ name: "c", image: "db:2" }] } } } });
    clock.advance(250);
    expect(list("pods").find((pod) => pod.metadata.name === "db-0")?.spec.containers[0]?.image).toBe("db:1");
    clock.advance(3000);
    expect(list("pods").map((pod) => pod.spec.containers[0]?.image)).toEqual(["db:2", "db:2"]);
    const { status } = get("statefulsets", "db");
    expect(status?.currentRevision).toBe(status?.updateRevision);
    expect(list("controllerrevisions")).toHaveLength(2);
  });
  test("an orphaned object is adopted by the next owner that selects it", async () => {
    const { create, list, remove, clock, failures } = await startTestCluster();
    create("statefulsets", aDatabase());
    create("deployments", aWebApp(2));
    clock.advance(2000);
    const before = names(list("pods"));
    remove("statefulsets", "db", { propagationPolicy: "Orphan" });
    remove("deployments", "web", { propagationPolicy: "Orphan" });
    clock.advance(2000);
    expect(names(list("pods"))).toEqual(before);
    const owners = [create("statefulsets", aDatabase()), create("deployments", aWebApp(2))].map(
      ({ metadata }) => metadata.uid,
    );
    clock.advance(2000);
    expect(names(list("pods"))).toEqual(before);
    const made = [...list("replicasets"), ...list("controllerrevisions")];
    expect(new Set(made.map(({ metadata }) => metadata.ownerReferences?.[0]?.uid))).toEqual(new Set(owners));
    expect(failures).toEqual([]);
  });
  test("a daemon set runs on every node, also on one that is added later", async () => {
    const { create, get, list, clock, cluster } = await startTestCluster({ nodes: 2 });
    create("daemonsets", {
      metadata: { name: "agent" },
      spec: { selector: { matchLabels: { app: "x" } }, template: template("agent:1") },
    });
    clock.advance(1000);
    expect(get("daemonsets", "agent").status).toMatchObject({ desiredNumberScheduled: 2, numberReady: 2 });
    const [node] = list("nodes");
    const { uid: _, resourceVersion: __, ...metadata } = node?.metadata ?? { name: "" };
    create("nodes", { ...node, metadata: { ...metadata, name: "late" } });
    clock.advance(1000);
    expect(
      list("pods")
        .map((pod) => pod.spec.nodeName)
        .toSorted(),
    ).toEqual(["east-node-1", "east-node-2", "late"]);
    cluster.recover();
  });
  test("a job completes, and keeps its count when its pods are deleted", async () => {
    const { create, get, list, remove, clock } = await startTestCluster();
    create("jobs", {
      metadata: { name: "job" },
      spec: {
        completions: 3,
        template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "job:1" }] } },
      },
    });
    clock.advance(250);
    const done = list("pods").filter((pod) => pod.status?.phase === "Succeeded");
    expect(done).toHaveLength(1);
    remove("pods", done[0]?.metadata.name ?? "");
    clock.advance(3000);
    const { status } = get("jobs", "job");
    expect(status).toMatchObject({ succeeded: 3, ready: 0 });
    expect(status?.conditions?.map(({ type }) => type)).toEqual(["SuccessCriteriaMet", "Complete"]);
    expect(list("pods").every((pod) => pod.metadata.finalizers === undefined)).toBe(true);
  });
  test("a job fails when more pods have failed than its backoffLimit", async () => {
    const { create, get, clock } = await startTestCluster({ podOutcome: () => "fails" });
    create("jobs", {
      metadata: { name: "job" },
      spec: {
        backoffLimit: 1,
        template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "job:1" }] } },
      },
    });
    clock.advance(5000);
    expect(get("jobs", "job").status).toMatchObject({ failed: 1 });
    clock.advance(60_000);
    expect(reasonOf(get("jobs", "job").status?.conditions, "Failed")).toBe("BackoffLimitExceeded");
  });
  test("a cron job starts jobs on time and deletes the oldest", async () => {
    const { create, get, list, clock } = await startTestCluster();
    const jobTemplate = {
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "job:1" }] } } },
    };
    create("cronjobs", {
      metadata: { name: "tick" },
      spec: { schedule: "*/10 * * * *", successfulJobsHistoryLimit: 2, jobTemplate },
    });
    clock.advance(9 * 60_000);
    expect(list("jobs")).toEqual([]);
    clock.advance(42 * 60_000);
    expect(names(list("jobs"))).toEqual([40, 50].map((minute) => `tick-${noon / 60_000 + minute}`));
    expect(get("cronjobs", "tick").status).toEqual({
      lastScheduleTime: "2026-03-02T12:50:00Z",
      lastSuccessfulTime: "2026-03-02T12:50:00Z",
    });
  });
});

describe("services", () => {
  test("get their own address, and endpoints of the ready pods", async () => {
    const { create, get, list, patch, clock } = await startTestCluster();
    create("services", {
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 80 }] },
    });
    create("deployments", aWebApp(2));
    expect(get("services", "web").spec.clusterIP).toBe("10.96.0.2");
    clock.advance(50);
    expect(get("endpoints", "web").subsets).toBeUndefined();
    clock.advance(1000);
    const ips = list("pods").map((pod) => pod.status?.podIP);
    expect(get("endpoints", "web").subsets).toMatchObject([
      { addresses: ips.map((ip) => ({ ip })), ports: [{ port: 80, protocol: "TCP" }] },
    ]);
    expect(list("endpointslices")[0]?.endpoints).toMatchObject(
      ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    );
    patch("deployments", "web", { spec: { replicas: 0 } });
    clock.advance(1000);
    expect(get("endpoints", "web").subsets).toBeUndefined();
  });
  test("of type LoadBalancer get an external address after a delay, and lose it with the type", async () => {
    const { create, get, patch, clock } = await startTestCluster();
    create("services", {
      metadata: { name: "lb" },
      spec: { type: "LoadBalancer", selector: { app: "web" }, ports: [{ port: 80 }] },
    });
    expect(get("services", "lb").spec.ports?.[0]?.nodePort).toBe(30_000);
    clock.advance(50);
    expect(get("services", "lb").status?.loadBalancer).toEqual({});
    clock.advance(100);
    expect(get("services", "lb").status?.loadBalancer?.ingress).toEqual([{ ip: "172.20.0.2", ipMode: "VIP" }]);
    patch("services", "lb", { spec: { type: "ClusterIP" } });
    clock.advance(100);
    expect(get("services", "lb").status?.loadBalancer).toEqual({});
  });
  test("cannot have the address of another service", async () => {
    const { create } = await startTestCluster();
    const spec = { clusterIP: "10.96.0.1", ports: [{ port: 80 }] };
    expect(() => create("services", { metadata: { name: "thief" }, spec })).toThrow(/provided IP is already allocated/);
  });
});

describe("a cluster in a simulated failure", () => {
  const started = async (): Promise<TestCluster> => {
    const test = await startTestCluster();
    test.create("deployments", aWebApp(1));
    test.clock.advance(1000);
    return test;
  };
  test("full: new pods stay pending until it recovers", async () => {
    const { cluster, patch, list, get, clock } = await started();
    cluster.makeFull();
    patch("deployments", "web", { spec: { replicas: 2 } });
    clock.advance(5000);
    const pending = list("pods").find((pod) => pod.status?.phase === "Pending");
    expect(reasonOf(pending?.status?.conditions, "PodScheduled")).toBe("Unschedulable");
    expect(names(list("events")).some((name) => name.startsWith(pending?.metadata.name ?? "-"))).toBe(true);
    cluster.recover();
    clock.advance(1000);
    expect(get("deployments", "web").status?.availableReplicas).toBe(2);
  });
  test("broken: not ready, and containers crash, until it recovers", async () => {
    const { cluster, call, list, get, clock } = await started();
    cluster.makeBroken();
    clock.advance(1000);
    expect((await call("GET", "/readyz")).status).toBe(500);
    expect(list("pods")[0]?.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      state: { waiting: { reason: "CrashLoopBackOff" } },
    });
    expect(get("deployments", "web").status?.availableReplicas).toBeUndefined();
    cluster.recover();
    clock.advance(1000);
    expect((await call("GET", "/readyz")).status).toBe(200);
    expect(get("deployments", "web").status?.availableReplicas).toBe(1);
  });
  test("slow: responses are delayed", async () => {
    const { cluster, call, clock } = await started();
    cluster.makeSlow(500);
    let answered = false;
    const answer = call("GET", "/version").then(() => {
      answered = true;
    });
    clock.advance(499);
    await new Promise(setImmediate);
    expect(answered).toBe(false);
    clock.advance(1);
    await answer;
    expect(answered).toBe(true);
  });
  test("unreachable: every request fails until it recovers, while its workloads continue to run", async () => {
    const { cluster, call, get, patch, clock } = await started();
    cluster.makeUnreachable();
    await expect(call("GET", "/version")).rejects.toThrow(/ECONN/);
    patch("deployments", "web", { spec: { replicas: 3 } });
    clock.advance(1000);
    expect(get("deployments", "web").status?.availableReplicas).toBe(3);
    cluster.recover();
    expect((await call("GET", "/version")).status).toBe(200);
  });
});

test("two runs with the same random numbers have equal objects", async () => {
  const run = async (): Promise<string> => {
    const { create, patch, clock, cluster, list } = await startTestCluster({ nodes: 3, adminToken: "admin" });
    create("deployments", aWebApp(5));
    create("services", { metadata: { name: "web" }, spec: { selector: { app: "web" }, ports: [{ port: 80 }] } });
    clock.advance(70);
    patch("deployments", "web", {
      spec: { replicas: 3, template: { spec: { containers: [{ name: "c", image: "web:2" }] } } },
    });
    clock.advance(5000);
    const everything = (["pods", "replicasets", "deployments", "endpointslices", "events"] as const).map((resource) =>
      list(resource),
    );
    return JSON.stringify([cluster.store.revision, everything]);
  };
  expect(await run()).toBe(await run());
});

describe("admission of a cluster", () => {
  test("a volume claim without a class gets the default class", async () => {
    const { create } = await startTestCluster();
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    expect(create("persistentvolumeclaims", { metadata: { name: "data" }, spec }).spec.storageClassName).toBe(
      "standard",
    );
  });
  test("a pod with a missing service account is rejected, and the replica set reports it until the account exists", async () => {
    const { create, get, clock } = await startTestCluster();
    const app = aWebApp(1);
    const { template: podTemplate } = app.spec;
    const spec = {
      ...app.spec,
      template: { ...podTemplate, spec: { ...podTemplate.spec, serviceAccountName: "robot" } },
    };
    create("deployments", { ...app, spec });
    clock.advance(1000);
    const failure = get("deployments", "web").status?.conditions?.find(({ type }) => type === "ReplicaFailure");
    expect(failure).toMatchObject({
      status: "True",
      reason: "FailedCreate",
      message: expect.stringContaining('serviceaccount "robot" not found'),
    });
    create("serviceaccounts", { metadata: { name: "robot" } });
    clock.advance(60_000);
    expect(get("deployments", "web").status).toMatchObject({ availableReplicas: 1 });
    expect(
      get("deployments", "web")
        .status?.conditions?.map(({ type }) => type)
        .toSorted(),
    ).toEqual(["Available", "Progressing"]);
  });
  test("a disruption budget and an autoscaler report on their workloads", async () => {
    const { create, get, clock } = await startTestCluster();
    create("deployments", aWebApp(3));
    create("poddisruptionbudgets", {
      metadata: { name: "web" },
      spec: { minAvailable: "50%", selector: { matchLabels: { app: "web" } } },
    });
    const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
    create("horizontalpodautoscalers", { metadata: { name: "web" }, spec: { scaleTargetRef, maxReplicas: 5 } });
    clock.advance(1000);
    expect(get("poddisruptionbudgets", "web").status).toMatchObject({
      disruptionsAllowed: 1,
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 3,
    });
    expect(get("horizontalpodautoscalers", "web").status).toMatchObject({ currentReplicas: 3 });
  });
});
