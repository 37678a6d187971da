import { expect, test } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type CredentialsRequest, notConfigured } from "../../../lib/credentials/credentials.ts";
import type { ClusterView } from "../../../lib/sources/cluster.ts";
import { parseSecretTemplate } from "../../../lib/sources/secret-template.ts";
import { createSourcedCredentials } from "../../../lib/sources/sourced-credentials.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aClusterRegistration, aSyncTarget } from "./objects.ts";

const signal = new AbortController().signal;
const key = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" } as const;
const rendered = { namespace: "clusters", name: "east-kubeconfig", key: "kubeconfig" };

/** Returns the outcome, and the requests to the underlying credential source. */
async function find(registration: ClusterRegistration, reading?: ClusterView, template = "clusters/{name}-kubeconfig") {
  const requests: CredentialsRequest[] = [];
  const credentials = createSourcedCredentials({
    credentials: {
      find: async (request) => {
        requests.push(request);
        return notConfigured("called");
      },
      invalidate: () => {},
    },
    template: template === "" ? undefined : parseSecretTemplate(template),
    viewOf: () => reading,
  });
  const outcome = await credentials.find({ key, registration }, signal);
  return { requests: requests.map((request) => request.registration.spec.credentials), outcome };
}
const targetReading = (spec: object): ClusterView =>
  readSyncTarget(aSyncTarget("east", { spec }), { logicalCluster: "abc", template: undefined, nowMs: 0 });
/** The object in the form that the controller uses: with the kind of the source object. */
const asReconciled = (reading: ClusterView) =>
  ({ ...reading.registration, kind: "SyncTarget" }) as unknown as ClusterRegistration;

test("a registration without credentials uses the secret template", async () => {
  expect((await find(aClusterRegistration("east"))).requests).toEqual([{ secretRef: rendered }]);
});
test("the credentials of a registration take precedence over the secret template", async () => {
  const secretRef = { namespace: "own", name: "mine" };
  const { requests } = await find(aClusterRegistration("east", { credentials: { secretRef } }));
  expect(requests).toEqual([{ secretRef }]);
});
test("a registration without credentials and template uses the default source", async () => {
  expect((await find(aClusterRegistration("east"), undefined, "")).requests).toEqual([undefined]);
});
test("a cluster of another source uses the credentials in its object", async () => {
  const secretRef = { namespace: "default", name: "east" };
  const reading = targetReading({ workloadCluster: { credentials: { secretRef } } });
  expect((await find(asReconciled(reading), reading)).requests).toEqual([
    { secretRef: { ...secretRef, key: "kubeconfig" } },
  ]);
});
test("a pending cluster has no credentials and causes no request", async () => {
  const reading = targetReading({ apiServerURL: "http://127.0.0.1" });
  const { requests, outcome } = await find(asReconciled(reading), reading);
  expect([requests, outcome]).toEqual([[], notConfigured("EndpointInvalid: the endpoint is not https")]);
});
