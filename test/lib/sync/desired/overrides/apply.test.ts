import { ControllerError } from "@tmc/kube/fault.ts";
import { objectsAt, valueAt } from "@tmc/kube/json.ts";
import type { Json } from "@tmc/kube/kube-object.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyOverrides, type Override } from "../../../../../lib/sync/desired/overrides/apply.ts";

import { podSpecOf } from "../../../../../lib/sync/desired/pod-spec.ts";
import type { Manifest } from "../../../../../lib/sync/sync-objects.ts";
import { aTargetCluster } from "../../a-target-cluster.ts";
import { configMap, cronJob, deployment, service, withPods } from "./manifests.ts";

const east = aTargetCluster("east", {
  location: "eu-west-1",
  labels: { env: "prod", "topology.kubernetes.io/region": "eu", share: "0.5", odd: "{{cluster.name}}" },
});

/** Deep-freezes a value, so that a modification of the input throws. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null)
    for (const inner of Object.values(Object.freeze(value))) frozen(inner);
  return value;
}
for (const manifest of [deployment, cronJob, service, configMap, ...withPods]) frozen(manifest);

type Row = Readonly<{
  on?: Manifest;
  overrides: readonly Override[];
  /** The expected values by path. */
  expected: Readonly<Record<string, unknown>>;
}>;

const setLabel = (added: string): Override => ({ labels: { added } });
const patch = (op: "add" | "replace" | "remove", path: string, value?: string | number | string[]): Override => ({
  patches: [{ op, path, ...(value === undefined ? {} : { value }) }],
});
const added = "metadata/labels/added";
const container = "spec/template/spec/containers/0";

const rows: Readonly<Record<string, Row>> = {
  "applies an override without a selection to every cluster": {
    overrides: [setLabel("x")],
    expected: { [added]: "x" },
  },
  "applies an override to the clusters in clusterNames": {
    overrides: [
      { ...setLabel("west"), clusterNames: ["west"] },
      { clusterNames: ["east"], labels: { other: "x" } },
    ],
    expected: { [added]: undefined, "metadata/labels/other": "x" },
  },
  "applies an override with empty clusterNames to no cluster": {
    overrides: [{ ...setLabel("x"), clusterNames: [] }],
    expected: { [added]: undefined },
  },
  "applies an override to the clusters that its clusterSelector matches": {
    overrides: [
      { ...setLabel("prod"), clusterSelector: { matchLabels: { env: "prod" } } },
      { labels: { other: "x" }, clusterSelector: { matchExpressions: [{ key: "env", operator: "DoesNotExist" }] } },
    ],
    expected: { [added]: "prod", "metadata/labels/other": undefined },
  },
  "applies an override to the types in workloadTypes": {
    overrides: [
      { ...setLabel("x"), workloadTypes: [{ apiVersion: "apps/v1", kind: "StatefulSet" }] },
      { labels: { other: "x" }, workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] },
    ],
    expected: { [added]: undefined, "metadata/labels/other": "x" },
  },
  "applies an override only if name, labels and type all match": {
    overrides: [{ ...setLabel("x"), clusterNames: ["east"], clusterSelector: { matchLabels: { env: "test" } } }],
    expected: { [added]: undefined },
  },
  "lets a later override win over an earlier one": {
    overrides: [setLabel("one"), setLabel("two")],
    expected: { [added]: "two" },
  },
  "applies the patches of an override last": {
    overrides: [{ patches: [{ op: "replace", path: "/spec/replicas", value: 9 }], replicas: 5 }],
    expected: { "spec/replicas": 9 },
  },
  "applies limits before patches": {
    overrides: [
      {
        limits: { cpu: "3" },
        patches: [{ op: "replace", path: `/${container}/resources/limits/cpu`, value: "4" }],
      },
    ],
    expected: { [`${container}/resources/limits/cpu`]: "4" },
  },
  "adds labels and annotations to the existing ones": {
    overrides: [{ labels: { tier: "front" }, annotations: { note: "any text at all" } }],
    expected: {
      "metadata/labels": { app: "web", "tmc.kcp.io/synced": "tenant", tier: "front" },
      "metadata/annotations": { "tmc.kcp.io/owner": "{}", note: "any text at all" },
    },
  },
  "adds labels to an object without labels": {
    on: { ...configMap, metadata: { name: "x" } },
    overrides: [{ labels: { tier: "front" } }],
    expected: { "metadata/labels": { tier: "front" } },
  },
  "sets replicas to zero": { overrides: [{ replicas: 0 }], expected: { "spec/replicas": 0 } },
  "sets replicas that the workload omits": {
    on: { ...deployment, spec: {} },
    overrides: [{ replicas: 2 }],
    expected: { "spec/replicas": 2 },
  },
  "does not set replicas of a type that has none": {
    on: service,
    overrides: [{ replicas: 2 }],
    expected: { "spec/replicas": undefined },
  },
  "changes an environment variable in its position and appends a new one": {
    overrides: [{ env: { MODE: "fast", ADDED: "x", KEY: "y" } }],
    expected: {
      [`${container}/env`]: [
        { name: "MODE", value: "fast" },
        { name: "KEY", value: "y" },
        { name: "ADDED", value: "x" },
      ],
    },
  },
  "keeps other limits and lowers a request above its new limit": {
    overrides: [{ limits: { cpu: "500m", memory: "1Gi" } }],
    expected: {
      [`${container}/resources`]: {
        limits: { cpu: "500m", memory: "1Gi" },
        requests: { cpu: "500m", memory: "64Mi" },
      },
      "spec/template/spec/containers/1/resources": { limits: { cpu: "500m", memory: "1Gi" } },
    },
  },
  "renders variables of the cluster in all strings": {
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
    expected: {
      "metadata/labels/cluster": "east-prod",
      "metadata/annotations/at": "eu-west-1/eu",
      [`${container}/env/0/value`]: "east",
      [`${container}/resources/limits/cpu`]: "0.5",
      [`${container}/image`]: "prod.mirror.local/library/nginx:1.29",
      "spec/note": { deep: ["east", 1, null, true, { x: "east" }] },
    },
  },
  "does not render a rendered value again": {
    overrides: [{ annotations: { at: "{{cluster.labels.odd}}" } }],
    expected: { "metadata/annotations/at": "{{cluster.name}}" },
  },
  "does not render variables in field names": {
    overrides: [{ patches: [{ op: "add", path: "/spec/x", value: { "{{cluster.name}}": 1 } }] }],
    expected: { "spec/x": { "{{cluster.name}}": 1 } },
  },
  "leaves unpaired braces unchanged": {
    overrides: [{ annotations: { x: "{{ a { b } c" } }],
    expected: { "metadata/annotations/x": "{{ a { b } c" },
  },
  "adds a field by a patch": {
    overrides: [patch("add", "/spec/template/spec/priorityClassName", "high")],
    expected: { "spec/template/spec/priorityClassName": "high" },
  },
  "replaces an existing field by an add patch": {
    overrides: [patch("add", "/spec/replicas", 7)],
    expected: { "spec/replicas": 7 },
  },
  "sets a whole list by a patch": {
    overrides: [patch("add", `/${container}/args`, ["-v"])],
    expected: { [`${container}/args`]: ["-v"] },
  },
  "replaces an item of a list by a patch": {
    overrides: [patch("replace", "/spec/template/spec/containers/1/image", "a/b:1")],
    expected: { "spec/template/spec/containers/1/image": "a/b:1", [`${container}/image`]: "nginx:1.29" },
  },
  "removes a field by a patch": {
    overrides: [patch("remove", "/spec/replicas")],
    expected: { "spec/replicas": undefined },
  },
  "accepts a remove patch for a missing field": {
    overrides: [patch("remove", "/spec/template/spec/nodeName")],
    expected: { "spec/replicas": 3 },
  },
  "sets a label by a patch": { overrides: [patch("add", "/metadata/labels/added", "x")], expected: { [added]: "x" } },
  "removes a label by a patch": {
    overrides: [patch("remove", "/metadata/labels/app")],
    expected: { "metadata/labels": { "tmc.kcp.io/synced": "tenant" } },
  },
  "decodes slashes and tildes in the path of a patch": {
    overrides: [patch("add", "/metadata/annotations/example.com~1note", "x"), patch("add", "/spec/a~0b", "y")],
    expected: { "metadata/annotations": { "tmc.kcp.io/owner": "{}", "example.com/note": "x" }, "spec/a~b": "y" },
  },
  "changes the data of a ConfigMap by a patch": {
    on: configMap,
    overrides: [patch("replace", "/data/mode", "{{cluster.name}}")],
    expected: { "data/mode": "east" },
  },
  "removes a top-level field by a patch": {
    on: configMap,
    overrides: [patch("remove", "/data")],
    expected: { data: undefined, kind: "ConfigMap" },
  },
  "patches fields with the names of object properties": {
    overrides: [patch("add", "/spec/__proto__", "x"), patch("add", "/spec/constructor", "y")],
    expected: { "spec/constructor": "y", "spec/replicas": 3 },
  },
  "does not change containers of a type without a pod template": {
    on: service,
    overrides: [{ env: { A: "b" }, limits: { cpu: "1" }, imageHosts: [{ to: "mirror.local" }] }],
    expected: { spec: { ports: [{ port: 80 }] } },
  },
};

/** The value at `a/b/0/c`. */
function at(manifest: Manifest, path: string): unknown {
  const keys = path.split("/");
  return keys.reduce<unknown>(
    (value, key) => (Array.isArray(value) ? value[Number(key)] : valueAt(value, key)),
    manifest,
  );
}

describe("applyOverrides", () => {
  test.each(Object.entries(rows))("%s", (_, { on = deployment, overrides, expected }) => {
    const once = applyOverrides(on, frozen(overrides), east);
    for (const [path, value] of Object.entries(expected)) expect(at(once, path), path).toEqual(value);
    expect(applyOverrides(once, overrides, east), "idempotent").toEqual(once);
  });

  test("renders a string with a million braces in linear time", () => {
    const braces = "{{".repeat(500_000);
    expect(applyOverrides(configMap, [patch("add", "/data/x", braces)], east)).toHaveProperty("data.x", braces);
  });

  test("returns the same object if no override applies", () => {
    expect(applyOverrides(deployment, undefined, east)).toBe(deployment);
    expect(applyOverrides(deployment, [{ ...setLabel("x"), clusterNames: ["west"] }], east)).toBe(deployment);
  });

  test.each(withPods.map((manifest) => [manifest.kind, manifest] as const))(
    "changes all containers of a %s, including init and ephemeral containers",
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
        "debug mirror.local/library/alpine",
      ]);
      for (const each of all) {
        expect(objectsAt(each, "env").at(-1)).toEqual({ name: "ZONE", value: "east" });
        expect(valueAt(each, "resources", "limits", "memory")).toBe("1Gi");
      }
    },
  );
});

const noSuch = "there is no";
const onlySingle = "only single labels and annotations of the metadata can be changed";
const eachTime = "would change the list each time it is applied; set the whole list instead";

const rejected: Readonly<Record<string, readonly [override: Override, message: string]>> = {
  "rejects a replace patch of a missing field": [
    patch("replace", "/spec/nothing", 1),
    `patches[0] /spec/nothing: ${noSuch} /spec/nothing`,
  ],
  "rejects an add patch below a missing field": [
    patch("add", "/spec/a~1b/c", 1),
    `patches[0] /spec/a~1b/c: ${noSuch} /spec/a~1b`,
  ],
  "rejects a remove patch below a missing field": [
    patch("remove", "/spec/a/b"),
    `patches[0] /spec/a/b: ${noSuch} /spec/a`,
  ],
  "rejects a path below a scalar": [
    patch("add", "/spec/replicas/x", 1),
    `patches[0] /spec/replicas/x: ${noSuch} /spec/replicas/x`,
  ],
  "rejects a path into the object prototype": [
    patch("add", "/spec/constructor/prototype", 1),
    `patches[0] /spec/constructor/prototype: ${noSuch} /spec/constructor`,
  ],
  "rejects a list index out of range": [
    patch("replace", "/spec/template/spec/containers/2", 1),
    `patches[0] /spec/template/spec/containers/2: ${noSuch} /spec/template/spec/containers/2`,
  ],
  "rejects a list index that is not a number": [
    patch("replace", "/spec/template/spec/containers/web/image", "x"),
    `patches[0] /spec/template/spec/containers/web/image: ${noSuch} /spec/template/spec/containers/web`,
  ],
  "rejects an add patch at the end of a list": [
    patch("add", "/spec/template/spec/containers/-", "x"),
    `patches[0] /spec/template/spec/containers/-: add ${eachTime}`,
  ],
  "rejects an add patch inside a list": [
    patch("add", "/spec/template/spec/containers/0", "x"),
    `patches[0] /spec/template/spec/containers/0: add ${eachTime}`,
  ],
  "rejects a remove patch of a list item": [
    patch("remove", "/spec/template/spec/containers/0"),
    `patches[0] /spec/template/spec/containers/0: remove ${eachTime}`,
  ],
  "rejects an add patch without a value": [patch("add", "/spec/x"), "patches[0] /spec/x: add needs a value"],
  "rejects a patch of the apiVersion": [
    patch("replace", "/apiVersion", "v2"),
    "patches[0] /apiVersion: apiVersion cannot be changed",
  ],
  "rejects a patch of the kind": [patch("replace", "/kind", "Pod"), "patches[0] /kind: kind cannot be changed"],
  "rejects a patch of the name": [patch("replace", "/metadata/name", "x"), `patches[0] /metadata/name: ${onlySingle}`],
  "rejects a patch of the namespace": [
    patch("replace", "/metadata/namespace", "x"),
    `patches[0] /metadata/namespace: ${onlySingle}`,
  ],
  "rejects a patch of finalizers, which would block the deletion of a copy": [
    patch("add", "/metadata/finalizers", ["x"]),
    `patches[0] /metadata/finalizers: ${onlySingle}`,
  ],
  "rejects a patch that replaces all labels, including those of TMC": [
    patch("replace", "/metadata/labels", "x"),
    `patches[0] /metadata/labels: ${onlySingle}`,
  ],
  "rejects a patch of the whole metadata": [patch("remove", "/metadata"), `patches[0] /metadata: ${onlySingle}`],
  "rejects a patch of the status": [
    patch("add", "/status/phase", "x"),
    "patches[0] /status/phase: only the cluster writes the status",
  ],
  "rejects a patch of TMC's own label": [
    patch("remove", "/metadata/labels/tmc.kcp.io~1synced"),
    'patches[0] /metadata/labels/tmc.kcp.io~1synced: "tmc.kcp.io/synced" is reserved for TMC',
  ],
  "rejects a patch of TMC's own annotation": [
    patch("replace", "/metadata/annotations/tmc.kcp.io~1owner", "x"),
    'patches[0] /metadata/annotations/tmc.kcp.io~1owner: "tmc.kcp.io/owner" is reserved for TMC',
  ],
  "rejects an override of TMC's own label": [
    { labels: { "tmc.kcp.io/synced": "x" } },
    'labels: "tmc.kcp.io/synced": is reserved for TMC',
  ],
  "rejects an override of TMC's own annotation": [
    { annotations: { "sub.tmc.kcp.io/x": "x" } },
    'annotations: "sub.tmc.kcp.io/x": is reserved for TMC',
  ],
  "rejects a label value that is not a string": [
    patch("add", "/metadata/labels/x", 1),
    "patches[0] /metadata/labels/x: the value of a label or an annotation must be a string",
  ],
  "rejects a replace patch of a missing label": [
    patch("replace", "/metadata/labels/x", "y"),
    `patches[0] /metadata/labels/x: ${noSuch} /metadata/labels/x`,
  ],
  "rejects a limit that is not a quantity": [{ limits: { cpu: "much" } }, 'limits.cpu: "much" is not a quantity'],
  "rejects an unknown variable": [{ env: { A: "{{cluster.size}}" } }, 'env.A: cluster east has no "cluster.size"'],
  "rejects a variable for a label that the cluster does not have": [
    { labels: { a: "{{cluster.labels.zone}}" } },
    'labels.a: cluster east has no "cluster.labels.zone"',
  ],
  "rejects code in a variable": [
    patch("add", "/spec/x", ["{{cluster.name.constructor('return 1')()}}"]),
    "patches[0] /spec/x: cluster east has no \"cluster.name.constructor('return 1')()\"",
  ],
  "rejects an invalid image registry host": [
    { imageHosts: [{ from: "a b", to: "x.io" }] },
    'imageHosts[0]: "a b" is not an image registry host or a path on one',
  ],
  "rejects imageHosts that apply to each other's result": [
    {
      imageHosts: [
        { from: "docker.io", to: "a.io" },
        { from: "a.io", to: "b.io" },
      ],
    },
    'imageHosts: image "busybox" would be replaced by "a.io/library/busybox", and that by "b.io/library/busybox"',
  ],
};

describe("rejected overrides", () => {
  test.each(Object.entries(rejected))("%s", (_, [override, message]) => {
    const run = () => applyOverrides(deployment, [setLabel("x"), { name: "eu", ...override }], east);
    expect(run).toThrow(new ControllerError("invalid", `overrides[1] "eu": ${message}`));
  });

  test("clips a long unknown variable in the message", () => {
    const run = () => applyOverrides(deployment, [{ annotations: { a: `{{${"x".repeat(500)}}}` } }], east);
    const message = `overrides[0]: annotations.a: cluster east has no "${"x".repeat(63)}…"`;
    expect(run).toThrow(new ControllerError("invalid", message));
  });

  test("rejects an invalid label with the message of Kubernetes", () => {
    const run = () => applyOverrides(deployment, [{ labels: { a: "b c" } }], east);
    expect(run).toThrow(/^overrides\[0\]: labels: "a": a valid label must be an empty string or consist of/);
  });

  test("rejects an invalid clusterSelector", () => {
    const clusterSelector = { matchExpressions: [{ key: "a", operator: "In" as const }] };
    const run = () => applyOverrides(deployment, [{ clusterSelector, replicas: 1 }], east);
    expect(run).toThrow(/^overrides\[0\]: clusterSelector: values: Invalid value/);
  });
});

test("no override changes the identity or the owner of a copy, and applying overrides is idempotent", () => {
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
      // Only one: a later patch may remove what an earlier one requires.
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
      expect(made.metadata.labels?.["tmc.kcp.io/synced"]).toBe("tenant");
      expect(made.metadata.annotations?.["tmc.kcp.io/owner"]).toBe("{}");
      expect(Object.hasOwn(made, "status")).toBe(false);
      expect(applyOverrides(made, [override], east)).toEqual(made);
    }),
    { numRuns: 2000 },
  );
});
