import { afterAll, beforeAll, describe } from "vitest";
import { accessCases } from "./cases/access.ts";
import { applyCases } from "./cases/apply.ts";
import { customResourceCases } from "./cases/custom-resources.ts";
import { deletionCases } from "./cases/deletion.ts";
import { discoveryCases } from "./cases/discovery.ts";
import { exportCases } from "./cases/exports.ts";
import { listCases } from "./cases/lists.ts";
import { objectCases } from "./cases/objects.ts";
import { patchCases } from "./cases/patches.ts";
import { virtualWorkspaceCases } from "./cases/virtual-workspace.ts";
import { longWatchCases, watchCases } from "./cases/watches.ts";
import { workloadCases } from "./cases/workloads.ts";
import { workspaceCases } from "./cases/workspaces.ts";
import { eventuallyOk, namespaces, unique } from "./resources.ts";
import type { MakeRoom, ServerUnderTest } from "./server-under-test.ts";
import { createWorkspace } from "./workspaces.ts";

/**
 * What TMC relies on from an API server, held against embedded and real ones alike. Where they differ, the embedded one
 * is wrong.
 */
export function contract(kind: "kcp" | "cluster", title: string, start: () => Promise<ServerUnderTest>): void {
  describe(title, () => {
    let server: ServerUnderTest;
    let path = "";

    beforeAll(async () => {
      server = await start();
      if (kind === "kcp") path = await createWorkspace(server.admin, "root", unique("contract"));
      await longWatch.begin();
    }, 120_000);
    afterAll(async () => {
      await server?.stop();
    }, 60_000);

    const room: MakeRoom = async () => {
      const client = path === "" ? server.admin : server.admin.at(path);
      const namespace = unique("case");
      // A new workspace refuses for a moment while its caches warm.
      await eventuallyOk(() =>
        client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }),
      );
      return { server, client, path, namespace, clientAs: (who) => server.clientAs(who).at(path === "" ? "/" : path) };
    };
    const longWatch = longWatchCases(room);

    // First, while no case has left types of its own: kcp 0.31 answers 500 for OpenAPI where one is just going.
    describe("discovery", () => discoveryCases(room, kind));
    describe("objects", () => objectCases(room));
    describe("lists", () => listCases(room));
    describe("watches", () => watchCases(room, kind));
    describe("patches", () => patchCases(room));
    describe("server-side apply", () => applyCases(room));
    describe("deletion", () => deletionCases(room));
    describe("custom resources", () => customResourceCases(room));
    describe("access", () => accessCases(room));
    if (kind === "cluster") describe("workloads", () => workloadCases(room));
    if (kind === "kcp") {
      describe("workspaces", () => workspaceCases(room));
      describe("exports and bindings", () => exportCases(room));
      describe("virtual workspace", () => virtualWorkspaceCases(room));
    }
    describe("long watches", longWatch.cases);
  });
}
