import { randomBytes } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { JsonObject, KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aggregate } from "../../../../lib/sync/status/aggregate.ts";
import type { CopyHealth } from "../../../../lib/sync/status/builtin-health.ts";
import { hasObservedGeneration } from "../../../../lib/sync/status/conditions.ts";
import { copyHealth } from "../../../../lib/sync/status/health.ts";
import { aCopy, factsOf } from "../../../support/copy-status-builders.ts";
import { eventually } from "../../../support/eventually.ts";

type Written = KubeObject & { spec?: JsonObject; status?: JsonObject };
type Case = Readonly<{ type: ResourceType; object: KubeObject; reason?: CopyHealth["reason"] | undefined }>;

const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "nginx:1" }] } };
const jobTemplate = { spec: { ...template.spec, restartPolicy: "Never" } };
const selector = { matchLabels: { app: "web" } };
const one = (apiVersion: string, kind: string, plural: string, fields: object = {}): Omit<Case, "reason"> => {
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return {
    type: { group, version, plural },
    object: { apiVersion, kind, metadata: { name: kind.toLowerCase() }, ...fields },
  };
};

/** One object of each published type, with the reason that it reaches on a cluster. */
const cases: readonly Case[] = [
  one("apps/v1", "Deployment", "deployments", { spec: { replicas: 2, selector, template } }),
  one("apps/v1", "StatefulSet", "statefulsets", { spec: { replicas: 2, serviceName: "web", selector, template } }),
  one("apps/v1", "DaemonSet", "daemonsets", { spec: { selector, template } }),
  one("apps/v1", "ReplicaSet", "replicasets", {
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "set" } },
      template: { ...template, metadata: { labels: { app: "set" } } },
    },
  }),
  { ...one("batch/v1", "Job", "jobs", { spec: { template: jobTemplate } }), reason: "Complete" },
  one("batch/v1", "CronJob", "cronjobs", {
    spec: { schedule: "0 0 1 1 *", jobTemplate: { spec: { template: jobTemplate } } },
  }),
  one("v1", "Service", "services", { spec: { selector: { app: "web" }, ports: [{ port: 80 }] } }),
  {
    ...one("networking.k8s.io/v1", "Ingress", "ingresses", {
      spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } } },
    }),
    reason: "WaitingForAddress",
  },
  one("v1", "PersistentVolumeClaim", "persistentvolumeclaims", {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  }),
  one("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "idle" } },
  }),
  one("v1", "ConfigMap", "configmaps", { data: { a: "1" } }),
  one("v1", "Secret", "secrets", { stringData: { a: "1" } }),
  one("v1", "ServiceAccount", "serviceaccounts"),
];

/** Checks the health rules against the status that a cluster writes. */
export function describeOnACluster(
  name: string,
  open: () => Promise<{ client: KubeClient; stop(): Promise<void> }>,
): void {
  describe(`health rules on ${name}`, () => {
    const namespace = `status-${randomBytes(4).toString("hex")}`;
    const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
    let client: KubeClient;
    let stop: () => Promise<void>;
    beforeAll(async () => {
      ({ client, stop } = await open());
      await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
      // A Deployment with zero replicas needs no metrics, which these clusters do not have.
      const idle = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "idle" } };
      const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
      await client.create({ type: deployments, namespace }, { ...idle, spec: { replicas: 0, selector, template } });
    });
    afterAll(async () => {
      await client.delete({ type: namespaces, name: namespace });
      await stop();
    });

    it.each(cases)(
      "a $object.kind becomes ready, and its status is the aggregated status",
      async ({ type, object, reason }) => {
        const { name: objectName = "" } = object.metadata;
        await client.create({ type, namespace }, object);
        let seen: Written = object;
        let health: CopyHealth = { state: "Applied" };
        await eventually(async () => {
          seen = await client.get<Written>({ type, namespace, name: objectName });
          const { apiVersion, kind, metadata, status } = seen;
          const { generation, annotations } = metadata;
          // The controller uses the spec that was written, not the defaulted one.
          health = copyHealth({ apiVersion, kind, spec: object.spec, status, generation, annotations });
          const isThere = health.state === "Ready" && (reason === undefined || health.reason === reason);
          return isThere ? undefined : JSON.stringify({ health, status });
        }, 40_000);

        const { status = {}, metadata } = seen;
        expect(hasObservedGeneration({ ...seen, status, generation: metadata.generation })).toBe(true);
        const { collisionCount: _, uncountedTerminatedPods: __, terminatingReplicas: ___, ...rest } = status;
        // A real server writes null for empty lists, and would reject it.
        const meaningful = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
        expect(aggregate(factsOf(object, [aCopy("east", status)]))).toEqual({
          ...meaningful,
          ...(status.observedGeneration === undefined ? {} : { observedGeneration: 7 }),
        });
      },
    );
  });
}
