import { load } from "js-yaml";
import { expect, it } from "vitest";
import { anAge, header, type KubectlRoom, type MakeKubectlRoom, table } from "./kubectl-room.ts";
import { aConfigMap, aDeployment } from "./manifests.ts";

export function kubectlGetCases(room: MakeKubectlRoom, kind: "kcp" | "cluster"): void {
  const withMaps = async (): Promise<KubectlRoom> => {
    const here = await room();
    await here.ok("create -f -", {
      input: [
        aConfigMap("one", { a: "1", b: "2" }, { labels: { tier: "front", team: "x" } }),
        aConfigMap("two", { a: "3" }, { labels: { tier: "back" } }),
        aConfigMap("three", {}, { labels: { team: "y" } }),
      ],
    });
    return here;
  };

  it("prints a table with the columns of the type", async () => {
    const { ok } = await withMaps();
    const printed = await ok("get configmaps one two");
    expect(header(printed)).toEqual(["NAME", "DATA", "AGE"]);
    expect(table(printed)).toEqual([
      { NAME: "one", DATA: "2", AGE: anAge },
      { NAME: "two", DATA: "1", AGE: anAge },
    ]);
  });

  it("knows a type by its plural, singular, short and full names", async () => {
    const { ok } = await withMaps();
    for (const type of ["configmaps", "configmap", "cm", "configmaps.v1."]) {
      expect(await ok(`get ${type} two -o name`)).toBe("configmap/two\n");
    }
    for (const type of ["deploy", "deployments.apps", "deployment.v1.apps"]) {
      expect(await ok(`get ${type} -o name`)).toBe("");
    }
  });

  it("gives the whole object as JSON and as YAML, without managed fields", async () => {
    const { ok, namespace } = await withMaps();
    const object = JSON.parse(await ok("get cm one -o json"));
    expect(object).toMatchObject({
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { a: "1", b: "2" },
      metadata: { name: "one", namespace, labels: { tier: "front", team: "x" } },
    });
    expect(object.metadata).toHaveProperty("uid");
    expect(object.metadata).toHaveProperty("resourceVersion");
    expect(object.metadata).not.toHaveProperty("managedFields");
    expect(load(await ok("get cm one -o yaml"))).toEqual(object);
  });

  it("shows the managed fields when asked to, with kubectl as their manager", async () => {
    const { ok } = await withMaps();
    const { metadata } = JSON.parse(await ok("get cm one -o json --show-managed-fields"));
    expect(metadata.managedFields[0]).toMatchObject({
      manager: "kubectl-create",
      operation: "Update",
      apiVersion: "v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { ".": {}, "f:a": {}, "f:b": {} } },
    });
  });

  it("gives lists as a List", async () => {
    const { ok } = await withMaps();
    const list = JSON.parse(await ok("get cm one three -o json"));
    expect(list).toMatchObject({
      apiVersion: "v1",
      kind: "List",
      items: [{ kind: "ConfigMap" }, { kind: "ConfigMap" }],
    });
  });

  it("gives names", async () => {
    const { ok } = await withMaps();
    expect(await ok("get cm one three -o name")).toBe("configmap/one\nconfigmap/three\n");
  });

  it("gives parts by JSONPath and by template", async () => {
    const { ok } = await withMaps();
    expect(await ok("get cm one -o jsonpath={.data.a}/{.metadata.labels.tier}")).toBe("1/front");
    expect(await ok("get cm -l team -o jsonpath={.items[*].metadata.name}")).toBe("one three");
    expect(await ok("get cm one -o go-template={{.data.b}}")).toBe("2");
  });

  it("gives columns of one's own", async () => {
    const { ok } = await withMaps();
    expect(await ok("get cm two three -o custom-columns=N:.metadata.name,A:.data.a")).toBe(
      "N       A\ntwo     3\nthree   <none>\n",
    );
  });

  it("gives more columns with wide", async () => {
    const { ok } = await withMaps();
    expect(header(await ok("get cm -o wide"))).toEqual(["NAME", "DATA", "AGE"]);
    await ok("create -f -", { input: aDeployment("web") });
    const wide = await ok("get deployment web -o wide");
    expect(header(wide)).toEqual([
      "NAME",
      "READY",
      "UP-TO-DATE",
      "AVAILABLE",
      "AGE",
      "CONTAINERS",
      "IMAGES",
      "SELECTOR",
    ]);
    expect(table(wide)).toMatchObject([
      { NAME: "web", CONTAINERS: "web,side", IMAGES: "nginx:1,busybox:1", SELECTOR: "app=web" },
    ]);
  });

  it("prints what a deployment wants and has", async () => {
    const { ok } = await room();
    await ok("create -f -", { input: aDeployment("web", 0) });
    expect(table(await ok("get deploy"))).toEqual([
      { NAME: "web", READY: "0/0", "UP-TO-DATE": "0", AVAILABLE: "0", AGE: anAge },
    ]);
  });

  it("selects by labels", async () => {
    const { ok } = await withMaps();
    const names = async (selector: string) =>
      (await ok(["get", "cm", "-o", "name", "-l", selector])).trim().split("\n").filter(Boolean);
    expect(await names("tier=front")).toEqual(["configmap/one"]);
    expect(await names("tier!=front,team")).toEqual(["configmap/three"]);
    expect(await names("tier,tier notin (back)")).toEqual(["configmap/one"]);
    expect(await names("tier==nothing")).toEqual([]);
  });

  it("prints labels as columns", async () => {
    const { ok } = await withMaps();
    expect(table(await ok("get cm two three -L tier,team"))).toMatchObject([
      { NAME: "two", TIER: "back", TEAM: "" },
      { NAME: "three", TIER: "", TEAM: "y" },
    ]);
    expect(table(await ok("get cm two --show-labels"))[0]?.LABELS).toContain("tier=back");
  });

  it("selects by fields", async () => {
    const { ok, namespace } = await withMaps();
    expect(await ok("get cm --field-selector metadata.name=two -o name")).toBe("configmap/two\n");
    expect(await ok(`get ns --field-selector status.phase=Active,metadata.name=${namespace} -o name`)).toBe(
      `namespace/${namespace}\n`,
    );
    expect(await ok("get cm --field-selector metadata.name!=two -l tier -o name")).toBe("configmap/one\n");
  });

  it("refuses fields that the type cannot be selected by", async () => {
    const { refused } = await room();
    expect(await refused("get cm --field-selector data.a=1")).toBe(
      'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", field selector "data.a=1": "data.a" is not a known field selector: only "metadata.name", "metadata.namespace"\n',
    );
  });

  it("prints all namespaces with a column for them", async () => {
    const { ok, namespace } = await withMaps();
    const printed = await ok("get cm -A -l tier");
    expect(header(printed)).toEqual(["NAMESPACE", "NAME", "DATA", "AGE"]);
    expect(table(printed).filter((row) => row.NAMESPACE === namespace)).toEqual([
      { NAMESPACE: namespace, NAME: "one", DATA: "2", AGE: anAge },
      { NAMESPACE: namespace, NAME: "two", DATA: "1", AGE: anAge },
    ]);
  });

  it("prints several types at once, each name with its type", async () => {
    const { ok } = await withMaps();
    await ok("create secret generic s --from-literal=p=q");
    const [maps = "", hidden = ""] = (await ok("get cm,secrets -l tier=front")).split("\n\n");
    expect(table(maps)).toMatchObject([{ NAME: "configmap/one" }]);
    expect(hidden).toBe("");
    const both = (await ok("get cm/two secret/s")).split("\n\n");
    expect(table(both[0] ?? "")).toMatchObject([{ NAME: "configmap/two", DATA: "1" }]);
    expect(table(both[1] ?? "")).toMatchObject([{ NAME: "secret/s", TYPE: "Opaque", DATA: "1" }]);
  });

  it("collects a list that comes in pages", async () => {
    const { ok } = await room();
    const names = Array.from({ length: 7 }, (_, i) => `m${i}`);
    await ok("create -f -", { input: names.map((name) => aConfigMap(name, { a: "1" }, { labels: { paged: "yes" } })) });
    expect(await ok("get cm -l paged -o name --chunk-size=2")).toBe(
      names.map((name) => `configmap/${name}\n`).join(""),
    );
    expect(table(await ok("get cm -l paged --chunk-size=3")).map((row) => row.NAME)).toEqual(names);
  });

  it("sorts and leaves out the header when asked to", async () => {
    const { ok } = await withMaps();
    const printed = await ok("get cm -l tier --sort-by=.metadata.labels.tier --no-headers");
    expect(printed).toMatch(/^two +1 +\d+s\none +2 +\d+s\n$/);
  });

  it("says that there is nothing", async () => {
    const { run, namespace } = await room();
    expect(await run("get secrets -l no=such")).toEqual({
      code: 0,
      stdout: "",
      stderr: `No resources found in ${namespace} namespace.\n`,
    });
  });

  it("says which object is not there", async () => {
    const { refused } = await room();
    expect(await refused("get cm gone")).toBe('Error from server (NotFound): configmaps "gone" not found\n');
    expect(await refused("get deploy gone")).toBe('Error from server (NotFound): deployments.apps "gone" not found\n');
    expect(await refused("get cr gone")).toBe(
      'Error from server (NotFound): clusterregistrations.tmc.kcp.io "gone" not found\n',
    );
  });

  it("says which type is not there", async () => {
    const { refused } = await room();
    expect(await refused("get gadgets")).toBe('error: the server doesn\'t have a resource type "gadgets"\n');
  });

  it("prints types of Kubernetes' own with their columns", async () => {
    const { ok, namespace } = await room();
    await ok("create sa robot");
    await ok("create role reader --verb=get --resource=configmaps");
    await ok(`create rolebinding reader --role=reader --serviceaccount=${namespace}:robot`);
    expect(table(await ok("get sa robot"))).toEqual([{ NAME: "robot", AGE: anAge }]);
    expect(table(await ok("get role reader"))).toEqual([
      { NAME: "reader", "CREATED AT": expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/) },
    ]);
    expect(table(await ok("get rolebinding reader"))).toEqual([{ NAME: "reader", ROLE: "Role/reader", AGE: anAge }]);
    expect(table(await ok("get rolebinding reader -o wide"))).toEqual([
      {
        NAME: "reader",
        ROLE: "Role/reader",
        AGE: anAge,
        USERS: "",
        GROUPS: "",
        SERVICEACCOUNTS: `${namespace}/robot`,
      },
    ]);
    expect(table(await ok(`get ns ${namespace}`))).toEqual([{ NAME: namespace, STATUS: "Active", AGE: anAge }]);
  });

  it("gives the scale of a deployment", async () => {
    const { ok } = await room();
    await ok("create -f -", { input: aDeployment("web", 2) });
    const scale = JSON.parse(await ok("get deployment web --subresource=scale -o json"));
    expect(scale).toMatchObject({ kind: "Scale", apiVersion: "autoscaling/v1", spec: { replicas: 2 } });
  });

  it("gives raw paths", async () => {
    const { ok, namespace } = await withMaps();
    expect(JSON.parse(await ok(`get --raw /api/v1/namespaces/${namespace}/configmaps/one`)).data).toEqual({
      a: "1",
      b: "2",
    });
    expect(await ok("get --raw /healthz")).toBe("ok");
  });

  if (kind === "cluster") {
    it("prints nodes and pods", async () => {
      const { ok } = await room();
      const nodes = await ok("get nodes");
      expect(header(nodes)).toEqual(["NAME", "STATUS", "ROLES", "AGE", "VERSION"]);
      expect(table(nodes)[0]).toMatchObject({ STATUS: "Ready" });
      await ok("create -f -", { input: aDeployment("web", 2) });
      await ok("wait deploy/web --for=condition=Available --timeout=30s");
      const pods = await ok("get pods -l app=web");
      expect(header(pods)).toEqual(["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
      expect(table(pods)).toEqual(
        [1, 2].map(() => ({
          NAME: expect.stringMatching(/^web-/),
          READY: "2/2",
          STATUS: "Running",
          RESTARTS: "0",
          AGE: anAge,
        })),
      );
      expect(header(await ok("get pods -o wide")).slice(5)).toEqual([
        "IP",
        "NODE",
        "NOMINATED NODE",
        "READINESS GATES",
      ]);
      expect(await ok("get pods --field-selector=status.phase!=Running -o name")).toBe("");
    });

    it("prints all of a namespace's workloads", async () => {
      const { ok } = await room();
      await ok("create -f -", { input: aDeployment("web", 0) });
      await ok("wait deploy/web --for=jsonpath={.status.observedGeneration}=1 --timeout=30s");
      const names = (await ok("get all -o name")).trim().split("\n");
      expect(names).toEqual(["deployment.apps/web", expect.stringMatching(/^replicaset.apps\/web-/)]);
    });
  }
}
