import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { load, loadAll } from "js-yaml";
import { beforeAll, describe, expect, it } from "vitest";
import {
  type ControllerManifestFlags,
  controllerManifests,
  parseControllerManifestFlags,
} from "../../lib/cli/install/controller-manifests.ts";
import { ensureHelm } from "../real/build.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const chart = join(root, "charts/tmc");

let helm: string;
beforeAll(async () => {
  helm = await ensureHelm();
}, 1_800_000);

type Values = Readonly<Record<string, unknown>>;
const required: Values = {
  "image.repository": "example.com/tmc-controller",
  "upstream.apiExport": "root:tmc:tmc.kcp.io",
};

async function run(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(helm, [...args]);
}

/** Options of Helm that set values by their paths. */
const optionsOf = (values: Values): readonly string[] =>
  Object.entries(values).flatMap(([path, value]) => ["--set-json", `${path}=${JSON.stringify(value)}`]);

/** The objects of the chart with the required values and the given ones, in the order of `tmc manifests`. */
async function render(values: Values = {}, namespace = "tmc-system"): Promise<readonly KubeObject[]> {
  const { stdout } = await run(
    "template",
    "release",
    chart,
    "--namespace",
    namespace,
    ...optionsOf({ ...required, ...values }),
  );
  return inOrder(loadAll(stdout) as KubeObject[]);
}

/** The message with which Helm rejects the values. */
async function rejection(values: Values): Promise<string> {
  const failure: unknown = await run("template", "release", chart, ...optionsOf(values)).catch(
    (error: unknown) => error,
  );
  return String(Object(failure).stderr);
}

/** The objects of `tmc manifests --format controller`, without the Namespace, which `helm install --create-namespace` creates. */
async function manifestsOf(flags: ControllerManifestFlags): Promise<readonly KubeObject[]> {
  const image = `example.com/tmc-controller:${await projectVersion()}`;
  const { errors, settings } = parseControllerManifestFlags({ image, ...flags });
  expect(errors).toEqual([]);
  const objects = settings === undefined ? [] : (controllerManifests(settings) as readonly KubeObject[]);
  return inOrder(objects.filter(({ kind }) => kind !== "Namespace"));
}

const inOrder = (objects: readonly KubeObject[]): readonly KubeObject[] =>
  objects.toSorted((one, other) => one.kind.localeCompare(other.kind));

async function projectVersion(): Promise<unknown> {
  const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  return isRecord(manifest) ? manifest.version : undefined;
}

const find = (objects: readonly KubeObject[], kind: string): KubeObject | undefined =>
  objects.find((object) => object.kind === kind);

describe("the chart charts/tmc", () => {
  it("passes helm lint", async () => {
    const { stdout } = await run("lint", "--strict", chart, ...optionsOf(required));
    expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed");
    expect(stdout).not.toMatch(/\[(WARNING|ERROR)\]/);
  });

  it("has the version of the project", async () => {
    const version = await projectVersion();
    expect(load(await readFile(join(chart, "Chart.yaml"), "utf8"))).toMatchObject({ version, appVersion: version });
  });

  it.each([
    ["an APIExport", {}, { apiExport: "root:tmc:tmc.kcp.io" }],
    [
      "workspaces",
      { "upstream.apiExport": "", "upstream.workspaces": ["root:a", "root:b"] },
      { workspace: ["root:a", "root:b"] },
    ],
    ["a plain cluster", { "upstream.apiExport": "", "upstream.hub": "kubernetes" }, { hub: "kubernetes" }],
    [
      "another Secret and more pods",
      { replicas: 3, kubeconfigSecret: "worker" },
      { apiExport: "root:tmc:tmc.kcp.io", replicas: "3", kubeconfigSecret: "worker" },
    ],
    [
      "a ServiceMonitor",
      { "serviceMonitor.enabled": true },
      { apiExport: "root:tmc:tmc.kcp.io", serviceMonitor: true },
    ],
  ] as const)("has the objects of tmc manifests --format controller, for %s", async (_, values, flags) => {
    expect(await render(values)).toEqual(await manifestsOf(flags));
  });

  it("uses the namespace of the release", async () => {
    expect(await render({}, "other")).toEqual(
      await manifestsOf({ apiExport: "root:tmc:tmc.kcp.io", namespace: "other" }),
    );
  });

  it("renders what only the chart can set", async () => {
    const objects = await render({
      name: "second",
      "image.digest": `sha256:${"a".repeat(64)}`,
      "image.pullPolicy": "Always",
      imagePullSecrets: [{ name: "registry" }],
      extraArgs: ["--log-level=4"],
      "serviceAccount.annotations": { "example.com/role": "tmc" },
      podAnnotations: { "example.com/note": "a" },
      nodeSelector: { "kubernetes.io/arch": "arm64" },
      tolerations: [{ key: "infra", operator: "Exists" }],
      priorityClassName: "system-cluster-critical",
      "podDisruptionBudget.enabled": false,
      "networkPolicy.enabled": false,
      "serviceMonitor.enabled": true,
      "serviceMonitor.labels": { release: "prometheus" },
    });
    expect(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([
      "Deployment/second",
      "Role/second",
      "RoleBinding/second",
      "Service/second",
      "ServiceAccount/second",
      "ServiceMonitor/second",
    ]);
    expect(find(objects, "ServiceAccount")?.metadata.annotations).toEqual({ "example.com/role": "tmc" });
    expect(find(objects, "ServiceMonitor")?.metadata.labels).toMatchObject({ release: "prometheus" });
    expect(find(objects, "Deployment")).toMatchObject({
      spec: {
        template: {
          metadata: { annotations: { "example.com/note": "a", "prometheus.io/path": "/metrics" } },
          spec: {
            imagePullSecrets: [{ name: "registry" }],
            nodeSelector: { "kubernetes.io/arch": "arm64" },
            tolerations: [{ key: "infra", operator: "Exists" }],
            priorityClassName: "system-cluster-critical",
            containers: [
              {
                image: `example.com/tmc-controller@sha256:${"a".repeat(64)}`,
                imagePullPolicy: "Always",
                args: expect.arrayContaining(["--log-level=4"]),
              },
            ],
          },
        },
      },
    });
  });

  it.each([
    [{ "upstream.apiExport": "root:tmc:tmc.kcp.io" }, "image.repository is required"],
    [{ "image.repository": "a" }, "upstream.apiExport or upstream.workspaces is required"],
    [{ ...required, "upstream.workspaces": ["root:a"] }, "exclude each other"],
    [{ ...required, "upstream.hub": "kubernetes" }, "upstream.hub kubernetes excludes"],
    [{ ...required, "image.tag": "latest" }, "image"],
    [{ ...required, replicas: 0 }, "replicas"],
    [{ ...required, replica: 2 }, "replica"],
    [{ ...required, extraArgs: ["log-level"] }, "extraArgs"],
    [{ ...required, kubeconfigSecret: "A B" }, "kubeconfigSecret"],
  ])("rejects the values %j", async (values, message) => {
    expect(await rejection(values)).toContain(message);
  });
});

describe("values.schema.json", () => {
  it("describes every value of values.yaml and nothing else", async () => {
    const schema: unknown = JSON.parse(await readFile(join(chart, "values.schema.json"), "utf8"));
    const values = load(await readFile(join(chart, "values.yaml"), "utf8"));
    const names = Object.keys(isRecord(values) ? values : {});
    const { properties } = isRecord(schema) ? schema : {};
    expect(Object.keys(isRecord(properties) ? properties : {}).toSorted()).toEqual([...names, "global"].toSorted());
  });
});
