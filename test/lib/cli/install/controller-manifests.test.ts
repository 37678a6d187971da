import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { loadAll } from "js-yaml";
import { describe, expect, it } from "vitest";
import { processIo } from "../../../../lib/cli/cli-io.ts";
import { controllerCommand } from "../../../../lib/cli/controller/controller.ts";
import {
  type ControllerManifestFlags,
  controllerManifests,
  parseControllerManifestFlags,
} from "../../../../lib/cli/install/controller-manifests.ts";
import { manifestsCommand } from "../../../../lib/cli/install/manifests.ts";
import { parseControllerFlags } from "../../../../lib/controller/flags.ts";

const flags: ControllerManifestFlags = {
  image: "example.com/tmc-controller:1.2.3",
  workspace: ["root:a", "root:b"],
};
const forExport: ControllerManifestFlags = { workspace: undefined, apiExport: "root:tmc:tmc.kcp.io" };
const forPlainCluster: ControllerManifestFlags = { workspace: undefined, hub: "kubernetes" };

function objectsOf(changes: ControllerManifestFlags = {}): readonly KubeObject[] {
  const { errors, settings } = parseControllerManifestFlags({ ...flags, ...changes });
  expect(errors).toEqual([]);
  return settings === undefined ? [] : (controllerManifests(settings) as readonly KubeObject[]);
}

type Pod = Readonly<{
  automountServiceAccountToken: boolean;
  securityContext: object;
  topologySpreadConstraints: readonly { topologyKey: string }[];
  containers: readonly [
    Readonly<{
      args: readonly string[];
      ports: readonly { name: string; containerPort: number }[];
      securityContext: object;
    }>,
  ];
}>;

const find = (objects: readonly KubeObject[], kind: string): KubeObject | undefined =>
  objects.find((object) => object.kind === kind);
type Template = Readonly<{ metadata: { labels: Readonly<Record<string, string>> }; spec: Pod }>;
function templateOf(objects: readonly KubeObject[]): Template {
  const spec = find(objects, "Deployment")?.spec as Readonly<{ template: Template }>;
  return spec.template;
}
const podOf = (objects: readonly KubeObject[]): Pod => templateOf(objects).spec;

describe("controller manifests", () => {
  it("contain their Namespace and everything that runs two controllers", () => {
    const objects = objectsOf();
    expect(objects.map(({ kind }) => kind)).toEqual([
      "Namespace",
      "ServiceAccount",
      "Role",
      "RoleBinding",
      "PodDisruptionBudget",
      "NetworkPolicy",
      "Service",
      "Deployment",
    ]);
    expect(find(objects, "Deployment")?.spec).toMatchObject({ replicas: 2 });
    expect(find(objectsOf({ replicas: "3" }), "Deployment")?.spec).toMatchObject({ replicas: 3 });
  });

  it("enforce restricted pods in the namespace of TMC, and leave the labels of any other namespace alone", () => {
    expect(objectsOf()[0]?.metadata).toEqual({
      name: "tmc-system",
      labels: { "pod-security.kubernetes.io/enforce": "restricted" },
    });
    expect(objectsOf({ namespace: "shared" })[0]?.metadata).toEqual({ name: "shared" });
  });

  it.each([
    ["workspaces", {}, { workspaces: ["root:a", "root:b"], apiExport: undefined }],
    ["an APIExport", forExport, { workspaces: undefined, apiExport: { path: "root:tmc", name: "tmc.kcp.io" } }],
    ["a plain cluster", forPlainCluster, { workspaces: undefined, apiExport: undefined }],
  ])("run tmc controller with arguments that it accepts, for %s", (_, changes, expected) => {
    const [{ args, ports }] = podOf(objectsOf(changes)).containers;
    expect(args[0]).toBe("controller");
    expect(args).toContain("--leader-elect");
    const command = controllerCommand(processIo);
    const { unknown } = command.parseOptions([...args]);
    expect(unknown).toEqual([]);
    const config = parseControllerFlags(command.opts());
    expect(config).toMatchObject({
      leaderElection: { kubeconfig: undefined, namespace: undefined, name: "tmc-controller", durationSeconds: 15 },
      ...expected,
      kcpKubeconfig: "/etc/tmc/kcp/kubeconfig",
    });
    expect(ports).toEqual([
      { name: "metrics", containerPort: config.metricsPort },
      { name: "health", containerPort: config.healthPort },
    ]);
  });

  it("permit Leases of their namespace and nothing else", () => {
    const objects = objectsOf();
    expect(find(objects, "Role")).toMatchObject({ rules: [{ resources: ["leases"] }] });
    expect(objects.filter(({ kind }) => kind.startsWith("Cluster"))).toEqual([]);
    expect(podOf(objects).automountServiceAccountToken).toBe(true);
  });

  it("restrict the pods with a security context, and spread them over zones and nodes", () => {
    const { securityContext, containers, topologySpreadConstraints } = podOf(objectsOf());
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(topologySpreadConstraints.map(({ topologyKey }) => topologyKey)).toEqual([
      "topology.kubernetes.io/zone",
      "kubernetes.io/hostname",
    ]);
  });

  it("select the pods with the labels that the pods have", () => {
    const objects = objectsOf({ serviceMonitor: true });
    const { labels } = templateOf(objects).metadata;
    expect(find(objects, "Service")?.spec).toMatchObject({ selector: labels });
    expect(find(objects, "NetworkPolicy")?.spec).toMatchObject({ podSelector: { matchLabels: labels } });
    expect(find(objects, "PodDisruptionBudget")?.spec).toMatchObject({ selector: { matchLabels: labels } });
    expect(find(objects, "Service")?.metadata.labels).toEqual(labels);
    expect(find(objects, "ServiceMonitor")?.spec).toMatchObject({ selector: { matchLabels: labels } });
  });

  it("are accepted by a cluster with strict field validation", async () => {
    const cluster = await startEmbeddedCluster({ name: "east", listen: false });
    const client = createKubeClient({ endpoint: { server: cluster.url }, transport: cluster.transport() });
    const plurals: Readonly<Record<string, string>> = { NetworkPolicy: "networkpolicies" };
    for (const object of objectsOf({ namespace: "default" }).slice(1)) {
      const [group = "", version = ""] = object.apiVersion.includes("/")
        ? object.apiVersion.split("/")
        : ["", object.apiVersion];
      const type = { group, version, plural: plurals[object.kind] ?? `${object.kind.toLowerCase()}s` };
      await client.create({ type, namespace: "default" }, object, { fieldValidation: "Strict", dryRun: true });
    }
    await client.close();
    await cluster.stop();
  });
});

describe("tmc manifests --format controller", () => {
  const run = (...args: readonly string[]) => {
    let [out, err] = ["", ""];
    const command = manifestsCommand((text) => {
      out += text;
    });
    command.exitOverride().configureOutput({
      writeErr: (text) => {
        err += text;
      },
    });
    try {
      command.parse(["--format", "controller", ...args], { from: "user" });
    } catch {
      // commander throws instead of exiting; its message is in `err`.
    }
    return { out, err };
  };

  it("tmc manifests --format controller prints the objects, with a ServiceMonitor only if it is requested", () => {
    const required = ["--image", "a/b:1", "--workspace", "root:a,root:b", "--namespace", "x"];
    const { out, err } = run(...required);
    expect(err).toBe("");
    expect(loadAll(out)).toEqual(JSON.parse(JSON.stringify(objectsOf({ image: "a/b:1", namespace: "x" }))));
    expect(out).not.toContain("ServiceMonitor");
    expect(run(...required, "--service-monitor").out).toContain("kind: ServiceMonitor");
  });

  it("tmc manifests --format controller mounts the Secret with the given name", () => {
    expect(run("--image", "a:1", "--workspace", "root:a").out).toContain("secretName: tmc-kcp");
    const named = ["--kubeconfig-secret", "worker"];
    expect(run("--image", "a:1", "--workspace", "root:a", ...named).out).toContain("secretName: worker");
  });

  it("tmc manifests --format controller prints all invalid options in one error", () => {
    const { out, err } = run("--image", "a:latest", "--replicas", "0", "--namespace", "A B", "--workspace", "Root");
    expect(out).toBe("");
    for (const message of [
      "--image must have a version",
      '--replicas "0" is not a whole number from 1 to 9',
      "--namespace ",
      '--workspace "Root" is not a path',
      "--help",
    ])
      expect(err).toContain(message);
    expect(run().err).toContain("--workspace is missing");
  });
});
