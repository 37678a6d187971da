import { expect, it } from "vitest";
import type { KubectlRoom, MakeKubectlRoom } from "./kubectl-room.ts";
import { aConfigMap, aDeployment } from "./manifests.ts";

export function kubectlChangeCases(room: MakeKubectlRoom): void {
  const withMap = async (): Promise<KubectlRoom & { data: () => Promise<unknown> }> => {
    const here = await room();
    await here.ok("create -f -", { input: aConfigMap("m", { a: "1", b: "2" }) });
    return { ...here, data: async () => JSON.parse(await here.ok("get cm m -o json")).data };
  };

  it("patches by merge", async () => {
    const { ok, data } = await withMap();
    expect(await ok('patch cm m --type=merge -p {"data":{"a":null,"c":"3"}}')).toBe("configmap/m patched\n");
    expect(await data()).toEqual({ b: "2", c: "3" });
  });

  it("patches by JSON patch, with tests", async () => {
    const { ok, refused, data } = await withMap();
    const patch = (value: string) =>
      `patch cm m --type=json -p [{"op":"test","path":"/data/a","value":"${value}"},{"op":"remove","path":"/data/b"}]`;
    expect(await refused(patch("9"))).toBe(
      "The request is invalid: the server rejected our request due to an error in our request\n",
    );
    expect(await data()).toEqual({ a: "1", b: "2" });
    expect(await ok(patch("1"))).toBe("configmap/m patched\n");
    expect(await data()).toEqual({ a: "1" });
  });

  it("patches a built-in type strategically, merging lists by their key", async () => {
    const { ok } = await room();
    await ok("create -f -", {
      input: {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "robot" },
        secrets: [{ name: "one" }, { name: "two" }],
      },
    });
    await ok('patch sa robot -p {"secrets":[{"name":"three"},{"name":"one","$patch":"delete"}]}');
    expect((await ok("get sa robot -o jsonpath={.secrets[*].name}")).split(" ").toSorted()).toEqual(["three", "two"]);
  });

  it("merges finalizers that are applied into those of others, where kcp replaces them for types of our export", async () => {
    const { ok, kind } = await room();
    const apply = (input: object, finalizers: string[]) =>
      ok("apply -f -", { input: { ...input, metadata: { name: "m", finalizers } } });
    // No schema can prevent it: metadata is the server's. The same change loses nothing with --server-side.
    for (const [type, input, merges] of [
      ["configmap", aConfigMap("m"), true],
      ["deployment", aDeployment("m", 0), kind === "cluster"],
    ] as const) {
      await apply(input, ["example.com/a"]);
      await ok(`patch ${type} m --type=json -p [{"op":"add","path":"/metadata/finalizers/-","value":"example.com/x"}]`);
      await apply(input, ["example.com/a", "example.com/c"]);
      expect(JSON.parse(await ok(`get ${type} m -o json`)).metadata.finalizers.toSorted()).toEqual(
        merges ? ["example.com/a", "example.com/c", "example.com/x"] : ["example.com/c"],
      );
      await ok(`patch ${type} m --type=merge -p {"metadata":{"finalizers":null}}`);
    }
  });

  it("keeps the finalizers of others when it applies on the server's side", async () => {
    const { ok } = await room();
    const apply = (finalizers: string[]) =>
      ok("apply --server-side -f -", { input: { ...aDeployment("m", 0), metadata: { name: "m", finalizers } } });
    await apply(["example.com/a"]);
    await ok(
      'patch deployment m --type=json -p [{"op":"add","path":"/metadata/finalizers/-","value":"example.com/x"}]',
    );
    await apply(["example.com/a", "example.com/c"]);
    expect(JSON.parse(await ok("get deployment m -o json")).metadata.finalizers.toSorted()).toEqual([
      "example.com/a",
      "example.com/c",
      "example.com/x",
    ]);
    await ok('patch deployment m --type=merge -p {"metadata":{"finalizers":null}}');
  });

  it("says when a patch changes nothing", async () => {
    const { ok } = await room();
    // No config map: kcp labels those a moment later, for our claim on them.
    await ok("create role r --verb=get --resource=configmaps");
    const patch = 'patch role r --type=merge -p {"metadata":{"labels":{"a":"1"}}}';
    expect(await ok(patch)).toBe("role.rbac.authorization.k8s.io/r patched\n");
    expect(await ok(patch)).toBe("role.rbac.authorization.k8s.io/r patched (no change)\n");
  });

  it("says what a patch must not change", async () => {
    const { refused } = await withMap();
    expect(await refused('patch cm m --type=merge -p {"metadata":{"name":"n"}}')).toMatch(
      /the name of the object \(n\) does not match the name on the URL \(m\)/,
    );
    expect(await refused('patch cm gone --type=merge -p {"data":{"a":"1"}}')).toBe(
      'Error from server (NotFound): configmaps "gone" not found\n',
    );
  });

  it("refuses to change what is immutable", async () => {
    const { ok, refused } = await withMap();
    await ok('patch cm m --type=merge -p {"immutable":true}');
    expect(await refused('patch cm m --type=merge -p {"data":{"a":"9"}}')).toBe(
      'The ConfigMap "m" is invalid: data: Forbidden: field is immutable when `immutable` is set\n',
    );
  });

  it("labels: sets, refuses to overwrite, overwrites, removes", async () => {
    const { ok, refused } = await withMap();
    const value = () => ok("get cm m -o jsonpath={.metadata.labels.tier}");
    expect(await ok("label cm m tier=front")).toBe("configmap/m labeled\n");
    expect(await refused("label cm m tier=back")).toBe(
      "error: 'tier' already has a value (front), and --overwrite is false\n",
    );
    expect(await value()).toBe("front");
    expect(await ok("label cm m tier=back --overwrite")).toBe("configmap/m labeled\n");
    expect(await value()).toBe("back");
    expect(await ok("label cm m tier-")).toBe("configmap/m unlabeled\n");
    expect(await value()).toBe("");
  });

  it("annotates: sets, overwrites, removes", async () => {
    const { ok } = await withMap();
    const value = () => ok("get cm m -o jsonpath={.metadata.annotations.note}");
    expect(await ok("annotate cm m note=one")).toBe("configmap/m annotated\n");
    expect(await ok("annotate cm m note=two --overwrite")).toBe("configmap/m annotated\n");
    expect(await value()).toBe("two");
    expect(await ok("annotate cm m note-")).toBe("configmap/m annotated\n");
    expect(await value()).toBe("");
  });

  it("labels all that a selector names", async () => {
    const { ok } = await room();
    await ok("create -f -", {
      input: ["a", "b", "c"].map((name) => aConfigMap(name, {}, { labels: { set: name === "c" ? "no" : "yes" } })),
    });
    expect(await ok("label cm -l set=yes seen=1")).toBe("configmap/a labeled\nconfigmap/b labeled\n");
    expect(await ok("get cm -l seen -o name")).toBe("configmap/a\nconfigmap/b\n");
  });

  it("says what is wrong with a label", async () => {
    const { refused } = await withMap();
    expect(await refused("label cm m tier=_front")).toContain("invalid label value");
    expect(await refused('patch cm m --type=merge -p {"metadata":{"labels":{"tier":"_x"}}}')).toBe(
      "The ConfigMap \"m\" is invalid: metadata.labels: Invalid value: \"_x\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n",
    );
  });

  it("edits, and says when nothing was changed", async () => {
    const { run, ok, data } = await withMap();
    const edit = (script: string) => ({ env: { KUBE_EDITOR: script } });
    expect(await ok("edit cm m", edit("sed -i 's/a: .1./a: one/'"))).toBe("configmap/m edited\n");
    expect(await data()).toEqual({ a: "one", b: "2" });
    expect(await run("edit cm m", edit("true"))).toMatchObject({
      code: 0,
      stderr: "Edit cancelled, no changes made.\n",
    });
  });

  it("scales a deployment", async () => {
    const { ok, refused } = await room();
    await ok("create -f -", { input: aDeployment("web", 0) });
    expect(await ok("scale deployment web --replicas=3")).toBe("deployment.apps/web scaled\n");
    expect(await ok("get deploy web -o jsonpath={.spec.replicas}")).toBe("3");
    expect(await refused("scale deployment web --current-replicas=7 --replicas=1")).toContain(
      "Expected replicas to be 7, was 3",
    );
    expect(await ok("scale deployment web --current-replicas=3 --replicas=0")).toBe("deployment.apps/web scaled\n");
  });

  it("says what cannot be scaled", async () => {
    const { refused } = await withMap();
    expect(await refused("scale cm m --replicas=1")).toBe(
      "Error from server (NotFound): the server could not find the requested resource\n",
    );
  });
}
