import { expect, test } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type CredentialsWanted, notConfigured } from "../../../lib/credentials/credentials.ts";
import type { Reading } from "../../../lib/sources/cluster.ts";
import { parseSecretTemplate } from "../../../lib/sources/secret-template.ts";
import { createSourcedCredentials } from "../../../lib/sources/sourced-credentials.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aClusterRegistration, aSyncTarget } from "./objects.ts";

const signal = new AbortController().signal;
const key = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" } as const;
const rendered = { namespace: "clusters", name: "east-kubeconfig", key: "kubeconfig" };

/** What is asked of the credentials behind it, and what is answered. */
async function find(registration: ClusterRegistration, reading?: Reading, template = "clusters/{name}-kubeconfig") {
  const asked: CredentialsWanted[] = [];
  const credentials = createSourcedCredentials({
    credentials: {
      find: async (wanted) => {
        asked.push(wanted);
        return notConfigured("asked");
      },
      forget: () => {},
    },
    template: template === "" ? undefined : parseSecretTemplate(template),
    readingOf: () => reading,
  });
  const outcome = await credentials.find({ key, registration }, signal);
  return { asked: asked.map((wanted) => wanted.registration.spec.credentials), outcome };
}
const targetReading = (spec: object): Reading =>
  readSyncTarget(aSyncTarget("east", { spec }), { cluster: "abc", template: undefined, nowMs: 0 });
/** As the controller holds it: under the kind of its object. */
const asHeld = (reading: Reading) =>
  ({ ...reading.registration, kind: "SyncTarget" }) as unknown as ClusterRegistration;

test("a registration that names none has those of the template", async () => {
  expect((await find(aClusterRegistration("east"))).asked).toEqual([{ secretRef: rendered }]);
});
test("what a registration names itself comes first", async () => {
  const secretRef = { namespace: "own", name: "mine" };
  const { asked } = await find(aClusterRegistration("east", { credentials: { secretRef } }));
  expect(asked).toEqual([{ secretRef }]);
});
test("without a template the operator's own arrangement counts", async () => {
  expect((await find(aClusterRegistration("east"), undefined, "")).asked).toEqual([undefined]);
});
test("a cluster of another kind has those that its object names", async () => {
  const secretRef = { namespace: "default", name: "east" };
  const reading = targetReading({ workloadCluster: { credentials: { secretRef } } });
  expect((await find(asHeld(reading), reading)).asked).toEqual([{ secretRef: { ...secretRef, key: "kubeconfig" } }]);
});
test("one that leads nowhere is told why, and nobody is asked", async () => {
  const reading = targetReading({ apiServerURL: "http://127.0.0.1" });
  const { asked, outcome } = await find(asHeld(reading), reading);
  expect([asked, outcome]).toEqual([[], notConfigured("EndpointInvalid: the endpoint is not https")]);
});
