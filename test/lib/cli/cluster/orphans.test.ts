import { afterAll, beforeAll, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import { resourceTypes } from "../../../../lib/cli/workspace.ts";
import { deleteOrphansAnnotation } from "../../../../lib/sync/orphans/decide.ts";
import { eventually } from "../../../support/eventually.ts";
import { startTestWorkspace, type TestWorkspace } from "../support.ts";

let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await startTestWorkspace();
  for (const name of ["east", "west"]) await workspace.run(`cluster register ${name} --location eu-west-1`);
});
afterAll(() => workspace.stop());

const since = "2026-01-01T00:00:00Z";
const east = { type: resourceTypes.registrations, name: "east" };
const report = (orphanedCopies: object | null) =>
  workspace.client.patch(east, { type: "merge", body: { status: { orphanedCopies } } }, { subresource: "status" });
const confirmation = async () =>
  (await workspace.client.get<ClusterRegistration>(east)).metadata.annotations?.[deleteOrphansAnnotation];

it("tmc orphans says when no orphaned copies were found", async () => {
  expect(await workspace.run("orphans")).toEqual({ code: 0, out: "", err: "No orphaned copies were found.\n" });
  expect(await workspace.run("orphans --cluster north")).toMatchObject({
    code: 1,
    err: 'tmc: cluster "north": not registered; registered clusters: east, west\n',
  });
});

it("tmc orphans lists the copies that registrations report, as a table and as JSON", async () => {
  await report({ count: 12, names: ["Deployment shop/old", "Service shop/old"], since });
  workspace.clock.shown = Date.parse(since) + 3_600_000;
  expect((await workspace.run("orphans")).out).toBe(`CLUSTER   COPY OF               FOUND
east      Deployment shop/old   60m
east      Service shop/old      60m
east      and 10 more           60m
`);
  const { out } = await workspace.run("orphans --cluster east -o json");
  expect(JSON.parse(out)).toMatchObject({ items: [{ cluster: "east", count: 12, since }] });
  expect((await workspace.run("orphans --cluster west")).err).toBe("No orphaned copies were found.\n");
});

it("tmc orphans --delete asks first, and changes nothing after a no or without a terminal", async () => {
  await report({ count: 1, names: ["Deployment shop/old"], since });
  expect(await workspace.run("orphans --delete", { answer: false })).toMatchObject({ code: 0 });
  expect(await workspace.run("orphans --delete")).toMatchObject({ code: 2 });
  expect(await confirmation()).toBeUndefined();
});

it("tmc orphans --delete confirms what is listed, waits until it is gone, and removes the confirmation", async () => {
  await report({ count: 1, names: ["Deployment shop/old"], since });
  const running = workspace.run("orphans --delete --yes");
  await eventually(async () => ((await confirmation()) === `1@${since}` ? undefined : "it is not confirmed yet"));
  await report(null);
  expect(await running).toMatchObject({ code: 0, err: "" });
  expect((await running).out).toContain("cluster/east: orphaned copies deleted\n");
  expect(await confirmation()).toBeUndefined();
});

it("tmc orphans --delete withdraws the confirmation if more copies are orphaned by then", async () => {
  await report({ count: 1, names: ["Deployment shop/old"], since });
  const running = workspace.run("orphans --delete --yes");
  await eventually(async () => ((await confirmation()) === undefined ? "it is not confirmed yet" : undefined));
  await report({ count: 2, names: ["Deployment shop/new", "Deployment shop/old"], since });
  expect(await running).toMatchObject({ code: 1 });
  expect(await confirmation()).toBeUndefined();
});
