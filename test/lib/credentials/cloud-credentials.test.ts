import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import { type CredentialProvider, createCloudCredentials } from "../../../lib/credentials/cloud-credentials.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { aRegistration } from "../registration/registrations.ts";
import { fakeSecretsManager } from "./fake-secrets-manager.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const ways = {
  nothing: undefined,
  secretRef: { secretRef: { namespace: "default", name: "east" } },
  eks: { eks: { clusterName: "east", region: "eu-central-1" } },
  secretsManager: { secretsManager: {} },
} as const;

async function messageFor(way: keyof typeof ways, providers?: readonly CredentialProvider[]): Promise<string> {
  const credentials = ways[way];
  const source = createCloudCredentials({
    hub: { readSecret: async () => undefined },
    rules: {},
    providers,
    secretsManager: fakeSecretsManager().secretsManager,
    scope: { stage: "prod", hubId: "hub1" },
    awsCredentials: async () => ({ accessKeyId: "a", secretAccessKey: "b" }),
    callAws: async () => JSON.stringify({ cluster: {} }),
    clock: createManualClock(),
  });
  const registration = aRegistration({ spec: credentials === undefined ? {} : { credentials } });
  const found = await source.find({ key, registration }, new AbortController().signal);
  return found.kind === "not-configured" ? found.message : found.kind;
}

describe("createCloudCredentials", () => {
  it("cloud credentials come from the source in spec.credentials, or by default from the registration's secret", async () => {
    expect(await messageFor("secretRef")).toBe("secret default/east does not exist");
    expect(await messageFor("eks")).toContain('EKS cluster "east" in eu-central-1 does not exist');
    expect(await messageFor("secretsManager")).toBe(
      "secret tmc/prod/hub1/abc/east does not exist in AWS Secrets Manager",
    );
    expect(await messageFor("nothing")).toBe("secret tmc/prod/hub1/abc/east does not exist in AWS Secrets Manager");
  });
  it("cloud credentials come only from providers that the operator enables", async () => {
    expect(await messageFor("eks", ["secretsmanager"])).toBe(
      "spec.credentials.eks is not enabled on this installation",
    );
    expect(await messageFor("secretRef", ["eks"])).toBe(
      "spec.credentials.secretRef is not enabled on this installation",
    );
    expect(await messageFor("nothing", ["eks"])).toBe("no credentials are configured for the cluster");
  });
});
