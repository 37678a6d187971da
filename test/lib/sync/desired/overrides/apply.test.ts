import { ControllerError } from "@tmc/kube/fault.ts";
import type { Json } from "@tmc/kube/kube-object.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { objectsAt, valueAt } from "../../../../../lib/model/json.ts";
import { applyOverrides, type Override } from "../../../../../lib/sync/desired/overrides/apply.ts";

import { podSpecOf } from "../../../../../lib/sync/desired/pod-spec.ts";
import type { Manifest } from "../../../../../lib/sync/sync-objects.ts";
import { aSyncCluster } from "../../a-sync-cluster.ts";
import { configMap, cronJob, deployment, service, withPods } from "./manifests.ts";

const east = aSyncCluster("east", {
  location: "eu-west-1",
  labels: { env: "prod", "topology.kubernetes.io/region": "eu", share: "0.5", odd: "{{cluster.name}}" },
});

/** Nothing that was handed in is ever changed: whoever tries fails. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null)
    for (const inner of Object.values(Object.freeze(value))) frozen(inner);
  return value;
}
for (const manifest of [deployment, cronJob, service, configMap, ...withPods]) frozen(manifest);

type Row = Readonly<{
  on?: Manifest;
  overrides: readonly Override[];
  /** What is where afterwards. */
  gives: Readonly<Record<string, unknown>>;
}>;

const setMark = (mark: string): Override => ({ labels: { mark } });
const patch = (op: "add" | "replace" | "remove", path: string, value?: string | number | string[]): Override => ({
  patches: [{ op, path, ...(value === undefined ? {} : { value }) }],
});
const mark = "metadata/labels/mark";
const container = "spec/template/spec/containers/0";

const rows: Readonly<Record<string, Row>> = {
  "an override without a choice is about every cluster": { overrides: [setMark("x")], gives: { [mark]: "x" } },
  "an override is about the clusters that it names": {
    overrides: [
      { ...setMark("west"), clusterNames: ["west"] },
      { clusterNames: ["east"], labels: { other: "x" } },
    ],
    gives: { [mark]: undefined, "metadata/labels/other": "x" },
  },
  "an override that names no cluster at all is about none": {
    overrides: [{ ...setMark("x"), clusterNames: [] }],
    gives: { [mark]: undefined },
  },
  "an override is about the clusters that it selects": {
    overrides: [
      { ...setMark("prod"), clusterSelector: { matchLabels: { env: "prod" } } },
      { labels: { other: "x" }, clusterSelector: { matchExpressions: [{ key: "env", operator: "DoesNotExist" }] } },
    ],
    gives: { [mark]: "prod", "metadata/labels/other": undefined },
  },
  "an override is about the types that it names": {
    overrides: [
      { ...setMark("x"), workloadTypes: [{ apiVersion: "apps/v1", kind: "StatefulSet" }] },
      { labels: { other: "x" }, workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] },
    ],
    gives: { [mark]: undefined, "metadata/labels/other": "x" },
  },
  "name, labels and type must all fit": {
    overrides: [{ ...setMark("x"), clusterNames: ["east"], clusterSelector: { matchLabels: { env: "test" } } }],
    gives: { [mark]: undefined },
  },
  "a later override has the last word": { overrides: [setMark("one"), setMark("two")], gives: { [mark]: "two" } },
  "within an override patches come last": {
    overrides: [{ patches: [{ op: "replace", path: "/spec/replicas", value: 9 }], replicas: 5 }],
    gives: { "spec/replicas": 9 },
  },
  "limits are set before patches see them": {
    overrides: [
      {
        limits: { cpu: "3" },
        patches: [{ op: "replace", path: `/${container}/resources/limits/cpu`, value: "4" }],
      },
    ],
    gives: { [`${container}/resources/limits/cpu`]: "4" },
  },
  "labels and annotations are added to what is there": {
    overrides: [{ labels: { tier: "front" }, annotations: { note: "any text at all" } }],
    gives: {
      "metadata/labels": { app: "web", "tmc.kcp.io/synced": "mark", tier: "front" },
      "metadata/annotations": { "tmc.kcp.io/owner": "{}", note: "any text at all" },
    },
  },
  "an object without labels gets some": {
    on: { ...configMap, metadata: { name: "x" } },
    overrides: [{ labels: { tier: "front" } }],
    gives: { "metadata/labels": { tier: "front" } },
  },
  "replicas are set": { overrides: [{ replicas: 0 }], gives: { "spec/replicas": 0 } },
  "replicas are set where the workload left them out": {
    on: { ...deployment, spec: {} },
    overrides: [{ replicas: 2 }],
    gives: { "spec/replicas": 2 },
  },
  "a type without replicas gets none": {
    on: service,
    overrides: [{ replicas: 2 }],
    gives: { "spec/replicas": undefined },
  },
  "a variable is added after the others, or changed where it is": {
    overrides: [{ env: { MODE: "fast", ADDED: "x", KEY: "y" } }],
    gives: {
      [`${container}/env`]: [
        { name: "MODE", value: "fast" },
        { name: "KEY", value: "y" },
        { name: "ADDED", value: "x" },
      ],
    },
  },
  "a limit leaves other limits, and takes a request above it down to it": {
    overrides: [{ limits: { cpu: "500m", memory: "1Gi" } }],
    gives: {
      [`${container}/resources`]: {
        limits: { cpu: "500m", memory: "1Gi" },
        requests: { cpu: "500m", memory: "64Mi" },
      },
      "spec/template/spec/containers/1/resources": { limits: { cpu: "500m", memory: "1Gi" } },
    },
  },
  "texts are filled in with what is known of the cluster": {
    overrides: [
      {
        labels: { cluster: "{{cluster.name}}-{{ cluster.labels.env }}" },
        annotations: { at: "{{cluster.location}}/{{cluster.labels.topology.kubernetes.io/region}}" },
        env: { MODE: "{{cluster.name}}" },
        limits: { cpu: "{{cluster.labels.share}}" },
        imageHosts: [{ from: "docker.io", to: "{{cluster.labels.env}}.mirror.local" }],
        patches: [
          {
            op: "add",
            path: "/spec/note",
            value: { deep: ["{{cluster.name}}", 1, null, true, { x: "{{cluster.name}}" }] },
          },
        ],
      },
    ],
    gives: {
      "metadata/labels/cluster": "east-prod",
      "metadata/annotations/at": "eu-west-1/eu",
      [`${container}/env/0/value`]: "east",
      [`${container}/resources/limits/cpu`]: "0.5",
      [`${container}/image`]: "prod.mirror.local/library/nginx:1.29",
      "spec/note": { deep: ["east", 1, null, true, { x: "east" }] },
    },
  },
  "what was filled in is not filled in again": {
    overrides: [{ annotations: { at: "{{cluster.labels.odd}}" } }],
    gives: { "metadata/annotations/at": "{{cluster.name}}" },
  },
  "names of fields are not filled in": {
    overrides: [{ patches: [{ op: "add", path: "/spec/x", value: { "{{cluster.name}}": 1 } }] }],
    gives: { "spec/x": { "{{cluster.name}}": 1 } },
  },
  "braces that are not a pair mean nothing": {
    overrides: [{ annotations: { x: "{{ a { b } c" } }],
    gives: { "metadata/annotations/x": "{{ a { b } c" },
  },
  "a patch adds a field": {
    overrides: [patch("add", "/spec/template/spec/priorityClassName", "high")],
    gives: { "spec/template/spec/priorityClassName": "high" },
  },
  "a patch adds over a field that is there": {
    overrides: [patch("add", "/spec/replicas", 7)],
    gives: { "spec/replicas": 7 },
  },
  "a patch gives a whole list": {
    overrides: [patch("add", `/${container}/args`, ["-v"])],
    gives: { [`${container}/args`]: ["-v"] },
  },
  "a patch replaces an item of a list": {
    overrides: [patch("replace", "/spec/template/spec/containers/1/image", "a/b:1")],
    gives: { "spec/template/spec/containers/1/image": "a/b:1", [`${container}/image`]: "nginx:1.29" },
  },
  "a patch removes a field": { overrides: [patch("remove", "/spec/replicas")], gives: { "spec/replicas": undefined } },
  "a patch removes what is not there": {
    overrides: [patch("remove", "/spec/template/spec/nodeName")],
    gives: { "spec/replicas": 3 },
  },
  "a patch sets a label": { overrides: [patch("add", "/metadata/labels/mark", "x")], gives: { [mark]: "x" } },
  "a patch removes a label": {
    overrides: [patch("remove", "/metadata/labels/app")],
    gives: { "metadata/labels": { "tmc.kcp.io/synced": "mark" } },
  },
  "a path may name fields with slashes and tildes": {
    overrides: [patch("add", "/metadata/annotations/example.com~1note", "x"), patch("add", "/spec/a~0b", "y")],
    gives: { "metadata/annotations": { "tmc.kcp.io/owner": "{}", "example.com/note": "x" }, "spec/a~b": "y" },
  },
  "a patch changes data": {
    on: configMap,
    overrides: [patch("replace", "/data/mode", "{{cluster.name}}")],
    gives: { "data/mode": "east" },
  },
  "a patch removes a field of the object itself": {
    on: configMap,
    overrides: [patch("remove", "/data")],
    gives: { data: undefined, kind: "ConfigMap" },
  },
  "a field may have any name": {
    overrides: [patch("add", "/spec/__proto__", "x"), patch("add", "/spec/constructor", "y")],
    gives: { "spec/constructor": "y", "spec/replicas": 3 },
  },
  "a type without pods has no containers to change": {
    on: service,
    overrides: [{ env: { A: "b" }, limits: { cpu: "1" }, imageHosts: [{ to: "mirror.local" }] }],
    gives: { spec: { ports: [{ port: 80 }] } },
  },
};

/** What is at `a/b/0/c`. */
function at(manifest: Manifest, path: string): unknown {
  const keys = path.split("/");
  return keys.reduce<unknown>(
    (value, key) => (Array.isArray(value) ? value[Number(key)] : valueAt(value, key)),
    manifest,
  );
}

describe("overrides", () => {
  test.each(Object.entries(rows))("%s", (_, { on = deployment, overrides, gives }) => {
    const once = applyOverrides(on, frozen(overrides), east);
    for (const [path, value] of Object.entries(gives)) expect(at(once, path), path).toEqual(value);
    expect(applyOverrides(once, overrides, east), "twice is once").toEqual(once);
  });

  test("a text full of braces takes no longer than any other", () => {
    const braces = "{{".repeat(500_000);
    expect(applyOverrides(configMap, [patch("add", "/data/x", braces)], east)).toHaveProperty("data.x", braces);
  });

  test("what nothing is said about is the very same object", () => {
    expect(applyOverrides(deployment, undefined, east)).toBe(deployment);
    expect(applyOverrides(deployment, [{ ...setMark("x"), clusterNames: ["west"] }], east)).toBe(deployment);
  });

  test.each(withPods.map((manifest) => [manifest.kind, manifest] as const))(
    "every container of a %s is reached, also those that run before and beside it",
    (_, manifest) => {
      const override: Override = {
        imageHosts: [{ from: "docker.io", to: "mirror.local" }],
        env: { ZONE: "{{cluster.name}}" },
        limits: { memory: "1Gi" },
      };
      const made = podSpecOf(applyOverrides(manifest, [override], east));
      const all = ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objectsAt(made, list));
      expect(all.map(({ name, image }) => `${name} ${image}`)).toEqual([
        "prepare mirror.local/library/busybox",
        "web mirror.local/library/nginx:1.29",
        "log quay.io/log/agent:2",
        "look mirror.local/library/alpine",
      ]);
      for (const each of all) {
        expect(objectsAt(each, "env").at(-1)).toEqual({ name: "ZONE", value: "east" });
        expect(valueAt(each, "resources", "limits", "memory")).toBe("1Gi");
      }
    },
  );
});

const noSuch = "there is no";
const onlySingle = "of the metadata only single labels and annotations can be changed";
const eachTime = "would change the list each time that it is followed; give the whole list instead";

const refusals: Readonly<Record<string, readonly [override: Override, message: string]>> = {
  "a path that is not there": [
    patch("replace", "/spec/nothing", 1),
    `patches[0] /spec/nothing: ${noSuch} /spec/nothing`,
  ],
  "a path whose parent is not there": [
    patch("add", "/spec/a~1b/c", 1),
    `patches[0] /spec/a~1b/c: ${noSuch} /spec/a~1b`,
  ],
  "a removal whose parent is not there": [patch("remove", "/spec/a/b"), `patches[0] /spec/a/b: ${noSuch} /spec/a`],
  "a path through a text": [
    patch("add", "/spec/replicas/x", 1),
    `patches[0] /spec/replicas/x: ${noSuch} /spec/replicas/x`,
  ],
  "a path that leads into what every object has": [
    patch("add", "/spec/constructor/prototype", 1),
    `patches[0] /spec/constructor/prototype: ${noSuch} /spec/constructor`,
  ],
  "an item that a list does not have": [
    patch("replace", "/spec/template/spec/containers/2", 1),
    `patches[0] /spec/template/spec/containers/2: ${noSuch} /spec/template/spec/containers/2`,
  ],
  "an item that is no number": [
    patch("replace", "/spec/template/spec/containers/web/image", "x"),
    `patches[0] /spec/template/spec/containers/web/image: ${noSuch} /spec/template/spec/containers/web`,
  ],
  "an addition at the end of a list": [
    patch("add", "/spec/template/spec/containers/-", "x"),
    `patches[0] /spec/template/spec/containers/-: add ${eachTime}`,
  ],
  "an addition within a list": [
    patch("add", "/spec/template/spec/containers/0", "x"),
    `patches[0] /spec/template/spec/containers/0: add ${eachTime}`,
  ],
  "a removal from a list": [
    patch("remove", "/spec/template/spec/containers/0"),
    `patches[0] /spec/template/spec/containers/0: remove ${eachTime}`,
  ],
  "a patch without a value": [patch("add", "/spec/x"), "patches[0] /spec/x: add needs a value"],
  "another apiVersion": [patch("replace", "/apiVersion", "v2"), "patches[0] /apiVersion: apiVersion says what it is"],
  "another kind": [patch("replace", "/kind", "Pod"), "patches[0] /kind: kind says what it is"],
  "another name": [patch("replace", "/metadata/name", "x"), `patches[0] /metadata/name: ${onlySingle}`],
  "another namespace": [patch("replace", "/metadata/namespace", "x"), `patches[0] /metadata/namespace: ${onlySingle}`],
  "finalizers, which would keep a copy from going": [
    patch("add", "/metadata/finalizers", ["x"]),
    `patches[0] /metadata/finalizers: ${onlySingle}`,
  ],
  "all labels at once, TMC's among them": [
    patch("replace", "/metadata/labels", "x"),
    `patches[0] /metadata/labels: ${onlySingle}`,
  ],
  "the metadata as a whole": [patch("remove", "/metadata"), `patches[0] /metadata: ${onlySingle}`],
  "a status": [patch("add", "/status/phase", "x"), "patches[0] /status/phase: the status is the cluster's to write"],
  "TMC's own label, by a patch": [
    patch("remove", "/metadata/labels/tmc.kcp.io~1synced"),
    'patches[0] /metadata/labels/tmc.kcp.io~1synced: "tmc.kcp.io/synced" is TMC\'s own',
  ],
  "TMC's own annotation, by a patch": [
    patch("replace", "/metadata/annotations/tmc.kcp.io~1owner", "x"),
    'patches[0] /metadata/annotations/tmc.kcp.io~1owner: "tmc.kcp.io/owner" is TMC\'s own',
  ],
  "TMC's own label": [{ labels: { "tmc.kcp.io/synced": "x" } }, 'labels: "tmc.kcp.io/synced": is TMC\'s own'],
  "TMC's own annotation": [
    { annotations: { "sub.tmc.kcp.io/x": "x" } },
    'annotations: "sub.tmc.kcp.io/x": is TMC\'s own',
  ],
  "a label that is no text": [
    patch("add", "/metadata/labels/x", 1),
    "patches[0] /metadata/labels/x: the value of a label or an annotation is a text",
  ],
  "a label that is to be replaced and is not there": [
    patch("replace", "/metadata/labels/x", "y"),
    `patches[0] /metadata/labels/x: ${noSuch} /metadata/labels/x`,
  ],
  "a limit that is no amount": [{ limits: { cpu: "much" } }, 'limits.cpu: "much" is no quantity'],
  "a variable that nobody knows": [{ env: { A: "{{cluster.size}}" } }, 'env.A: cluster east has no "cluster.size"'],
  "a label that the cluster does not have": [
    { labels: { a: "{{cluster.labels.zone}}" } },
    'labels.a: cluster east has no "cluster.labels.zone"',
  ],
  "a piece of code": [
    patch("add", "/spec/x", ["{{cluster.name.constructor('return 1')()}}"]),
    "patches[0] /spec/x: cluster east has no \"cluster.name.constructor('return 1')()\"",
  ],
  "a host of images that is none": [
    { imageHosts: [{ from: "a b", to: "x.io" }] },
    'imageHosts[0]: "a b" is no host of images, nor a path on one',
  ],
  "hosts of images in a circle": [
    {
      imageHosts: [
        { from: "docker.io", to: "a.io" },
        { from: "a.io", to: "b.io" },
      ],
    },
    'imageHosts: image "busybox" would be replaced by "a.io/library/busybox", and that by "b.io/library/busybox"',
  ],
};

describe("refused is", () => {
  test.each(Object.entries(refusals))("%s", (_, [override, message]) => {
    const follow = () => applyOverrides(deployment, [setMark("x"), { name: "eu", ...override }], east);
    expect(follow).toThrow(new ControllerError("invalid", `overrides[1] "eu": ${message}`));
  });

  test("a long text in braces, of which the message has only the beginning", () => {
    const follow = () => applyOverrides(deployment, [{ annotations: { a: `{{${"x".repeat(500)}}}` } }], east);
    const message = `overrides[0]: annotations.a: cluster east has no "${"x".repeat(63)}…"`;
    expect(follow).toThrow(new ControllerError("invalid", message));
  });

  test("a label that Kubernetes would refuse, with its words", () => {
    const follow = () => applyOverrides(deployment, [{ labels: { a: "b c" } }], east);
    expect(follow).toThrow(/^overrides\[0\]: labels: "a": a valid label must be an empty string or consist of/);
  });

  test("a selector that makes no sense", () => {
    const clusterSelector = { matchExpressions: [{ key: "a", operator: "In" as const }] };
    const follow = () => applyOverrides(deployment, [{ clusterSelector, replicas: 1 }], east);
    expect(follow).toThrow(/^overrides\[0\]: clusterSelector: values: Invalid value/);
  });
});

test("whatever an override says, a copy stays what it is and whose it is, and twice is once", () => {
  const step = fc.constantFrom("metadata", "labels", "annotations", "tmc.kcp.io~1synced", "name", "spec", "template");
  const more = fc.constantFrom(
    "containers",
    "0",
    "-",
    "image",
    "replicas",
    "kind",
    "apiVersion",
    "status",
    "__proto__",
    "",
  );
  const path = fc.array(fc.oneof(step, more), { minLength: 1, maxLength: 6 }).map((steps) => `/${steps.join("/")}`);
  const value = fc.constantFrom<Json[]>("x", "{{cluster.name}}", 1, null, { containers: [] });
  const anOverride: fc.Arbitrary<Override> = fc.record(
    {
      labels: fc.dictionary(fc.constantFrom("a", "tmc.kcp.io/synced", "x/y"), fc.constantFrom("v", "{{cluster.name}}")),
      env: fc.dictionary(fc.constantFrom("MODE", "KEY", "NEW"), fc.constant("v")),
      replicas: fc.nat({ max: 5 }),
      imageHosts: fc.constantFrom([{ to: "a.io" }], [{ from: "docker.io", to: "docker.io/a" }]),
      // One: a later patch may take away what an earlier one asks for.
      patches: fc
        .record({ op: fc.constantFrom<("add" | "replace" | "remove")[]>("add", "replace", "remove"), path, value })
        .map((each) => [each]),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.constantFrom(...withPods, service, configMap), anOverride, (manifest, override) => {
      let made: Manifest;
      try {
        made = applyOverrides(manifest, [override], east);
      } catch (error) {
        expect(error).toBeInstanceOf(ControllerError);
        expect(error).toMatchObject({ fault: "invalid" });
        return;
      }
      const { apiVersion, kind, metadata } = manifest;
      const { name, namespace } = metadata;
      expect(made).toMatchObject({ apiVersion, kind, metadata: { name, namespace } });
      expect(made.metadata.labels?.["tmc.kcp.io/synced"]).toBe("mark");
      expect(made.metadata.annotations?.["tmc.kcp.io/owner"]).toBe("{}");
      expect(Object.hasOwn(made, "status")).toBe(false);
      expect(applyOverrides(made, [override], east)).toEqual(made);
    }),
    { numRuns: 2000 },
  );
});
