import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Comparable, differences, ownershipPaths } from "../../../../lib/sync/targets/drift.ts";
import { goldenNames, sent, stored } from "../golden-files.ts";

const a = (apiVersion: string, kind: string, fields: object): Comparable => ({ apiVersion, kind, ...fields });
const aDeployment = (spec: object): Comparable => a("apps/v1", "Deployment", { spec });
const aPod = (podSpec: object): Comparable => aDeployment({ template: { spec: podSpec } });
const aContainer = (fields: object): Comparable => aPod({ containers: [{ name: "web", image: "nginx", ...fields }] });
const aService = (spec: object): Comparable => a("v1", "Service", { spec });
const aDatabase = (spec: object): Comparable => a("example.com/v1", "Database", { spec });
const aConfigMap = (data: object): Comparable => a("v1", "ConfigMap", { data });

const web = "spec.template.spec.containers[web]";

describe("differences of an equivalent live object", () => {
  it.each<[string, Comparable, Comparable]>([
    ["finds no difference in an equal object", aDeployment({ replicas: 3 }), aDeployment({ replicas: 3 })],
    ["ignores additional fields", aDeployment({ replicas: 3 }), aDeployment({ replicas: 3, paused: true })],
    ["ignores defaults in list entries", aContainer({}), aContainer({ imagePullPolicy: "Always", resources: {} })],
    [
      "ignores additional containers",
      aPod({ containers: [{ name: "web" }] }),
      aPod({ containers: [{ name: "sidecar" }, { name: "web" }] }),
    ],
    [
      "ignores the order of environment variables",
      aContainer({
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ],
      }),
      aContainer({ env: [{ name: "B", value: "2" }, { name: "C" }, { name: "A", value: "1" }] }),
    ],
    [
      "ignores the default protocol of a port",
      aContainer({ ports: [{ containerPort: 80 }] }),
      aContainer({
        ports: [
          { containerPort: 53, protocol: "UDP" },
          { containerPort: 80, protocol: "TCP" },
        ],
      }),
    ],
    [
      "ignores an assigned node port",
      aService({ ports: [{ port: 80, targetPort: "http" }] }),
      aService({ clusterIP: "10.0.0.1", ports: [{ port: 80, protocol: "TCP", targetPort: "http", nodePort: 30001 }] }),
    ],
    ["ignores a second IP family", aService({ ipFamilies: ["IPv4"] }), aService({ ipFamilies: ["IPv4", "IPv6"] })],
    [
      "ignores the unit of a quantity",
      aContainer({ resources: { limits: { cpu: "1000m", memory: "1Gi" }, requests: { cpu: 0.5 } } }),
      aContainer({ resources: { limits: { cpu: "1", memory: "1024Mi" }, requests: { cpu: "500m" } } }),
    ],
    [
      "ignores the unit of an emptyDir size",
      aPod({ volumes: [{ name: "v", emptyDir: { sizeLimit: "1024Mi" } }] }),
      aPod({ volumes: [{ name: "v", emptyDir: { sizeLimit: "1Gi" } }] }),
    ],
    [
      "treats a number and its text as equal",
      aService({ ports: [{ port: 80, targetPort: "80" }] }),
      aService({ ports: [{ port: 80, targetPort: 80 }] }),
    ],
    ["treats null as absent", aDeployment({ replicas: null, template: null }), aDeployment({})],
    ["treats absent as null", aDeployment({ paused: false }), aDeployment({ paused: null })],
    [
      "treats an empty value as absent",
      aPod({ nodeSelector: {}, tolerations: [], hostname: "", securityContext: {} }),
      aPod({}),
    ],
    ["treats zero values as absent", aPod({ hostNetwork: false, priority: 0 }), aPod({})],
    [
      "treats an object with only zero values as absent",
      aPod({ securityContext: { runAsNonRoot: false } }),
      aDeployment({}),
    ],
    [
      "ignores entries in a list that the server fills",
      aDeployment({ metrics: [] }),
      aDeployment({ metrics: [{ type: "Resource" }] }),
    ],
    [
      "compares stringData with data",
      a("v1", "Secret", { stringData: { key: "ä" }, data: { other: "eA==" } }),
      a("v1", "Secret", { data: { key: "w6Q=", other: "eA==" }, type: "Opaque" }),
    ],
    ["ignores the status", { ...aDeployment({}), status: { replicas: 1 } }, aDeployment({})],
    ["ignores the API version", a("apps/v1", "Deployment", {}), a("apps/v1beta2", "Deployment", {})],
  ])("%s", (_, manifest, live) => {
    expect(differences(manifest, live)).toEqual([]);
  });
});

describe("differences of a drifted live object", () => {
  it.each<[string, Comparable, Comparable, readonly string[]]>([
    ["finds a changed number", aDeployment({ replicas: 3 }), aDeployment({ replicas: 0 }), ["spec.replicas"]],
    ["finds a number in place of zero", aDeployment({ replicas: 0 }), aDeployment({ replicas: 3 }), ["spec.replicas"]],
    ["finds true in place of false", aDeployment({ paused: false }), aDeployment({ paused: true }), ["spec.paused"]],
    ["finds a missing value", aDeployment({ replicas: 3 }), aDeployment({}), ["spec.replicas"]],
    [
      "finds a value in place of null",
      aDeployment({ replicas: 3 }),
      aDeployment({ replicas: null }),
      ["spec.replicas"],
    ],
    [
      "finds a change in a list entry",
      aContainer({ image: "nginx:1" }),
      aContainer({ image: "nginx:2" }),
      [`${web}.image`],
    ],
    [
      "returns several paths in sorted order",
      aContainer({ image: "nginx:1", args: ["a"], env: [{ name: "A", value: "1" }] }),
      aContainer({ image: "nginx:2", args: ["b"], env: [{ name: "A", value: "2" }] }),
      [`${web}.args[0]`, `${web}.env[A].value`, `${web}.image`],
    ],
    ["finds a missing list entry", aContainer({}), aPod({ containers: [{ name: "api" }] }), [web]],
    ["finds an empty list", aContainer({}), aPod({}), [web]],
    ["finds a value in place of a list", aContainer({}), aPod({ containers: {} }), ["spec.template.spec.containers"]],
    [
      "finds a value in place of an object",
      aPod({ securityContext: { runAsUser: 1 } }),
      aPod({ securityContext: 7 }),
      ["spec.template.spec.securityContext"],
    ],
    [
      "finds a missing port of another protocol",
      aContainer({ ports: [{ containerPort: 53, protocol: "UDP" }] }),
      aContainer({ ports: [{ containerPort: 53, protocol: "TCP" }] }),
      [`${web}.ports[53/UDP]`],
    ],
    [
      "finds a changed Service port",
      aService({ ports: [{ port: 80, targetPort: 8080 }] }),
      aService({ ports: [{ port: 80, targetPort: 9090 }] }),
      ["spec.ports[80/TCP].targetPort"],
    ],
    [
      "finds a changed volume mount",
      aContainer({ volumeMounts: [{ mountPath: "/data", name: "a" }] }),
      aContainer({ volumeMounts: [{ mountPath: "/data", name: "b" }] }),
      [`${web}.volumeMounts[/data].name`],
    ],
    [
      "finds another order in a list without keys",
      aContainer({ args: ["a", "b"] }),
      aContainer({ args: ["b", "a"] }),
      [`${web}.args[0]`, `${web}.args[1]`],
    ],
    [
      "finds an additional item in a list without keys",
      aContainer({ args: ["a"] }),
      aContainer({ args: ["a", "b"] }),
      [`${web}.args`],
    ],
    [
      "finds changes in entries with duplicate keys",
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
      "finds another kind of volume",
      aPod({ volumes: [{ name: "v", emptyDir: {} }] }),
      aPod({ volumes: [{ name: "v", hostPath: { path: "/" } }] }),
      ["spec.template.spec.volumes[v].emptyDir"],
    ],
    [
      "finds a changed quantity",
      aContainer({ resources: { limits: { cpu: "1" } } }),
      aContainer({ resources: { limits: { cpu: "1001m" } } }),
      [`${web}.resources.limits.cpu`],
    ],
    [
      "compares a quantity as text outside quantity fields",
      aConfigMap({ limits: "1000m", sizeLimit: "1k" }),
      aConfigMap({ limits: "1", sizeLimit: "1000" }),
      ["data.limits", "data.sizeLimit"],
    ],
    ["finds a missing empty string in a map of strings", aConfigMap({ empty: "" }), aConfigMap({}), ["data.empty"]],
    ["finds a string in place of an empty one", aConfigMap({ empty: "" }), aConfigMap({ empty: "x" }), ["data.empty"]],
    [
      "quotes a field name with dots in the path",
      aConfigMap({ "app.properties": "a" }),
      aConfigMap({ "app.properties": "b" }),
      ["data[app.properties]"],
    ],
    [
      "finds a changed label",
      a("v1", "ConfigMap", { metadata: { labels: { "example.com/team": "", app: "web" } } }),
      a("v1", "ConfigMap", { metadata: { labels: { app: "web" } } }),
      ["metadata.labels[example.com/team]"],
    ],
    [
      "finds a changed value of stringData",
      a("v1", "Secret", { stringData: { key: "x" } }),
      a("v1", "Secret", { data: { key: "eQ==" } }),
      ["data.key"],
    ],
    [
      "finds a missing field with the name of an object property",
      aConfigMap({ constructor: "a" }),
      aConfigMap({}),
      ["data.constructor"],
    ],
    ["finds a missing false in a custom type", aDatabase({ ha: false }), aDatabase({}), ["spec.ha"]],
    [
      "finds an additional item in any list of a custom type",
      aDatabase({ volumes: [{ name: "a" }] }),
      aDatabase({ volumes: [{ name: "a" }, { name: "b" }] }),
      ["spec.volumes"],
    ],
  ])("%s", (_, manifest, live, expected) => {
    expect(differences(manifest, live)).toEqual(expected);
  });
});

describe("ignored paths", () => {
  const manifest = aDeployment({ replicas: 3, replicasMax: 4, strategy: { type: "Recreate" }, list: [1] });
  const live = aDeployment({ replicas: 1, replicasMax: 1, strategy: { type: "RollingUpdate" }, list: [2] });

  it.each<[string, readonly string[], readonly string[]]>([
    [
      "reports all differences without ignored paths",
      [],
      ["spec.list[0]", "spec.replicas", "spec.replicasMax", "spec.strategy.type"],
    ],
    ["omits an ignored path", ["spec.replicas"], ["spec.list[0]", "spec.replicasMax", "spec.strategy.type"]],
    ["omits all paths below an ignored one", ["spec.strategy", "spec.list"], ["spec.replicas", "spec.replicasMax"]],
    ["omits all paths below an ignored spec", ["spec"], []],
  ])("%s", (_, ignore, expected) => {
    expect(differences(manifest, live, { ignore })).toEqual(expected);
  });

  it.each(goldenNames)("ignores our own label and annotation when %s is compared for adoption", (name) => {
    const ours = sent(stored(name));
    const { labels = {}, annotations = {} } = ours.metadata;
    const others = (texts: object): object =>
      Object.fromEntries(Object.entries(texts).filter(([key]) => !key.startsWith("tmc.kcp.io/")));
    const foreign = {
      ...ours,
      metadata: { ...ours.metadata, labels: others(labels), annotations: others(annotations) },
    };
    expect(differences(ours, foreign)).toEqual(ownershipPaths.toSorted());
    expect(differences(ours, foreign, { ignore: ownershipPaths })).toEqual([]);
    const bare = { ...ours, metadata: { ...ours.metadata, labels: null, annotations: undefined } };
    const missed = differences(ours, bare, { ignore: ownershipPaths });
    expect(missed).toEqual(expect.arrayContaining(["metadata.annotations[example.com/owner]"]));
    expect(missed.filter((path) => path.includes("tmc.kcp.io"))).toEqual([]);
  });
});

describe("laws of differences", () => {
  const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
  const object = fc
    .tuple(fc.constantFrom("apps/v1", "v1", "example.com/v1"), fc.constantFrom("Deployment", "Secret", "Service"), json)
    .map(([apiVersion, kind, spec]) => a(apiVersion, kind, { spec, data: { key: "eA==" } }));

  it("an object has no differences from itself", () => {
    fc.assert(fc.property(object, (one) => differences(one, one).length === 0));
  });

  it("additional live fields are not differences", () => {
    fc.assert(
      fc.property(object, json, (one, more) => {
        const live = { ...more, ...one, spec: { ...more, ...(one.spec as object) } };
        return differences(one, live).length === 0;
      }),
    );
  });

  it("differences is deterministic and does not modify its input", () => {
    fc.assert(
      fc.property(object, object, (one, other) => {
        const before = structuredClone([one, other]);
        expect(differences(one, other)).toEqual(differences(one, other));
        expect([one, other]).toEqual(before);
      }),
    );
  });
});
