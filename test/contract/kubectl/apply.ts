import { expect, it } from "vitest";
import { eventuallyOk, unique } from "../resources.ts";
import type { KubectlRoom, MakeKubectlRoom } from "./kubectl-room.ts";
import { aConfigMap, aThingDefinition } from "./manifests.ts";

const howToResolve = [
  "Please review the fields above--they currently have other managers. Here",
  "are the ways you can resolve this warning:",
  "* If you intend to manage all of these fields, please re-run the apply",
  "  command with the `--force-conflicts` flag.",
  "* If you do not intend to manage all of the fields, please edit your",
  "  manifest to remove references to the fields that should keep their",
  "  current managers.",
  "* You may co-own fields by updating your manifest to match the existing",
  "  value; in this case, you'll become the manager if the other manager(s)",
  "  stop managing the field (remove it from their configuration).",
  "See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts",
  "",
].join("\n");

export function kubectlApplyCases(room: MakeKubectlRoom): void {
  const data = async ({ ok }: KubectlRoom, name = "m") => JSON.parse(await ok(`get cm ${name} -o json`)).data;

  it("applies a config map: created, unchanged, configured", async () => {
    const here = await room();
    const apply = (values: Record<string, string>) => here.ok("apply -f -", { input: aConfigMap("m", values) });
    expect(await apply({ a: "1", b: "2" })).toBe("configmap/m created\n");
    expect(await apply({ a: "1", b: "2" })).toBe("configmap/m unchanged\n");
    expect(await apply({ a: "1", c: "3" })).toBe("configmap/m configured\n");
    expect(await data(here)).toEqual({ a: "1", c: "3" });
  });

  it("removes what the manifest no longer names and keeps what it never named", async () => {
    const here = await room();
    const { ok } = here;
    await ok("apply -f -", { input: aConfigMap("m", { a: "1", b: "2" }, { labels: { mine: "1" } }) });
    await ok('patch cm m --type=merge -p {"data":{"other":"9"},"metadata":{"labels":{"theirs":"1"}}}');
    await ok("apply -f -", { input: aConfigMap("m", { a: "2" }, { labels: {} }) });
    expect(await data(here)).toEqual({ a: "2", other: "9" });
    expect(await ok("get cm m -o jsonpath={.metadata.labels.mine}/{.metadata.labels.theirs}")).toBe("/1");
  });

  it("leaves the resource version alone when nothing changes", async () => {
    const { ok } = await room();
    const version = () => ok("get cm m -o jsonpath={.metadata.resourceVersion}");
    await ok("apply -f -", { input: aConfigMap("m") });
    const before = await version();
    await ok("apply -f -", { input: aConfigMap("m") });
    expect(await version()).toBe(before);
  });

  it("remembers what was applied last", async () => {
    const { ok, namespace } = await room();
    await ok("apply -f -", { input: aConfigMap("m") });
    expect(JSON.parse(await ok("apply view-last-applied cm m -o json"))).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { a: "1" },
      metadata: { name: "m", namespace, annotations: {} },
    });
  });

  it("warns when it takes over what was made otherwise", async () => {
    const { run, ok } = await room();
    await ok("create cm m --from-literal=b=2");
    const { code, stdout, stderr } = await run("apply -f -", { input: aConfigMap("m") });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "configmap/m configured\n" });
    expect(stderr).toContain("is missing the kubectl.kubernetes.io/last-applied-configuration annotation");
    expect(await ok("get cm m -o jsonpath={.data}")).toBe('{"a":"1","b":"2"}');
  });

  it("applies many objects in their order", async () => {
    const { ok } = await room();
    const input = [
      aConfigMap("one"),
      aConfigMap("two"),
      { apiVersion: "v1", kind: "List", items: [aConfigMap("three")] },
    ];
    expect(await ok("apply -f -", { input })).toBe(
      "configmap/one created\nconfigmap/two created\nconfigmap/three created\n",
    );
  });

  it("applies nothing in a dry run on the server", async () => {
    const here = await room();
    await here.ok("apply -f -", { input: aConfigMap("m") });
    const input = [aConfigMap("m", { a: "2" }), aConfigMap("new")];
    expect(await here.ok("apply -f - --dry-run=server", { input })).toBe(
      "configmap/m configured (server dry run)\nconfigmap/new created (server dry run)\n",
    );
    expect(await data(here)).toEqual({ a: "1" });
  });

  it("applies a definition and then an object of it, twice", async () => {
    const here = await room();
    const { ok } = here;
    const kind = `Thing${unique("").slice(1)}`;
    const definition = aThingDefinition(kind);
    const plural = `${kind.toLowerCase()}s`;
    const name = `${plural}.example.com`;
    expect(await ok("apply -f -", { input: definition })).toBe(
      `customresourcedefinition.apiextensions.k8s.io/${name} created\n`,
    );
    expect(await ok(`wait crd/${name} --for=condition=Established --timeout=30s`)).toBe(
      `customresourcedefinition.apiextensions.k8s.io/${name} condition met\n`,
    );
    expect(await ok("apply -f -", { input: definition })).toBe(
      `customresourcedefinition.apiextensions.k8s.io/${name} unchanged\n`,
    );
    const thing = (spec: object) => ({ apiVersion: "example.com/v1", kind, metadata: { name: "t" }, spec });
    const label = `${kind.toLowerCase()}.example.com/t`;
    // A new type answers its first lists with "try again".
    await eventuallyOk(() => here.client.list({ type: { group: "example.com", version: "v1", plural } }));
    expect(await ok("apply -f -", { input: thing({ size: 1, tags: ["a", "b"] }) })).toBe(`${label} created\n`);
    expect(await ok("apply -f -", { input: thing({ size: 2, tags: ["a", "b"] }) })).toBe(`${label} configured\n`);
    expect(JSON.parse(await ok(`get ${plural} t -o json`)).spec).toEqual({ size: 2, tags: ["a", "b"] });
    expect(await here.refused("apply -f -", { input: thing({ size: 0 }) })).toBe(
      `The ${kind} "t" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1\n`,
    );
    expect(await ok(`delete crd ${name}`)).toBe(`customresourcedefinition.apiextensions.k8s.io "${name}" deleted\n`);
  });

  it("applies on the server's side", async () => {
    const here = await room();
    const apply = (values: Record<string, string>) =>
      here.ok("apply --server-side -f -", { input: aConfigMap("m", values) });
    expect(await apply({ a: "1", b: "2" })).toBe("configmap/m serverside-applied\n");
    await here.ok("apply --server-side --field-manager=other -f -", { input: aConfigMap("m", { c: "3" }) });
    expect(await apply({ a: "2" })).toBe("configmap/m serverside-applied\n");
    expect(await data(here)).toEqual({ a: "2", c: "3" });
  });

  it("says whose field it is when two apply different values, and what can be done", async () => {
    const { ok, refused } = await room();
    await ok("apply --server-side -f -", { input: aConfigMap("m") });
    expect(
      await refused("apply --server-side --field-manager=other -f -", { input: aConfigMap("m", { a: "2" }) }),
    ).toBe(`error: Apply failed with 1 conflict: conflict with "kubectl": .data.a\n${howToResolve}`);
  });

  it("names all fields in conflict and all their managers", async () => {
    const { ok, refused } = await room();
    await ok("apply --server-side --field-manager=one -f -", { input: aConfigMap("m", { a: "1", b: "1" }) });
    await ok('patch cm m --field-manager=two --type=merge -p {"data":{"c":"1"}}');
    const input = aConfigMap("m", { a: "2", b: "2", c: "2" });
    expect(await refused("apply --server-side -f -", { input })).toBe(
      [
        'error: Apply failed with 3 conflicts: conflicts with "one":',
        "- .data.a",
        "- .data.b",
        'conflicts with "two" using v1:',
        "- .data.c",
        howToResolve,
      ].join("\n"),
    );
  });

  it("takes fields over by force", async () => {
    const here = await room();
    const { ok, refused } = here;
    await ok("apply --server-side --field-manager=one -f -", { input: aConfigMap("m") });
    await ok("apply --server-side --force-conflicts -f -", { input: aConfigMap("m", { a: "2" }) });
    expect(await data(here)).toEqual({ a: "2" });
    expect(
      await refused("apply --server-side --field-manager=one -f -", { input: aConfigMap("m", { a: "3" }) }),
    ).toContain('conflict with "kubectl": .data.a');
  });

  it("goes over from the client's side to the server's without a conflict", async () => {
    const here = await room();
    await here.ok("apply -f -", { input: aConfigMap("m", { a: "1", b: "2" }) });
    expect(await here.ok("apply --server-side -f -", { input: aConfigMap("m", { a: "2" }) })).toBe(
      "configmap/m serverside-applied\n",
    );
    expect(await data(here)).toEqual({ a: "2" });
    const { metadata } = JSON.parse(await here.ok("get cm m -o json --show-managed-fields"));
    expect(metadata.managedFields.filter((entry: { operation: string }) => entry.operation === "Apply")).toMatchObject([
      { manager: "kubectl-last-applied" },
      { manager: "kubectl", fieldsV1: { "f:data": { "f:a": {} } } },
    ]);
  });

  it("shows a difference with code 1, and code 0 when there is none", async () => {
    const { run, ok } = await room();
    await ok("apply -f -", { input: aConfigMap("m", { a: "1", b: "2" }) });
    const { code, stdout } = await run("diff -f -", { input: [aConfigMap("m", { a: "9" }), aConfigMap("new")] });
    expect(code).toBe(1);
    const changes = stdout.split("\n").filter((line) => /^[-+] /.test(line) && !line.includes("kubectl.kubernetes.io"));
    expect(changes.slice(0, 3)).toEqual(['-  a: "1"', '-  b: "2"', '+  a: "9"']);
    expect(stdout).toContain("+  name: new\n");
    expect(await run("diff -f -", { input: aConfigMap("m", { a: "1", b: "2" }) })).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
  });

  it("shows a difference as the server would apply it", async () => {
    const { run, ok } = await room();
    await ok("apply --server-side -f -", { input: aConfigMap("m") });
    const { code, stdout } = await run("diff --server-side -f -", { input: aConfigMap("m", { a: "2" }) });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^-( {2}a: "1")\n\+( {2}a: "2")$/m);
    expect((await run("diff --server-side -f -", { input: aConfigMap("m") })).code).toBe(0);
  });

  it("replaces an object whole", async () => {
    const here = await room();
    const { ok, refused } = here;
    await ok("create -f -", { input: aConfigMap("m", { a: "1", b: "2" }) });
    expect(await ok("replace -f -", { input: aConfigMap("m", { c: "3" }) })).toBe("configmap/m replaced\n");
    expect(await data(here)).toEqual({ c: "3" });
    expect(await refused("replace -f -", { input: aConfigMap("gone") })).toBe(
      'Error from server (NotFound): error when replacing "STDIN": configmaps "gone" not found\n',
    );
  });

  it("refuses to replace what has changed meanwhile", async () => {
    const { ok, refused } = await room();
    await ok("create -f -", { input: aConfigMap("m") });
    const stale = await ok("get cm m -o json");
    await ok("label cm m x=1");
    expect(await refused("replace -f -", { input: stale })).toBe(
      'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "m": the object has been modified; please apply your changes to the latest version and try again\n',
    );
  });

  it("replaces by force with a new object", async () => {
    const { ok } = await room();
    await ok("create -f -", { input: aConfigMap("m") });
    const before = await ok("get cm m -o jsonpath={.metadata.uid}");
    expect(await ok("replace --force -f -", { input: aConfigMap("m", { a: "2" }) })).toMatch(
      /configmap\/m replaced\n$/,
    );
    expect(await ok("get cm m -o jsonpath={.metadata.uid}")).not.toBe(before);
  });

  it("applies to the status alone", async () => {
    const { ok } = await room();
    const name = unique("cluster");
    const base = { apiVersion: "tmc.kcp.io/v1alpha1", kind: "ClusterRegistration", metadata: { name } };
    await ok("apply --server-side -f -", { input: { ...base, spec: { location: "x" } } });
    await ok("apply --server-side --subresource=status --field-manager=tmc -f -", {
      input: { ...base, status: { observedGeneration: 1 } },
    });
    expect(await ok(`get cr ${name} -o jsonpath={.spec.location}/{.status.observedGeneration}`)).toBe("x/1");
  });
}
