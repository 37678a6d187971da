import { describe, expect, it } from "vitest";
import { type CredentialProvider, createCloudCredentials } from "../../../lib/credentials/cloud-credentials.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { createManualClock } from "../../support/manual-clock.ts";
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
    awsCredentials: async () => ({ accessKeyId: "a", secretAccessKey: "b" }),
    callAws: async () => JSON.stringify({ cluster: {} }),
    clock: createManualClock(),
  });
  const registration = aRegistration({ spec: credentials === undefined ? {} : { credentials } });
  const found = await source.find({ key, registration }, new AbortController().signal);
  return found.kind === "not-configured" ? found.message : found.kind;
}

describe("in the cloud a registration's credentials are looked for", () => {
  it("where it says, and in the secret of its own name where it says nothing", async () => {
    expect(await messageFor("secretRef")).toBe("secret default/east is not there");
    expect(await messageFor("eks")).toContain('EKS cluster "east" in eu-central-1 is not there');
    expect(await messageFor("secretsManager")).toBe("there is no secret tmc/abc/east in AWS Secrets Manager");
    expect(await messageFor("nothing")).toBe("there is no secret tmc/abc/east in AWS Secrets Manager");
  });
  it("only in the ways that the operator offers", async () => {
    expect(await messageFor("eks", ["secretsmanager"])).toBe("credentials of the kind eks are not offered here");
    expect(await messageFor("secretRef", ["eks"])).toBe("credentials of the kind secretRef are not offered here");
    expect(await messageFor("nothing", ["eks"])).toBe("no credentials are configured for the cluster");
  });
});
