import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import { type CredentialSource, type CredentialsRequest, notConfigured } from "../../../lib/credentials/credentials.ts";
import { createSecretCredentials } from "../../../lib/credentials/secret-credentials.ts";
import { readClusterRegistration, type SourceCluster, toSourceCluster } from "../../../lib/sources/cluster.ts";
import { readControlPlaneEndpoint } from "../../../lib/sources/control-plane.ts";
import { createSourceAccess } from "../../../lib/sources/sourced-credentials.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aClusterRegistration, anEndpoint, aSyncTarget } from "./objects.ts";

const signal = new AbortController().signal;
const context = { logicalCluster: "abc", template: undefined, nowMs: 0 };
const target = (secret: string): SourceCluster =>
  toSourceCluster(
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

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Creates access whose Secret reads wait until the test answers them. */
function accessWithPendingReads() {
  const pendingReads: { name: string; answer: () => void }[] = [];
  const credentials = createSecretCredentials({
    hub: {
      readSecret: ({ name }) =>
        new Promise((resolve) => {
          const data = { token: base64(`token of ${name}`), server: base64(`https://${name}.example`) };
          pendingReads.push({
            name,
            answer: () => resolve({ type: "Opaque", labels: {}, data, resourceVersion: "1" }),
          });
        }),
    },
    rules: {},
    clock: createManualClock(),
  });
  return { access: createSourceAccess(credentials), pendingReads };
}

const serverOf = (outcome: Awaited<ReturnType<CredentialSource["find"]>>): string =>
  outcome.kind === "found" ? outcome.endpoint.server : outcome.message;

describe("createSourceAccess", () => {
  it("credentials of a pending cluster are not requested, and the outcome has the reason", async () => {
    const requests: CredentialsRequest[] = [];
    const access = createSourceAccess({
      find: async (request) => {
        requests.push(request);
        return notConfigured("called");
      },
      invalidate: () => {},
    });
    const cluster = toSourceCluster(readControlPlaneEndpoint(anEndpoint("east"), context));
    expect(await access.find(cluster, signal)).toEqual(notConfigured('EndpointPending: endpoint "east" is empty'));
    expect(requests).toEqual([]);
  });

  it("credentials are read again if the object names another Secret in the same generation", async () => {
    const { access, pendingReads } = accessWithPendingReads();
    const first = access.find(target("old"), signal);
    pendingReads[0]?.answer();
    expect(serverOf(await first)).toBe("https://old.example");
    const second = access.find(target("new"), signal);
    pendingReads[1]?.answer();
    expect(serverOf(await second)).toBe("https://new.example");
  });

  it("a read that was started before a change is not cached", async () => {
    const { access, pendingReads } = accessWithPendingReads();
    const late = access.find(target("old"), signal);
    const next = access.find(target("new"), signal);
    pendingReads[1]?.answer();
    expect(serverOf(await next)).toBe("https://new.example");
    pendingReads[0]?.answer();
    await late;
    const again = access.find(target("new"), signal);
    pendingReads[2]?.answer();
    expect(serverOf(await again)).toBe("https://new.example");
  });

  it("credentials are cached while the object does not change", async () => {
    const { access, pendingReads } = accessWithPendingReads();
    const first = access.find(target("old"), signal);
    pendingReads[0]?.answer();
    await first;
    expect(serverOf(await access.find(target("old"), signal))).toBe("https://old.example");
    expect(pendingReads).toHaveLength(1);
  });
});

describe("readClusterRegistration", () => {
  const template = { namespace: "clusters", name: "{name}", key: "kubeconfig" } as const;
  const read = (spec: Parameters<typeof aClusterRegistration>[1], secretTemplate?: typeof template) =>
    readClusterRegistration(aClusterRegistration("east", spec), { logicalCluster: "abc", template: secretTemplate });

  it("a ClusterRegistration is used unchanged", () => {
    const registration = aClusterRegistration("east");
    expect(readClusterRegistration(registration, context).registration).toBe(registration);
  });

  it("the secret template applies only to a ClusterRegistration without credentials", () => {
    expect(read({}, template).registration.spec.credentials).toEqual({
      secretRef: { namespace: "clusters", name: "east", key: "kubeconfig" },
    });
    expect(read({ credentials: { secretsManager: {} } }, template).registration.spec.credentials).toEqual({
      secretsManager: {},
    });
    expect(read({}).registration.spec.credentials).toBeUndefined();
  });
});
