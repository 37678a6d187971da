import { aDefinition } from "../../support/definition.ts";

/** A ConfigMap's manifest. */
export const aConfigMap = (
  name: string,
  data: Readonly<Record<string, string>> = { a: "1" },
  metadata: object = {},
): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

/** A Deployment's manifest that says little. */
export const aDeployment = (name: string, replicas = 1): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, labels: { app: name } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          { name: "web", image: "nginx:1", ports: [{ containerPort: 80 }] },
          { name: "side", image: "busybox:1" },
        ],
      },
    },
  },
});

/** A registered cluster's manifest. */
export const aRegistration = (name: string, spec: object = {}): object => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: { name, labels: { region: "west" } },
  spec: { location: "us-west-2", capabilities: [{ type: "compute" }, { type: "storage" }], ...spec },
});

/** A placement's manifest. */
export const aPlacement = (name: string, spec: object = {}): object => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name },
  spec: { strategy: "RoundRobin", locationSelector: { matchLabels: { region: "west" } }, ...spec },
});

/** A definition of a custom type in the group example.com. */
export const aThingDefinition = (kind: string): object =>
  aDefinition({ group: "example.com", version: "v1", plural: `${kind.toLowerCase()}s` }, kind, {
    spec: {
      type: "object",
      properties: { size: { type: "integer", minimum: 1 }, tags: { type: "array", items: { type: "string" } } },
    },
    status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  });
