import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { afterAll, beforeAll, describe } from "vitest";
import { kinds } from "../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../lib/api/resource-schema.ts";
import { realServers } from "../real/servers.ts";
import { kubectlAccessCases } from "./kubectl/access.ts";
import { kubectlApplyCases } from "./kubectl/apply.ts";
import { kubectlChangeCases } from "./kubectl/changes.ts";
import { kubectlCreateCases } from "./kubectl/create.ts";
import { kubectlDeleteCases } from "./kubectl/delete.ts";
import { kubectlDescribeCases } from "./kubectl/describe.ts";
import { kubectlDiscoveryCases } from "./kubectl/discovery.ts";
import { kubectlGetCases } from "./kubectl/get.ts";
import { kubectlRoom, type MakeKubectlRoom, type Place } from "./kubectl/kubectl-room.ts";
import { kubectlOurKindsCases } from "./kubectl/our-kinds.ts";
import { kubectlRolloutCases } from "./kubectl/rollout.ts";
import { kubectlWaitCases } from "./kubectl/wait.ts";
import { kubectlWatchCases } from "./kubectl/watch.ts";
import { kubectlWorkloadCases } from "./kubectl/workload-lists.ts";
import { providerOf } from "./provider.ts";
import { crds, eventually, eventuallyOk, namespaces, unique } from "./resources.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** What users of kubectl rely on, held against embedded and real servers alike. Where they differ, the embedded one is wrong. */
export function kubectlContract(kind: "kcp" | "cluster", title: string, start: () => Promise<ServerUnderTest>): void {
  describe(`kubectl with ${title}`, () => {
    let server: ServerUnderTest;
    let place: Place;

    beforeAll(async () => {
      server = await start();
      const folder = await mkdtemp(join(tmpdir(), "tmc-kubectl-"));
      const path = kind === "kcp" ? `/clusters/${(await providerOf(server)).tenants[0].cluster}` : "";
      const { server: url, ca, token } = server.endpoint;
      const kubeconfig = join(folder, "kubeconfig");
      await writeKubeconfig(kubeconfig, {
        contexts: [{ name: "contract", endpoint: { server: `${url}${path}`, ca }, token: await token?.() }],
      });
      const client = path === "" ? server.admin : server.admin.at(path);
      place = { kind, client, kubectl: realServers().kubectl, kubeconfig, folder };
      if (kind === "cluster") await installOurKinds(place);
    }, 120_000);
    afterAll(async () => {
      if (place !== undefined && kind === "cluster") await removeOurKinds(place);
      await server?.stop();
      if (place !== undefined) await rm(place.folder, { recursive: true });
    }, 60_000);

    const room: MakeKubectlRoom = async () => {
      const namespace = unique("case");
      const manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
      await eventuallyOk(() => place.client.create({ type: namespaces }, manifest));
      return kubectlRoom(place, namespace);
    };

    describe("get", () => kubectlGetCases(room, kind));
    describe("describe", () => kubectlDescribeCases(room, kind));
    describe("explain and discovery", () => kubectlDiscoveryCases(room, kind));
    describe("our kinds", () => kubectlOurKindsCases(room));
    describe("create", () => kubectlCreateCases(room));
    describe("apply, diff and replace", () => kubectlApplyCases(room));
    describe("patch, label, annotate, edit and scale", () => kubectlChangeCases(room));
    describe("wait", () => kubectlWaitCases(room));
    describe("delete", () => kubectlDeleteCases(room));
    describe("watch and events", () => kubectlWatchCases(room, kind));
    describe("auth", () => kubectlAccessCases(room, kind));
    describe("changes of workloads", () => kubectlWorkloadCases(room, kind));
    if (kind === "cluster") describe("rollout", () => kubectlRolloutCases(room));
  });
}

async function installOurKinds({ client }: Place): Promise<void> {
  for (const kind of kinds) {
    const body = customResourceDefinition(kind);
    await client.patch(
      { type: crds, name: body.metadata.name },
      { type: "apply", body, force: true },
      { fieldManager: "contract" },
    );
    const { group, version, plural } = kind;
    await eventuallyOk(() => client.list({ type: { group, version, plural } }));
  }
  // Discovery is what kubectl asks, and it is served a moment later.
  await eventually(async () => {
    const { text } = await client.raw("GET", "/apis/tmc.kcp.io/v1alpha1");
    const missing = kinds.filter(({ plural }) => !text.includes(`"${plural}"`));
    return missing.length === 0 ? undefined : `not in discovery: ${missing.map(({ plural }) => plural).join(", ")}`;
  });
}

async function removeOurKinds({ client }: Place): Promise<void> {
  for (const kind of kinds) await client.delete({ type: crds, name: customResourceDefinition(kind).metadata.name });
}
