import { expect, it } from "vitest";
import { configMaps, eventually, eventuallyGone, unique } from "../resources.ts";
import type { KubectlRoom, MakeKubectlRoom } from "./kubectl-room.ts";
import { aConfigMap, aDeployment } from "./manifests.ts";

export function kubectlDeleteCases(room: MakeKubectlRoom): void {
  const withMaps = async (): Promise<KubectlRoom> => {
    const here = await room();
    const map = (name: string, set: string) => aConfigMap(name, {}, { labels: { set } });
    await here.ok("create -f -", { input: [map("a", "one"), map("b", "one"), map("c", "two")] });
    return here;
  };
  const left = async ({ ok }: KubectlRoom) => (await ok("get cm -l set -o name")).trim().split("\n").filter(Boolean);

  it("deletes by name", async () => {
    const here = await withMaps();
    expect(await here.ok("delete cm a c")).toBe(
      `configmap "a" deleted from ${here.namespace} namespace\nconfigmap "c" deleted from ${here.namespace} namespace\n`,
    );
    expect(await left(here)).toEqual(["configmap/b"]);
  });

  it("deletes by label", async () => {
    const here = await withMaps();
    await here.ok("delete cm -l set=one");
    expect(await left(here)).toEqual(["configmap/c"]);
    expect(await here.run("delete cm -l set=one")).toEqual({ code: 0, stdout: "No resources found\n", stderr: "" });
  });

  it("deletes all of a type", async () => {
    const here = await withMaps();
    await here.ok("create secret generic s");
    expect(await here.ok("delete cm --all")).toContain('configmap "b" deleted');
    expect(await left(here)).toEqual([]);
    expect(await here.ok("get secret s -o name")).toBe("secret/s\n");
  });

  it("deletes by field and by manifest", async () => {
    const here = await withMaps();
    await here.ok("delete cm --field-selector=metadata.name=b");
    await here.ok("delete -f -", { input: aConfigMap("a") });
    expect(await left(here)).toEqual(["configmap/c"]);
  });

  it("deletes nothing in a dry run on the server", async () => {
    const here = await withMaps();
    expect(await here.ok("delete cm a --dry-run=server")).toBe(
      `configmap "a" deleted from ${here.namespace} namespace (server dry run)\n`,
    );
    expect(await left(here)).toHaveLength(3);
  });

  it("says what is not there to be deleted, unless that is to be ignored", async () => {
    const { refused, run } = await room();
    expect(await refused("delete cm gone")).toBe('Error from server (NotFound): configmaps "gone" not found\n');
    expect(await run("delete cm gone --ignore-not-found")).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("waits for finalizers, or does not, as asked", async () => {
    const { ok, start, client, namespace } = await room();
    await ok("create -f -", { input: aConfigMap("held", {}, { finalizers: ["example.com/hold"] }) });
    await ok("delete cm held --wait=false");
    expect(await ok("get cm held -o jsonpath={.metadata.finalizers[0]}")).toBe("example.com/hold");
    const deleting = start("delete cm held");
    await deleting.saw((stdout) =>
      stdout === `configmap "held" deleted from ${namespace} namespace\n` ? undefined : "no word of the deletion",
    );
    await ok('patch cm held --type=merge -p {"metadata":{"finalizers":[]}}');
    expect(await deleting.ended).toBe(0);
    await eventuallyGone(client, { type: configMaps, namespace, name: "held" });
  });

  const owning = async (): Promise<KubectlRoom> => {
    const here = await room();
    await here.ok("create cm owner");
    const uid = await here.ok("get cm owner -o jsonpath={.metadata.uid}");
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, blockOwnerDeletion: true }];
    await here.ok("create -f -", { input: aConfigMap("owned", {}, { ownerReferences }) });
    return here;
  };

  it("deletes what is owned in the background", async () => {
    const { ok, client, namespace } = await owning();
    await ok("delete cm owner");
    await eventuallyGone(client, { type: configMaps, namespace, name: "owned" }, 40_000);
  });

  it("deletes what is owned first in the foreground", async () => {
    const { ok, refused } = await owning();
    await ok("delete cm owner --cascade=foreground --timeout=45s");
    expect(await refused("get cm owned")).toContain("not found");
  });

  it("leaves what is owned as an orphan", async () => {
    const { ok, client, namespace } = await owning();
    await ok("delete cm owner --cascade=orphan --timeout=45s");
    const { metadata } = await client.get({ type: configMaps, namespace, name: "owned" });
    expect(metadata.ownerReferences ?? []).toEqual([]);
  });

  it("deletes a deployment and leaves its replica set as an orphan", async () => {
    const { ok, kind } = await room();
    await ok("create -f -", { input: aDeployment("web", 0) });
    if (kind === "cluster") {
      await eventually(async () => ((await ok("get rs -o name")) === "" ? "no replica set" : undefined));
    }
    await ok("delete deploy web --cascade=orphan --timeout=45s");
    expect((await ok("get rs -l app=web -o name")) === "").toBe(kind === "kcp");
  });

  it("deletes a namespace with all that is in it", async () => {
    const { ok, refused } = await room();
    const name = unique("doomed");
    await ok(`create namespace ${name}`);
    await ok(`create cm m -n ${name}`);
    await ok(`create deployment web --image=nginx -n ${name}`);
    await ok(`delete namespace ${name} --timeout=50s`);
    expect(await refused(`get cm m -n ${name}`)).toContain("not found");
  });
}
