import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { ApiFailure } from "../../src/machinery/api-errors.ts";
import { withDefaults } from "../../src/machinery/defaults.ts";
import { aContext, definitionOf } from "./fixed-access.ts";

const container = { name: "a", image: "nginx" };

function aWorkload(kind: string, spec: object = {}): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: "web", namespace: "default" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [container] } },
      ...spec,
    },
  };
}

const withPod = (spec: object) => ({ template: { metadata: { labels: { app: "web" } }, spec } });
const anObject = (kind: string, fields: object): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "x", namespace: "default" },
  ...fields,
});

function filled(object: KubeObject): KubeObject {
  const { schema, hooks } = definitionOf(object.kind);
  const result = structuredClone(withDefaults(schema, structuredClone(object)));
  hooks?.setDefaults?.(result);
  return result;
}

/** Creates or updates an object; returns the field errors, one per entry, without the subject. */
function refusal(object: KubeObject, old?: KubeObject): string[] {
  const { hooks } = definitionOf(object.kind);
  try {
    const next = filled(object);
    if (old === undefined) hooks?.prepareCreate?.(next, aContext());
    else {
      const before = filled(old);
      hooks?.prepareCreate?.(before, aContext());
      hooks?.prepareUpdate?.(next, before, aContext());
    }
    return [];
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    const causes = error.status.details?.causes ?? [];
    return causes.length === 0 ? [error.message] : causes.map(({ field, message }) => `${field}: ${message}`);
  }
}

const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const cases: Record<string, { object: KubeObject; old?: KubeObject; errors: string[] }> = {
  "takes a deployment that is well": { object: aWorkload("Deployment"), errors: [] },
  "asks for a deployment's selector": {
    object: aWorkload("Deployment", { selector: undefined }),
    errors: [
      "spec.selector: Required value",
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
  },
  "refuses a selector that selects everything": {
    object: aWorkload("Deployment", { selector: {} }),
    errors: ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
  },
  "refuses a selector that does not find its own pods": {
    object: aWorkload("Deployment", {
      template: { metadata: { labels: { x: "y" } }, spec: { containers: [container] } },
    }),
    errors: ['spec.template.metadata.labels: Invalid value: {"x":"y"}: `selector` does not match template `labels`'],
  },
  "asks for containers": {
    object: aWorkload("Deployment", withPod({ containers: [] })),
    errors: ["spec.template.spec.containers: Required value"],
  },
  "asks for a container's image": {
    object: aWorkload("Deployment", withPod({ containers: [{ name: "a" }] })),
    errors: ["spec.template.spec.containers[0].image: Required value"],
  },
  "refuses a container's name that is no label": {
    object: aWorkload("Deployment", withPod({ containers: [{ name: "A_b", image: "x" }] })),
    errors: [`spec.template.spec.containers[0].name: Invalid value: "A_b": ${labelRule}`],
  },
  "refuses two containers of one name": {
    object: aWorkload("Deployment", withPod({ containers: [container, container] })),
    errors: ['spec.template.spec.containers[1].name: Duplicate value: "a"'],
  },
  "refuses requests above their limit": {
    object: aWorkload(
      "Deployment",
      withPod({ containers: [{ ...container, resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } }] }),
    ),
    errors: [
      'spec.template.spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
  },
  "refuses what is no quantity as a bad request": {
    object: aWorkload("Deployment", withPod({ containers: [{ ...container, resources: { limits: { cpu: "abc" } } }] })),
    errors: [
      "Deployment in version \"v1\" cannot be handled as a Deployment: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
  },
  "names everything that is wrong with a container": {
    object: aWorkload(
      "Deployment",
      withPod({
        containers: [
          {
            ...container,
            imagePullPolicy: "Foo",
            ports: [{ containerPort: 70000, protocol: "X" }],
            volumeMounts: [{ name: "nope", mountPath: "/x" }],
          },
        ],
      }),
    ),
    errors: [
      "spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
      'spec.template.spec.containers[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
      'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "nope"',
      'spec.template.spec.containers[0].imagePullPolicy: Unsupported value: "Foo": supported values: "Always", "IfNotPresent", "Never"',
    ],
  },
  "refuses fewer than no replicas": {
    object: aWorkload("Deployment", { replicas: -1 }),
    errors: ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
  },
  "lets nobody change a deployment's selector": {
    object: aWorkload("Deployment", {
      selector: { matchLabels: { app: "z" } },
      template: { metadata: { labels: { app: "z" } }, spec: { containers: [container] } },
    }),
    old: aWorkload("Deployment"),
    errors: ['spec.selector: Invalid value: {"matchLabels":{"app":"z"}}: field is immutable'],
  },
  "lets a deployment be scaled": {
    object: aWorkload("Deployment", { replicas: 3 }),
    old: aWorkload("Deployment"),
    errors: [],
  },
  "lets a stateful set change only what can be rolled out": {
    object: aWorkload("StatefulSet", { serviceName: "other" }),
    old: aWorkload("StatefulSet", { serviceName: "one" }),
    errors: [
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ],
  },
  "wants jobs to end": {
    object: {
      ...aWorkload("Job", { template: { spec: { containers: [container] } }, selector: undefined }),
      apiVersion: "batch/v1",
    },
    errors: ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  },
  "wants a schedule of five fields": {
    object: anObject("CronJob", {
      spec: {
        schedule: "bad",
        jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } } },
      },
    }),
    errors: ['spec.schedule: Invalid value: "bad": expected exactly 5 fields, found 1: [bad]'],
  },
  "asks for a service's ports": { object: anObject("Service", { spec: {} }), errors: ["spec.ports: Required value"] },
  "lets a headless service be without ports": {
    object: anObject("Service", { spec: { clusterIP: "None" } }),
    errors: [],
  },
  "asks for names where a service has several ports": {
    object: anObject("Service", { spec: { ports: [{ port: 1 }, { port: 2 }] } }),
    errors: ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
  },
  "refuses a service's type that there is not": {
    object: anObject("Service", { spec: { type: "Foo", ports: [{ port: 1 }] } }),
    errors: [
      'spec.type: Unsupported value: "Foo": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
  },
  "keeps a service's address": {
    object: anObject("Service", { spec: { clusterIP: "10.0.0.7", ports: [{ port: 1 }] } }),
    old: anObject("Service", { spec: { clusterIP: "10.0.0.6", ports: [{ port: 1 }] } }),
    errors: ['spec.clusterIPs[0]: Invalid value: ["10.0.0.7"]: may not change once set'],
  },
  "refuses keys that could be no file": {
    object: anObject("ConfigMap", { data: { "a b": "c" } }),
    errors: [
      "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
  },
  "keeps what was declared immutable": {
    object: anObject("ConfigMap", { immutable: true, data: { a: "2" } }),
    old: anObject("ConfigMap", { immutable: true, data: { a: "1" } }),
    errors: ["data: Forbidden: field is immutable when `immutable` is set"],
  },
  "asks for what a secret's type needs": {
    object: anObject("Secret", { type: "kubernetes.io/tls" }),
    errors: ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
  },
  "refuses a secret that is not base64": {
    object: anObject("Secret", { data: { a: "%%" } }),
    errors: ['Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0'],
  },
  "keeps what a binding binds": {
    object: anObject("RoleBinding", { roleRef: { kind: "ClusterRole", name: "edit" } }),
    old: anObject("RoleBinding", { roleRef: { kind: "ClusterRole", name: "view" } }),
    errors: [
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef',
    ],
  },
  "asks for a rule's groups and resources": {
    object: anObject("Role", { rules: [{ verbs: [] }] }),
    errors: [
      "rules[0].verbs: Required value: verbs must contain at least one value",
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
      "rules[0].resources: Required value: resource rules must supply at least one resource",
    ],
  },
  "wants an autoscaler's bounds in order": {
    object: anObject("HorizontalPodAutoscaler", {
      spec: {
        minReplicas: 5,
        maxReplicas: 2,
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "x" },
      },
    }),
    errors: ["spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"],
  },
  "asks for a claim's size": {
    object: anObject("PersistentVolumeClaim", { spec: {} }),
    errors: [
      "spec.accessModes: Required value: at least 1 access mode is required",
      "spec.resources[storage]: Required value",
    ],
  },
  "asks for a path's type": {
    object: anObject("Ingress", {
      spec: { rules: [{ http: { paths: [{ path: "/", backend: { service: { name: "a", port: { number: 1 } } } }] } }] },
    }),
    errors: ["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
  },
  "keeps events in the namespace they are about": {
    object: anObject("Event", { involvedObject: { kind: "Pod", name: "a", namespace: "other" } }),
    errors: ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
  },
};

describe("the rules of built-in types", () => {
  it.each(Object.entries(cases))("%s", (_name, { object, old, errors }) => {
    expect(refusal(object, old)).toEqual(errors);
  });

  it("gives a job a selector that matches only its own pods", () => {
    const job = filled(
      anObject("Job", { spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } } }),
    );
    job.metadata.uid = "1234";
    definitionOf("Job").hooks?.prepareCreate?.(job, aContext());
    expect(job).toMatchObject({
      metadata: { labels: { "batch.kubernetes.io/controller-uid": "1234", "job-name": "x" } },
      spec: { selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "1234" } } },
    });
  });

  it("counts the changes of a daemon set's template", () => {
    const { hooks } = definitionOf("DaemonSet");
    const first = filled(aWorkload("DaemonSet"));
    hooks?.prepareCreate?.(first, aContext());
    const second = filled(aWorkload("DaemonSet", withPod({ containers: [{ name: "a", image: "other" }] })));
    hooks?.prepareUpdate?.(second, first, aContext());
    expect(second.metadata.annotations).toEqual({ "deprecated.daemonset.template.generation": "2" });
  });

  it("lets only the server set the node of a pod", () => {
    const pod = (spec: object) => anObject("Pod", { spec: { containers: [container], ...spec } });
    expect(refusal(pod({ nodeName: "n" }), pod({}))[0]).toMatch(/^spec: Forbidden: pod updates may not change fields/);
    const { hooks } = definitionOf("Pod");
    const before = filled(pod({}));
    hooks?.prepareCreate?.(before, aContext());
    const server = aContext({ user: { name: "system:apiserver", groups: [] } });
    expect(() => hooks?.prepareUpdate?.(filled(pod({ nodeName: "n" })), before, server)).not.toThrow();
  });
});
