import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { loadAll } from "js-yaml";
import { describe, expect, it } from "vitest";
import { manifestsCommand } from "../../../../lib/cli/install/manifests.ts";
import { parseRelayFlags, type RelayFlags, relayManifests } from "../../../../lib/cli/install/relay-manifests.ts";
import { readRelaySettings } from "../../../../lib/relay/service/relay-settings.ts";

const url = "https://sqs.eu-central-1.amazonaws.com/123456789012/tmc-prod-work.fifo";
const flags: RelayFlags = {
  image: "example.com/tmc-relay:1.2.3",
  queueUrl: url,
  region: "eu-central-1",
  kcpSecret: "tmc/kcp",
  workspace: ["root:a", "root:b"],
};
const relayObjects = (changes: RelayFlags = {}): readonly KubeObject[] => {
  const [errors, settings] = parseRelayFlags({ ...flags, ...changes });
  expect(errors).toEqual([]);
  return relayManifests(settings) as readonly KubeObject[];
};
const withKubernetesSecret: RelayFlags = { kcpSecret: undefined, kubeconfigSecret: "kcp-kubeconfig" };

type Container = Readonly<{ env: readonly { name: string; value: string }[]; securityContext: object }>;
type Pod = Readonly<{ containers: readonly [Container]; securityContext: object; volumes?: readonly object[] }>;
const podOf = (objects: readonly KubeObject[]): Pod => {
  const spec = objects.find(({ kind }) => kind === "Deployment")?.spec as { template: { spec: Pod } };
  return spec.template.spec;
};
const environmentOf = (objects: readonly KubeObject[]): Record<string, string> =>
  Object.fromEntries(podOf(objects).containers[0].env.map(({ name, value }) => [name, value]));

describe("relay manifests", () => {
  it("contain their Namespace, a ServiceAccount, a PodDisruptionBudget and a Deployment with two pods", () => {
    const [namespace, ...objects] = relayObjects();
    expect(namespace).toMatchObject({ kind: "Namespace", metadata: { name: "tmc-system" } });
    expect(objects.map(({ kind }) => kind)).toEqual(["ServiceAccount", "PodDisruptionBudget", "Deployment"]);
    expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["tmc-system"]));
    expect(objects[2]?.spec).toMatchObject({ replicas: 2 });
  });
  it("set environment variables that the relay accepts", () => {
    expect(readRelaySettings(environmentOf(relayObjects()))).toEqual({
      stage: "default",
      logLevel: 2,
      kubeconfig: { secret: "tmc/kcp" },
      workspaces: ["root:a", "root:b"],
      workQueueUrl: url,
      tenantEventsPerSecond: 100,
      sync: true,
      watchClusters: false,
      allowedEndpoints: [],
      credentialProviders: ["eks", "secretsmanager", "kcp-secret"],
      metricsPort: 8080,
      healthPort: 8081,
      cloudWatch: { by: "api", region: "eu-central-1" },
    });
    expect(
      readRelaySettings(environmentOf(relayObjects({ ...withKubernetesSecret, hub: "kubernetes", workspace: [] }))),
    ).toMatchObject({
      kubeconfig: { path: "/etc/tmc/kcp/kubeconfig" },
      workspaces: undefined,
    });
  });
  it("set an APIExport instead of workspaces, but not both", () => {
    const settings = readRelaySettings(
      environmentOf(relayObjects({ workspace: [], apiExport: "root:tmc:tmc.kcp.io" })),
    );
    expect(settings).toMatchObject({ workspaces: undefined, apiExport: { path: "root:tmc", name: "tmc.kcp.io" } });
    const [errors] = parseRelayFlags({ ...flags, apiExport: "root:tmc:tmc.kcp.io" });
    expect(errors).toEqual(["--api-export and --workspace exclude each other"]);
  });
  it("restrict the pods with a security context", () => {
    const { securityContext, containers } = podOf(relayObjects());
    expect(securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  });
  it("annotate the ServiceAccount with a role only if one is set", () => {
    const roleArn = "arn:aws:iam::123456789012:role/tmc-relay";
    expect(relayObjects()[1]?.metadata.annotations).toBeUndefined();
    expect(relayObjects({ roleArn })[1]?.metadata.annotations).toEqual({ "eks.amazonaws.com/role-arn": roleArn });
  });
  it.each([
    ["with a secret in AWS Secrets Manager", {}],
    ["with a Kubernetes Secret", withKubernetesSecret],
  ])(
    "are accepted in their order by a cluster without the namespace, with strict field validation, %s",
    async (_, changes) => {
      const cluster = await startEmbeddedCluster({ name: "east", listen: false });
      const client = createKubeClient({ endpoint: { server: cluster.url }, transport: cluster.transport() });
      const plurals = ["namespaces", "serviceaccounts", "poddisruptionbudgets", "deployments"];
      for (const [at, object] of relayObjects(changes).entries()) {
        const [group = "", version = ""] = object.apiVersion.includes("/")
          ? object.apiVersion.split("/")
          : ["", object.apiVersion];
        const type = { group, version, plural: plurals[at] ?? "" };
        const { name = "", namespace } = object.metadata;
        const patch = { type: "apply", body: object } as const;
        await client.patch({ type, namespace, name }, patch, { fieldManager: "test", fieldValidation: "Strict" });
      }
      await client.close();
      await cluster.stop();
    },
  );
});

describe("tmc manifests --format relay", () => {
  const run = (...flags: readonly string[]) => {
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
      command.parse(["--format", "relay", ...flags], { from: "user" });
    } catch {
      // commander throws instead of exiting; its message is in `err`.
    }
    return { out, err };
  };

  it("tmc manifests --format relay prints the objects", () => {
    const required = ["--image", "a/b:1", "--queue-url", url, "--region", "eu-central-1", "--kcp-secret", "tmc/kcp"];
    const { out, err } = run(...required, "--workspace", "root:a,root:b", "--workspace", "root:c", "--namespace", "x");
    expect(err).toBe("");
    const objects = loadAll(out) as KubeObject[];
    expect(objects.map(({ metadata }) => metadata.namespace ?? metadata.name)).toEqual(["x", "x", "x", "x"]);
    expect(environmentOf(objects).TMC_WORKSPACES).toBe("root:a,root:b,root:c");
  });
  it("tmc manifests --format relay prints all invalid options in one error", () => {
    const { out, err } = run("--region", "here", "--workspace", "Root", "--namespace", "A B", "--role-arn", "admin");
    expect(out).toBe("");
    for (const message of [
      "--image is required",
      "--queue-url is required",
      "--region must be an AWS region",
      "exactly one of --kcp-secret and --kubeconfig-secret is required",
      "--namespace ",
      '--workspace "Root" is not a workspace path',
      "--role-arn must be the ARN of an IAM role",
      "--help",
    ])
      expect(err).toContain(message);
  });
  it("tmc manifests --format relay requires workspaces for kcp, and rejects them for a plain cluster", () => {
    expect(run("--image", "a:1").err).toContain("--workspace is required");
    expect(run("--hub", "kubernetes", "--workspace", "root:a").err).toContain("--workspace requires --hub kcp");
  });
  it.each(["example.com/relay", "example.com/relay:latest"])(
    "tmc manifests --format relay rejects the image %s without a version",
    (image) => {
      expect(run("--image", image).err).toContain("--image must have a version");
    },
  );
});
