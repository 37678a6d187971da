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

describe("a pod template refers to", () => {
  it.each<[string, Workload, readonly string[]]>([
    ["nothing by itself", aDeployment({}), []],
    ["a config map in a volume", withVolume({ configMap: { name: "a" } }), ["ConfigMap/a"]],
    ["an optional config map", withVolume({ configMap: { name: "a", optional: true } }), ["ConfigMap/a?"]],
    ["a secret in a volume", withVolume({ secret: { secretName: "a" } }), ["Secret/a"]],
    ["an optional secret", withVolume({ secret: { secretName: "a", optional: true } }), ["Secret/a?"]],
    ["a claim", withVolume({ persistentVolumeClaim: { claimName: "a" } }), ["PersistentVolumeClaim/a"]],
    [
      "projected sources",
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
    ["the secret of a driver", withVolume({ csi: { driver: "d", nodePublishSecretRef: { name: "a" } } }), ["Secret/a"]],
    ["the password of an older volume", withVolume({ cephfs: { secretRef: { name: "a" } } }), ["Secret/a"]],
    ["the key of a file share", withVolume({ azureFile: { secretName: "a", shareName: "s" } }), ["Secret/a"]],
    ["nothing for an ephemeral claim", withVolume({ ephemeral: { volumeClaimTemplate: { spec: {} } } }), []],
    ["nothing for an empty directory", withVolume({ emptyDir: {} }), []],
    [
      "variables out of config maps",
      withEnv({ valueFrom: { configMapKeyRef: { name: "a", key: "k" } } }),
      ["ConfigMap/a"],
    ],
    [
      "variables out of secrets",
      withEnv({ valueFrom: { secretKeyRef: { name: "a", key: "k", optional: true } } }),
      ["Secret/a?"],
    ],
    ["nothing for fields of the pod", withEnv({ valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }), []],
    ["all variables of a config map", withEnvFrom({ configMapRef: { name: "a" } }), ["ConfigMap/a"]],
    ["all variables of a secret", withEnvFrom({ secretRef: { name: "a", optional: true } }), ["Secret/a?"]],
    [
      "what init and ephemeral containers need",
      aDeployment({
        initContainers: [{ name: "i", envFrom: [{ configMapRef: { name: "a" } }] }],
        ephemeralContainers: [{ name: "e", envFrom: [{ secretRef: { name: "b" } }] }],
      }),
      ["ConfigMap/a", "Secret/b"],
    ],
    ["secrets for images", aDeployment({ imagePullSecrets: [{ name: "b" }, { name: "a" }] }), ["Secret/a", "Secret/b"]],
    ["its account", aDeployment({ serviceAccountName: "a" }), ["ServiceAccount/a"]],
    ["its account by the old name", aDeployment({ serviceAccount: "a" }), ["ServiceAccount/a"]],
  ])("%s", (_, object, expected) => {
    expect(written(object)).toEqual(expected);
  });
});

describe("what every server makes by itself is not brought along", () => {
  it.each<[string, Workload]>([
    ["the default account", aDeployment({ serviceAccountName: "default" })],
    ["the certificates of the server", withVolume({ configMap: { name: "kube-root-ca.crt" } })],
  ])("%s", (_, object) => {
    expect(written(object)).toEqual([]);
  });
});

describe("each thing is named once", () => {
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
  ])("and is optional only when all uses are (%s, %s)", (first, second, expected) => {
    expect(written(twice(first, second))).toEqual([expected]);
  });

  it("in the same order, wherever it stands", () => {
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

describe("every type with a pod template is read", () => {
  const template = { spec: { containers: [container], serviceAccountName: "a" } };
  it.each<[string, string, object]>([
    ["apps/v1", "Deployment", { template }],
    ["apps/v1", "StatefulSet", { template }],
    ["apps/v1", "DaemonSet", { template }],
    ["apps/v1", "ReplicaSet", { template }],
    ["batch/v1", "Job", { template }],
    ["batch/v1", "CronJob", { jobTemplate: { spec: { template } } }],
    ["argoproj.io/v1alpha1", "Rollout", { template }],
  ])("%s %s", (apiVersion, kind, spec) => {
    expect(written({ apiVersion, kind, metadata: { name: "web" }, spec })).toEqual(["ServiceAccount/a"]);
  });

  it("and a StatefulSet's own claims are its own", () => {
    const volumes = [
      { name: "data", persistentVolumeClaim: { claimName: "replaced" } },
      { name: "rest", persistentVolumeClaim: { claimName: "kept" } },
    ];
    const object = aDeployment({ volumes }, { volumeClaimTemplates: [{ metadata: { name: "data" } }] });
    expect(written({ ...object, kind: "StatefulSet" })).toEqual(["PersistentVolumeClaim/kept"]);
  });
});

describe("other types", () => {
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
    ["an Ingress needs its certificates", an("networking.k8s.io/v1", "Ingress", tls), ["Secret/a", "Secret/b"]],
    ["another group's Ingress needs nothing", an("example.com/v1", "Ingress", tls), []],
    [
      "an account needs its secrets and not the tokens that a server made",
      an("v1", "ServiceAccount", account),
      ["Secret/db?", "Secret/registry", "Secret/web-token?"],
    ],
    ["a ConfigMap needs nothing", an("v1", "ConfigMap", { data: { secretName: "a" } }), []],
    ["a custom type needs nothing", an("example.com/v1", "Database", { spec: { secretName: "a" } }), []],
  ])("%s", (_, object, expected) => {
    expect(written(object)).toEqual(expected);
  });
});

describe("a template that nobody has checked", () => {
  const rubbish: readonly unknown[] = [undefined, null, 7, "text", [], [null], [7], {}, { name: 7 }, [{ name: null }]];
  it.each(rubbish.map((value) => [JSON.stringify(value) ?? "undefined", value]))("does no harm (%s)", (_, value) => {
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
  });

  it.each(["", "../other", "UPPER", "a/b", "a b", "-a", "a".repeat(254)])(
    "names nothing that cannot be there (%s)",
    (name) => {
      expect(referencesOf(withVolume({ secret: { secretName: name } }))).toEqual([]);
    },
  );
});

it("an object is left as it was", () => {
  const object = withVolume({ projected: { sources: [{ secret: { name: "b" } }, { configMap: { name: "a" } }] } });
  const before = structuredClone(object);
  const expected: readonly Reference[] = [
    { kind: "ConfigMap", name: "a", optional: false },
    { kind: "Secret", name: "b", optional: false },
  ];
  expect(referencesOf(object)).toEqual(expected);
  expect(object).toEqual(before);
});
