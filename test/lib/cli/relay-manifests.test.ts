import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { loadAll } from "js-yaml";
import { describe, expect, it } from "vitest";
import { manifestsCommand } from "../../../lib/cli/manifests.ts";
import { parseRelayFlags, type RelayFlags, relayManifests } from "../../../lib/cli/relay-manifests.ts";
import { readRelaySettings } from "../../../lib/relay/service-settings.ts";

const url = "https://sqs.eu-central-1.amazonaws.com/123456789012/tmc-prod-work.fifo";
const flags: RelayFlags = {
  image: "example.com/tmc-relay:1.2.3",
  queueUrl: url,
  region: "eu-central-1",
  kcpSecret: "tmc/kcp",
  workspace: ["root:a", "root:b"],
};
const made = (changes: RelayFlags = {}): readonly KubeObject[] => {
  const [problems, settings] = parseRelayFlags({ ...flags, ...changes });
  expect(problems).toEqual([]);
  return relayManifests(settings) as readonly KubeObject[];
};
const inPlaceOfSecret: RelayFlags = { kcpSecret: undefined, kubeconfigSecret: "kcp-kubeconfig" };

type Container = Readonly<{ env: readonly { name: string; value: string }[]; securityContext: object }>;
type Pod = Readonly<{ containers: readonly [Container]; securityContext: object; volumes?: readonly object[] }>;
const podOf = (objects: readonly KubeObject[]): Pod => {
  const spec = objects.find(({ kind }) => kind === "Deployment")?.spec as { template: { spec: Pod } };
  return spec.template.spec;
};
const environmentOf = (objects: readonly KubeObject[]): Record<string, string> =>
  Object.fromEntries(podOf(objects).containers[0].env.map(({ name, value }) => [name, value]));

describe("the relay's manifests", () => {
  it("are an account, a budget and two pods", () => {
    const objects = made();
    expect(objects.map(({ kind }) => kind)).toEqual(["ServiceAccount", "PodDisruptionBudget", "Deployment"]);
    expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["tmc-system"]));
    expect(objects[2]?.spec).toMatchObject({ replicas: 2 });
  });
  it("give it what it reads, and nothing that it would refuse", () => {
    expect(readRelaySettings(environmentOf(made()))).toEqual({
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
    });
    expect(
      readRelaySettings(environmentOf(made({ ...inPlaceOfSecret, hub: "kubernetes", workspace: [] }))),
    ).toMatchObject({
      kubeconfig: { path: "/etc/tmc/kcp/kubeconfig" },
      workspaces: undefined,
    });
  });
  it("name an export in place of workspaces", () => {
    const settings = readRelaySettings(environmentOf(made({ workspace: [], apiExport: "root:tmc:tmc.kcp.io" })));
    expect(settings).toMatchObject({ workspaces: undefined, apiExport: { path: "root:tmc", name: "tmc.kcp.io" } });
    const [problems] = parseRelayFlags({ ...flags, apiExport: "root:tmc:tmc.kcp.io" });
    expect(problems).toEqual(["--api-export takes the place of --workspace: leave one out"]);
  });
  it("let it do as little as can be", () => {
    const { securityContext, containers } = podOf(made());
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
  it("name the role of its pods only where one is given", () => {
    const roleArn = "arn:aws:iam::123456789012:role/tmc-relay";
    expect(made()[0]?.metadata.annotations).toBeUndefined();
    expect(made({ roleArn })[0]?.metadata.annotations).toEqual({ "eks.amazonaws.com/role-arn": roleArn });
  });
  it.each([
    ["with a secret of AWS", {}],
    ["with a Secret beside it", inPlaceOfSecret],
  ])("are taken by a cluster that checks every field, %s", async (_, changes) => {
    const cluster = await startEmbeddedCluster({ name: "east", listen: false });
    const client = createKubeClient({ endpoint: { server: cluster.url }, transport: cluster.transport() });
    const plurals = ["serviceaccounts", "poddisruptionbudgets", "deployments"];
    for (const [at, object] of made({ ...changes, namespace: "default" }).entries()) {
      const [group = "", version = ""] = object.apiVersion.includes("/")
        ? object.apiVersion.split("/")
        : ["", object.apiVersion];
      const type = { group, version, plural: plurals[at] ?? "" };
      await client.create({ type, namespace: "default" }, object, { fieldValidation: "Strict", dryRun: true });
    }
    await client.close();
    await cluster.stop();
  });
});

describe("tmc manifests --format relay", () => {
  const run = (...words: readonly string[]) => {
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
      command.parse(["--format", "relay", ...words], { from: "user" });
    } catch {
      // commander throws in place of leaving the process; what it said is in `err`.
    }
    return { out, err };
  };

  it("prints them", () => {
    const words = ["--image", "a/b:1", "--queue-url", url, "--region", "eu-central-1", "--kcp-secret", "tmc/kcp"];
    const { out, err } = run(...words, "--workspace", "root:a,root:b", "--workspace", "root:c", "--namespace", "x");
    expect(err).toBe("");
    const objects = loadAll(out) as KubeObject[];
    expect(objects.map(({ metadata }) => metadata.namespace)).toEqual(["x", "x", "x"]);
    expect(environmentOf(objects).TMC_WORKSPACES).toBe("root:a,root:b,root:c");
  });
  it("says all that is wrong at once", () => {
    const { out, err } = run("--region", "here", "--workspace", "Root", "--namespace", "A B", "--role-arn", "admin");
    expect(out).toBe("");
    for (const words of [
      "--image is missing",
      "--queue-url is missing",
      "--region is not an AWS region",
      "one of --kcp-secret and --kubeconfig-secret is needed",
      "--namespace ",
      '--workspace "Root" is not a path',
      "--role-arn is not the ARN of a role",
      "--help",
    ])
      expect(err).toContain(words);
  });
  it("takes workspaces for kcp, and for kcp alone", () => {
    expect(run("--image", "a:1").err).toContain("--workspace is missing");
    expect(run("--hub", "kubernetes", "--workspace", "root:a").err).toContain("--workspace is for kcp");
  });
  it.each(["example.com/relay", "example.com/relay:latest"])("takes no image without a version: %s", (image) => {
    expect(run("--image", image).err).toContain("--image names no version");
  });
});
