import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Comparable, differences, markPaths } from "../../../../lib/sync/targets/drift.ts";
import { goldenNames, sent, stored } from "../golden-files.ts";

const a = (apiVersion: string, kind: string, fields: object): Comparable => ({ apiVersion, kind, ...fields });
const aDeployment = (spec: object): Comparable => a("apps/v1", "Deployment", { spec });
const aPod = (podSpec: object): Comparable => aDeployment({ template: { spec: podSpec } });
const aContainer = (fields: object): Comparable => aPod({ containers: [{ name: "web", image: "nginx", ...fields }] });
const aService = (spec: object): Comparable => a("v1", "Service", { spec });
const aDatabase = (spec: object): Comparable => a("example.com/v1", "Database", { spec });
const aConfigMap = (data: object): Comparable => a("v1", "ConfigMap", { data });

const web = "spec.template.spec.containers[web]";

describe("a live object says what the manifest says", () => {
  it.each<[string, Comparable, Comparable]>([
    ["when it says the same", aDeployment({ replicas: 3 }), aDeployment({ replicas: 3 })],
    ["when it says more", aDeployment({ replicas: 3 }), aDeployment({ replicas: 3, paused: true })],
    ["with defaults in entries", aContainer({}), aContainer({ imagePullPolicy: "Always", resources: {} })],
    [
      "with containers that somebody added",
      aPod({ containers: [{ name: "web" }] }),
      aPod({ containers: [{ name: "sidecar" }, { name: "web" }] }),
    ],
    [
      "with variables in another order",
      aContainer({
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ],
      }),
      aContainer({ env: [{ name: "B", value: "2" }, { name: "C" }, { name: "A", value: "1" }] }),
    ],
    [
      "with the protocol that a port has by default",
      aContainer({ ports: [{ containerPort: 80 }] }),
      aContainer({
        ports: [
          { containerPort: 53, protocol: "UDP" },
          { containerPort: 80, protocol: "TCP" },
        ],
      }),
    ],
    [
      "with the port of a node that a server chose",
      aService({ ports: [{ port: 80, targetPort: "http" }] }),
      aService({ clusterIP: "10.0.0.1", ports: [{ port: 80, protocol: "TCP", targetPort: "http", nodePort: 30001 }] }),
    ],
    [
      "with a second family of addresses",
      aService({ ipFamilies: ["IPv4"] }),
      aService({ ipFamilies: ["IPv4", "IPv6"] }),
    ],
    [
      "in another unit",
      aContainer({ resources: { limits: { cpu: "1000m", memory: "1Gi" }, requests: { cpu: 0.5 } } }),
      aContainer({ resources: { limits: { cpu: "1", memory: "1024Mi" }, requests: { cpu: "500m" } } }),
    ],
    [
      "in another unit, for an empty directory",
      aPod({ volumes: [{ name: "v", emptyDir: { sizeLimit: "1024Mi" } }] }),
      aPod({ volumes: [{ name: "v", emptyDir: { sizeLimit: "1Gi" } }] }),
    ],
    [
      "with a number for its text",
      aService({ ports: [{ port: 80, targetPort: "80" }] }),
      aService({ ports: [{ port: 80, targetPort: 80 }] }),
    ],
    ["when null is absent", aDeployment({ replicas: null, template: null }), aDeployment({})],
    ["when absent is null", aDeployment({ paused: false }), aDeployment({ paused: null })],
    ["when empty is absent", aPod({ nodeSelector: {}, tolerations: [], hostname: "", securityContext: {} }), aPod({})],
    ["when nothing is absent", aPod({ hostNetwork: false, priority: 0 }), aPod({})],
    ["when the whole object is absent", aPod({ securityContext: { runAsNonRoot: false } }), aDeployment({})],
    [
      "in a list that it was asked to fill",
      aDeployment({ metrics: [] }),
      aDeployment({ metrics: [{ type: "Resource" }] }),
    ],
    [
      "in plain text",
      a("v1", "Secret", { stringData: { key: "ä" }, data: { other: "eA==" } }),
      a("v1", "Secret", { data: { key: "w6Q=", other: "eA==" }, type: "Opaque" }),
    ],
    ["whatever its status", { ...aDeployment({}), status: { replicas: 1 } }, aDeployment({})],
    ["whatever version shows it", a("apps/v1", "Deployment", {}), a("apps/v1beta2", "Deployment", {})],
  ])("%s", (_, manifest, live) => {
    expect(differences(manifest, live)).toEqual([]);
  });
});

describe("a live object says something else", () => {
  it.each<[string, Comparable, Comparable, readonly string[]]>([
    ["with another number", aDeployment({ replicas: 3 }), aDeployment({ replicas: 0 }), ["spec.replicas"]],
    ["with a number for zero", aDeployment({ replicas: 0 }), aDeployment({ replicas: 3 }), ["spec.replicas"]],
    ["with true for false", aDeployment({ paused: false }), aDeployment({ paused: true }), ["spec.paused"]],
    ["with nothing for a value", aDeployment({ replicas: 3 }), aDeployment({}), ["spec.replicas"]],
    ["with nothing for null", aDeployment({ replicas: 3 }), aDeployment({ replicas: null }), ["spec.replicas"]],
    ["in an entry", aContainer({ image: "nginx:1" }), aContainer({ image: "nginx:2" }), [`${web}.image`]],
    [
      "in several places, sorted",
      aContainer({ image: "nginx:1", args: ["a"], env: [{ name: "A", value: "1" }] }),
      aContainer({ image: "nginx:2", args: ["b"], env: [{ name: "A", value: "2" }] }),
      [`${web}.args[0]`, `${web}.env[A].value`, `${web}.image`],
    ],
    ["with an entry too few", aContainer({}), aPod({ containers: [{ name: "api" }] }), [web]],
    ["with no entries", aContainer({}), aPod({}), [web]],
    ["with something that is no list", aContainer({}), aPod({ containers: {} }), ["spec.template.spec.containers"]],
    [
      "with something that is no object",
      aPod({ securityContext: { runAsUser: 1 } }),
      aPod({ securityContext: 7 }),
      ["spec.template.spec.securityContext"],
    ],
    [
      "in the port of another protocol",
      aContainer({ ports: [{ containerPort: 53, protocol: "UDP" }] }),
      aContainer({ ports: [{ containerPort: 53, protocol: "TCP" }] }),
      [`${web}.ports[53/UDP]`],
    ],
    [
      "in a service's port",
      aService({ ports: [{ port: 80, targetPort: 8080 }] }),
      aService({ ports: [{ port: 80, targetPort: 9090 }] }),
      ["spec.ports[80/TCP].targetPort"],
    ],
    [
      "in a mount",
      aContainer({ volumeMounts: [{ mountPath: "/data", name: "a" }] }),
      aContainer({ volumeMounts: [{ mountPath: "/data", name: "b" }] }),
      [`${web}.volumeMounts[/data].name`],
    ],
    [
      "in the order of a list without keys",
      aContainer({ args: ["a", "b"] }),
      aContainer({ args: ["b", "a"] }),
      [`${web}.args[0]`, `${web}.args[1]`],
    ],
    [
      "with more in a list without keys",
      aContainer({ args: ["a"] }),
      aContainer({ args: ["a", "b"] }),
      [`${web}.args`],
    ],
    [
      "in entries whose keys do not tell them apart",
      aContainer({
        env: [
          { name: "A", value: "1" },
          { name: "A", value: "2" },
        ],
      }),
      aContainer({
        env: [
          { name: "A", value: "1" },
          { name: "A", value: "3" },
        ],
      }),
      [`${web}.env[1].value`],
    ],
    [
      "with another kind of volume",
      aPod({ volumes: [{ name: "v", emptyDir: {} }] }),
      aPod({ volumes: [{ name: "v", hostPath: { path: "/" } }] }),
      ["spec.template.spec.volumes[v].emptyDir"],
    ],
    [
      "with another amount",
      aContainer({ resources: { limits: { cpu: "1" } } }),
      aContainer({ resources: { limits: { cpu: "1001m" } } }),
      [`${web}.resources.limits.cpu`],
    ],
    [
      "with an amount that is only a text",
      aConfigMap({ limits: "1000m", sizeLimit: "1k" }),
      aConfigMap({ limits: "1", sizeLimit: "1000" }),
      ["data.limits", "data.sizeLimit"],
    ],
    ["with nothing for an empty text that is a value", aConfigMap({ empty: "" }), aConfigMap({}), ["data.empty"]],
    ["with another text for an empty one", aConfigMap({ empty: "" }), aConfigMap({ empty: "x" }), ["data.empty"]],
    [
      "under a name with dots",
      aConfigMap({ "app.properties": "a" }),
      aConfigMap({ "app.properties": "b" }),
      ["data[app.properties]"],
    ],
    [
      "in a label",
      a("v1", "ConfigMap", { metadata: { labels: { "example.com/team": "", app: "web" } } }),
      a("v1", "ConfigMap", { metadata: { labels: { app: "web" } } }),
      ["metadata.labels[example.com/team]"],
    ],
    [
      "in what a Secret says in plain text",
      a("v1", "Secret", { stringData: { key: "x" } }),
      a("v1", "Secret", { data: { key: "eQ==" } }),
      ["data.key"],
    ],
    ["under a name that every object has", aConfigMap({ constructor: "a" }), aConfigMap({}), ["data.constructor"]],
    ["with nothing for false in a custom type", aDatabase({ ha: false }), aDatabase({}), ["spec.ha"]],
    [
      "with more in any list of a custom type",
      aDatabase({ volumes: [{ name: "a" }] }),
      aDatabase({ volumes: [{ name: "a" }, { name: "b" }] }),
      ["spec.volumes"],
    ],
  ])("%s", (_, manifest, live, expected) => {
    expect(differences(manifest, live)).toEqual(expected);
  });
});

describe("paths that do not count", () => {
  const manifest = aDeployment({ replicas: 3, replicasMax: 4, strategy: { type: "Recreate" }, list: [1] });
  const live = aDeployment({ replicas: 1, replicasMax: 1, strategy: { type: "RollingUpdate" }, list: [2] });

  it.each<[string, readonly string[], readonly string[]]>([
    ["none", [], ["spec.list[0]", "spec.replicas", "spec.replicasMax", "spec.strategy.type"]],
    ["one", ["spec.replicas"], ["spec.list[0]", "spec.replicasMax", "spec.strategy.type"]],
    ["all below one", ["spec.strategy", "spec.list"], ["spec.replicas", "spec.replicasMax"]],
    ["all", ["spec"], []],
  ])("%s", (_, ignore, expected) => {
    expect(differences(manifest, live, { ignore })).toEqual(expected);
  });

  it.each(goldenNames)("our own marks, when %s that somebody else made says the same", (name) => {
    const ours = sent(stored(name));
    const { labels = {}, annotations = {} } = ours.metadata;
    const others = (texts: object): object =>
      Object.fromEntries(Object.entries(texts).filter(([key]) => !key.startsWith("tmc.kcp.io/")));
    const foreign = {
      ...ours,
      metadata: { ...ours.metadata, labels: others(labels), annotations: others(annotations) },
    };
    expect(differences(ours, foreign)).toEqual(markPaths.toSorted());
    expect(differences(ours, foreign, { ignore: markPaths })).toEqual([]);
    const bare = { ...ours, metadata: { ...ours.metadata, labels: null, annotations: undefined } };
    const missed = differences(ours, bare, { ignore: markPaths });
    expect(missed).toEqual(expect.arrayContaining(["metadata.annotations[example.com/owner]"]));
    expect(missed.filter((path) => path.includes("tmc.kcp.io"))).toEqual([]);
  });
});

describe("whatever the objects", () => {
  const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
  const object = fc
    .tuple(fc.constantFrom("apps/v1", "v1", "example.com/v1"), fc.constantFrom("Deployment", "Secret", "Service"), json)
    .map(([apiVersion, kind, spec]) => a(apiVersion, kind, { spec, data: { key: "eA==" } }));

  it("an object says what it says itself", () => {
    fc.assert(fc.property(object, (one) => differences(one, one).length === 0));
  });

  it("more fields make no difference", () => {
    fc.assert(
      fc.property(object, json, (one, more) => {
        const live = { ...more, ...one, spec: { ...more, ...(one.spec as object) } };
        return differences(one, live).length === 0;
      }),
    );
  });

  it("neither is changed, and the answer is the same each time", () => {
    fc.assert(
      fc.property(object, object, (one, other) => {
        const before = structuredClone([one, other]);
        expect(differences(one, other)).toEqual(differences(one, other));
        expect([one, other]).toEqual(before);
      }),
    );
  });
});
