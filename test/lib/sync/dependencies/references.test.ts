import { describe, expect, it } from "vitest";
import { type Reference, referencesOf } from "../../../../lib/sync/dependencies/references.ts";
import type { Workload } from "../../../../lib/sync/sync-objects.ts";

const container = { name: "web", image: "nginx" };

function aDeployment(podSpec: object, rest: object = {}): Workload {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop" },
    spec: { template: { spec: { containers: [container], ...podSpec } }, ...rest },
  };
}

const withVolume = (source: object): Workload => aDeployment({ volumes: [{ name: "v", ...source }] });
const withEnv = (env: object): Workload =>
  aDeployment({ containers: [{ ...container, env: [{ name: "A", ...env }] }] });
const withEnvFrom = (source: object): Workload => aDeployment({ containers: [{ ...container, envFrom: [source] }] });

/** `Secret/db`, `ConfigMap/settings?` for one that may be missing. */
const written = (object: Workload): readonly string[] =>
  referencesOf(object).map(({ kind, name, optional }) => `${kind}/${name}${optional ? "?" : ""}`);

describe("references of a pod template", () => {
  it.each<[string, Workload, readonly string[]]>([
    ["finds no reference in a plain pod template", aDeployment({}), []],
    ["finds the ConfigMap of a volume", withVolume({ configMap: { name: "a" } }), ["ConfigMap/a"]],
    [
      "finds the optional ConfigMap of a volume",
      withVolume({ configMap: { name: "a", optional: true } }),
      ["ConfigMap/a?"],
    ],
    ["finds the Secret of a volume", withVolume({ secret: { secretName: "a" } }), ["Secret/a"]],
    [
      "finds the optional Secret of a volume",
      withVolume({ secret: { secretName: "a", optional: true } }),
      ["Secret/a?"],
    ],
    [
      "finds the PersistentVolumeClaim of a volume",
      withVolume({ persistentVolumeClaim: { claimName: "a" } }),
      ["PersistentVolumeClaim/a"],
    ],
    [
      "finds the sources of a projected volume",
      withVolume({
        projected: {
          sources: [
            { configMap: { name: "a" } },
            { secret: { name: "b", optional: true } },
            { serviceAccountToken: { path: "token" } },
            { downwardAPI: { items: [] } },
          ],
        },
      }),
      ["ConfigMap/a", "Secret/b?"],
    ],
    [
      "finds the Secret of a CSI driver",
      withVolume({ csi: { driver: "d", nodePublishSecretRef: { name: "a" } } }),
      ["Secret/a"],
    ],
    ["finds the secretRef of a legacy volume type", withVolume({ cephfs: { secretRef: { name: "a" } } }), ["Secret/a"]],
    [
      "finds the Secret of an Azure file share",
      withVolume({ azureFile: { secretName: "a", shareName: "s" } }),
      ["Secret/a"],
    ],
    ["finds no reference in an ephemeral volume", withVolume({ ephemeral: { volumeClaimTemplate: { spec: {} } } }), []],
    ["finds no reference in an emptyDir volume", withVolume({ emptyDir: {} }), []],
    [
      "finds the ConfigMap of an environment variable",
      withEnv({ valueFrom: { configMapKeyRef: { name: "a", key: "k" } } }),
      ["ConfigMap/a"],
    ],
    [
      "finds the Secret of an environment variable",
      withEnv({ valueFrom: { secretKeyRef: { name: "a", key: "k", optional: true } } }),
      ["Secret/a?"],
    ],
    ["finds no reference in a fieldRef", withEnv({ valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }), []],
    ["finds the ConfigMap of an envFrom source", withEnvFrom({ configMapRef: { name: "a" } }), ["ConfigMap/a"]],
    ["finds the Secret of an envFrom source", withEnvFrom({ secretRef: { name: "a", optional: true } }), ["Secret/a?"]],
    [
      "finds the references of init and ephemeral containers",
      aDeployment({
        initContainers: [{ name: "i", envFrom: [{ configMapRef: { name: "a" } }] }],
        ephemeralContainers: [{ name: "e", envFrom: [{ secretRef: { name: "b" } }] }],
      }),
      ["ConfigMap/a", "Secret/b"],
    ],
    [
      "finds the imagePullSecrets",
      aDeployment({ imagePullSecrets: [{ name: "b" }, { name: "a" }] }),
      ["Secret/a", "Secret/b"],
    ],
    ["finds the ServiceAccount", aDeployment({ serviceAccountName: "a" }), ["ServiceAccount/a"]],
    [
      "finds the ServiceAccount in the deprecated field serviceAccount",
      aDeployment({ serviceAccount: "a" }),
      ["ServiceAccount/a"],
    ],
  ])("%s", (_, object, expected) => {
    expect(written(object)).toEqual(expected);
  });
});

describe("objects that every server creates", () => {
  it.each<[string, Workload]>([
    ["does not reference the default ServiceAccount", aDeployment({ serviceAccountName: "default" })],
    ["does not reference the ConfigMap kube-root-ca.crt", withVolume({ configMap: { name: "kube-root-ca.crt" } })],
  ])("%s", (_, object) => {
    expect(written(object)).toEqual([]);
  });
});

describe("an object that is referenced twice", () => {
  const twice = (first: boolean, second: boolean): Workload =>
    aDeployment({
      volumes: [
        { name: "v", configMap: { name: "a", optional: first } },
        { name: "w", configMap: { name: "a", optional: second } },
      ],
    });

  it.each([
    [true, true, "ConfigMap/a?"],
    [true, false, "ConfigMap/a"],
    [false, true, "ConfigMap/a"],
  ])("is optional only if all of its references are (%s, %s)", (first, second, expected) => {
    expect(written(twice(first, second))).toEqual([expected]);
  });

  it("returns references in an order that does not depend on the pod template", () => {
    const names = ["c", "a", "b"];
    const envFrom = names.flatMap((name) => [{ secretRef: { name } }, { configMapRef: { name } }]);
    const straight = referencesOf(aDeployment({ containers: [{ ...container, envFrom }] }));
    const turned = referencesOf(aDeployment({ containers: [{ ...container, envFrom: envFrom.toReversed() }] }));
    expect(straight).toEqual(turned);
    expect(straight.map(({ kind, name }) => `${kind}/${name}`)).toEqual(
      ["ConfigMap", "Secret"].flatMap((kind) => ["a", "b", "c"].map((name) => `${kind}/${name}`)),
    );
  });
});

describe("types with a pod template", () => {
  const template = { spec: { containers: [container], serviceAccountName: "a" } };
  it.each<[string, string, object]>([
    ["apps/v1", "Deployment", { template }],
    ["apps/v1", "StatefulSet", { template }],
    ["apps/v1", "DaemonSet", { template }],
    ["apps/v1", "ReplicaSet", { template }],
    ["batch/v1", "Job", { template }],
    ["batch/v1", "CronJob", { jobTemplate: { spec: { template } } }],
    ["argoproj.io/v1alpha1", "Rollout", { template }],
  ])("finds the references of a %s %s", (apiVersion, kind, spec) => {
    expect(written({ apiVersion, kind, metadata: { name: "web" }, spec })).toEqual(["ServiceAccount/a"]);
  });

  it("does not reference the claims that a StatefulSet creates from its templates", () => {
    const volumes = [
      { name: "data", persistentVolumeClaim: { claimName: "replaced" } },
      { name: "rest", persistentVolumeClaim: { claimName: "kept" } },
    ];
    const object = aDeployment({ volumes }, { volumeClaimTemplates: [{ metadata: { name: "data" } }] });
    expect(written({ ...object, kind: "StatefulSet" })).toEqual(["PersistentVolumeClaim/kept"]);
  });
});

describe("types without a pod template", () => {
  const an = (apiVersion: string, kind: string, fields: object): Workload => ({
    apiVersion,
    kind,
    metadata: { name: "web", namespace: "shop" },
    ...fields,
  });
  const tls = { spec: { tls: [{ secretName: "b" }, { secretName: "a" }, { hosts: ["x"] }] } };
  const account = {
    imagePullSecrets: [{ name: "registry" }, { name: "web-dockercfg-9d8fz" }],
    secrets: [{ name: "web-token-x7k2p" }, { name: "db" }, { name: "web-token" }],
  };
  it.each<[string, Workload, readonly string[]]>([
    ["finds the TLS Secrets of an Ingress", an("networking.k8s.io/v1", "Ingress", tls), ["Secret/a", "Secret/b"]],
    ["finds no reference in an Ingress of another group", an("example.com/v1", "Ingress", tls), []],
    [
      "finds the Secrets of a ServiceAccount, without the tokens that a server created",
      an("v1", "ServiceAccount", account),
      ["Secret/db?", "Secret/registry", "Secret/web-token?"],
    ],
    ["finds no reference in a ConfigMap", an("v1", "ConfigMap", { data: { secretName: "a" } }), []],
    ["finds no reference in a custom type", an("example.com/v1", "Database", { spec: { secretName: "a" } }), []],
  ])("%s", (_, object, expected) => {
    expect(written(object)).toEqual(expected);
  });
});

describe("an invalid pod template", () => {
  const rubbish: readonly unknown[] = [undefined, null, 7, "text", [], [null], [7], {}, { name: 7 }, [{ name: null }]];
  it.each(rubbish.map((value) => [JSON.stringify(value) ?? "undefined", value]))(
    "ignores fields of an unexpected type (%s)",
    (_, value) => {
      const spec = {
        volumes: value,
        containers: [container, value, { env: value, envFrom: value }, { env: [{ valueFrom: value }] }],
        initContainers: value,
        imagePullSecrets: value,
        serviceAccountName: Array.isArray(value) ? value : {},
      };
      expect(referencesOf(aDeployment(spec))).toEqual([]);
      expect(referencesOf({ ...aDeployment({}), spec: value })).toEqual([]);
      expect(referencesOf(withVolume({ secret: value, projected: value, configMap: value }))).toEqual([]);
    },
  );

  it.each(["", "../other", "UPPER", "a/b", "a b", "-a", "a".repeat(254)])(
    "ignores an invalid object name (%j)",
    (name) => {
      expect(referencesOf(withVolume({ secret: { secretName: name } }))).toEqual([]);
    },
  );
});

it("referencesOf does not modify its input", () => {
  const object = withVolume({ projected: { sources: [{ secret: { name: "b" } }, { configMap: { name: "a" } }] } });
  const before = structuredClone(object);
  const expected: readonly Reference[] = [
    { kind: "ConfigMap", name: "a", optional: false },
    { kind: "Secret", name: "b", optional: false },
  ];
  expect(referencesOf(object)).toEqual(expected);
  expect(object).toEqual(before);
});
