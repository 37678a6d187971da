import { describe, expect, it } from "vitest";
import { type CredentialSource, type CredentialsWanted, notConfigured } from "../../../lib/credentials/credentials.ts";
import { createSecretCredentials } from "../../../lib/credentials/secret-credentials.ts";
import { asCluster, type Cluster, readClusterRegistration } from "../../../lib/sources/cluster.ts";
import { readControlPlaneEndpoint } from "../../../lib/sources/control-plane.ts";
import { createClusterAccess } from "../../../lib/sources/sourced-credentials.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { aClusterRegistration, anEndpoint, aSyncTarget } from "./objects.ts";

const signal = new AbortController().signal;
const context = { cluster: "abc", template: undefined, nowMs: 0 };
const target = (secret: string): Cluster =>
  asCluster(
    readSyncTarget(
      aSyncTarget("east", {
        metadata: { generation: 1 },
        spec: {
          workloadCluster: {
            endpoint: `https://${secret}.example`,
            credentials: { secretRef: { namespace: "x", name: secret } },
          },
        },
      }),
      context,
    ),
  );

/** Secrets whose reading the test can hold up. */
function overSecrets() {
  const held: { name: string; answer: () => void }[] = [];
  const credentials = createSecretCredentials({
    hub: {
      readSecret: ({ name }) =>
        new Promise((resolve) => {
          const data = { token: Buffer.from(`token of ${name}`).toString("base64") };
          held.push({ name, answer: () => resolve({ data, resourceVersion: "1" }) });
        }),
    },
    rules: {},
    clock: createManualClock(),
  });
  return { access: createClusterAccess(credentials), held };
}

const serverOf = (outcome: Awaited<ReturnType<CredentialSource["find"]>>): string =>
  outcome.kind === "found" ? outcome.endpoint.server : outcome.message;

describe("the way in", () => {
  it("is not asked for while something is waited for, and says what", async () => {
    const asked: CredentialsWanted[] = [];
    const access = createClusterAccess({
      find: async (wanted) => {
        asked.push(wanted);
        return notConfigured("asked");
      },
      forget: () => {},
    });
    const cluster = asCluster(readControlPlaneEndpoint(anEndpoint("east"), context));
    expect(await access.find(cluster, signal)).toEqual(notConfigured('EndpointPending: endpoint "east" is empty'));
    expect(asked).toEqual([]);
  });

  it("is another one as soon as the object names another, even in the same generation", async () => {
    const { access, held } = overSecrets();
    const first = access.find(target("old"), signal);
    held[0]?.answer();
    expect(serverOf(await first)).toBe("https://old.example");
    const second = access.find(target("new"), signal);
    held[1]?.answer();
    expect(serverOf(await second)).toBe("https://new.example");
  });

  it("is not the one that was still being looked for when it changed", async () => {
    const { access, held } = overSecrets();
    const late = access.find(target("old"), signal);
    const next = access.find(target("new"), signal);
    held[1]?.answer();
    expect(serverOf(await next)).toBe("https://new.example");
    held[0]?.answer();
    await late;
    const again = access.find(target("new"), signal);
    held[2]?.answer();
    expect(serverOf(await again)).toBe("https://new.example");
  });

  it("is remembered while nothing changes", async () => {
    const { access, held } = overSecrets();
    const first = access.find(target("old"), signal);
    held[0]?.answer();
    await first;
    expect(serverOf(await access.find(target("old"), signal))).toBe("https://old.example");
    expect(held).toHaveLength(1);
  });
});

describe("a registration of our own", () => {
  const template = { namespace: "clusters", name: "{name}", key: "kubeconfig" } as const;
  const read = (spec: Parameters<typeof aClusterRegistration>[1], rule?: typeof template) =>
    readClusterRegistration(aClusterRegistration("east", spec), { cluster: "abc", template: rule });

  it("is itself", () => {
    const registration = aClusterRegistration("east");
    expect(readClusterRegistration(registration, context).registration).toBe(registration);
  });

  it("follows the template only where it names no credentials", () => {
    expect(read({}, template).registration.spec.credentials).toEqual({
      secretRef: { namespace: "clusters", name: "east", key: "kubeconfig" },
    });
    expect(read({ credentials: { secretsManager: {} } }, template).registration.spec.credentials).toEqual({
      secretsManager: {},
    });
    expect(read({}).registration.spec.credentials).toBeUndefined();
  });
});
