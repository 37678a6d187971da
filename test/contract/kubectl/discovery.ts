import { expect, it } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type MakeKubectlRoom, table } from "./kubectl-room.ts";

export function kubectlDiscoveryCases(room: MakeKubectlRoom, kind: "kcp" | "cluster"): void {
  it("explains a built-in type with its fields", async () => {
    const { ok } = await room();
    const page = await ok("explain configmap");
    expect(
      page.startsWith("KIND:       ConfigMap\nVERSION:    v1\n\nDESCRIPTION:\n    ConfigMap holds configuration data"),
    ).toBe(true);
    expect(page.match(/^ {2}\w+\t<.*$/gm)).toEqual([
      "  apiVersion\t<string>",
      "  binaryData\t<map[string]string>",
      "  data\t<map[string]string>",
      "  immutable\t<boolean>",
      "  kind\t<string>",
      "  metadata\t<ObjectMeta>",
    ]);
  });

  it("explains one field of a deployment", async () => {
    const { ok } = await room();
    const page = await ok("explain deployment.spec.replicas");
    expect(page).toMatch(/^GROUP: {6}apps\nKIND: {7}Deployment\nVERSION: {4}v1\n\nFIELD: replicas <integer>\n/);
  });

  it("explains one field of ours", async () => {
    const { ok } = await room();
    const [head = "", description = ""] = (await ok("explain clusterregistration.spec.location")).split(
      "DESCRIPTION:\n",
    );
    expect(head).toBe(
      [
        "GROUP:      tmc.kcp.io",
        "KIND:       ClusterRegistration",
        "VERSION:    v1alpha1",
        "",
        "FIELD: location <string>",
        "",
        "",
        "",
      ].join("\n"),
    );
    expect(unwrapped(description)).toBe(clusterRegistration.spec.properties?.location?.description);
  });

  it("explains a choice with its values", async () => {
    const { ok } = await room();
    expect(await ok("explain wp.spec.strategy")).toContain(
      "FIELD: strategy <string>\nENUM:\n    RoundRobin\n    Spread\n    Affinity\n",
    );
  });

  it("explains a kind of ours with all that is in it", async () => {
    const { ok } = await room();
    const page = await ok("explain cr --recursive");
    const [head = "", described = ""] = page.split("DESCRIPTION:\n");
    expect(head).toBe("GROUP:      tmc.kcp.io\nKIND:       ClusterRegistration\nVERSION:    v1alpha1\n\n");
    const [description = "", fields = ""] = described.split("FIELDS:\n");
    expect(unwrapped(description)).toBe(clusterRegistration.description);
    expect(fields.split("\n").slice(0, 4)).toEqual([
      "  apiVersion\t<string>",
      "  kind\t<string>",
      "  metadata\t<ObjectMeta>",
      "    annotations\t<map[string]string>",
    ]);
    const { spec, status } = clusterRegistration;
    const below = (part: string) => [...part.matchAll(/^ {4}(\w+)\t</gm)].map(([, name]) => name);
    const [, rest = ""] = page.split("  spec\t<Object> -required-\n");
    const [specPart = "", statusPart = ""] = rest.split("  status\t<Object>\n");
    expect(below(specPart)).toEqual(Object.keys(spec.properties ?? {}).toSorted());
    expect(below(statusPart)).toEqual(Object.keys(status.properties ?? {}).toSorted());
    expect(specPart).toMatch(/^ {4}location\t<string> -required-$/m);
    expect(specPart).toMatch(/^ {4}capabilities\t<\[\]Object>\n {6}available\t<boolean>$/m);
    expect(statusPart).toContain(
      [
        "    conditions\t<[]Object>",
        "      lastTransitionTime\t<string> -required-",
        "      message\t<string> -required-",
        "      observedGeneration\t<integer>",
        "      reason\t<string> -required-",
        "      severity\t<string>",
        "      enum: Error, Warning, Info",
        "      status\t<string> -required-",
        "      enum: True, False, Unknown",
        "      type\t<string> -required-",
        "",
      ].join("\n"),
    );
  });

  it("says which field it cannot explain", async () => {
    const { refused } = await room();
    expect(await refused("explain cm.nope")).toBe('error: field "nope" does not exist\n');
    expect(await refused("explain nope")).toBe('the server doesn\'t have a resource type "nope"\n');
  });

  it("lists our types with their names and scope", async () => {
    const { ok } = await room();
    expect(table(await ok("api-resources --api-group=tmc.kcp.io"))).toEqual([
      {
        NAME: "clusterregistrations",
        SHORTNAMES: "cr",
        APIVERSION: "tmc.kcp.io/v1alpha1",
        NAMESPACED: "false",
        KIND: "ClusterRegistration",
      },
      {
        NAME: "workloadplacements",
        SHORTNAMES: "wp",
        APIVERSION: "tmc.kcp.io/v1alpha1",
        NAMESPACED: "false",
        KIND: "WorkloadPlacement",
      },
      {
        NAME: "workloadsyncs",
        SHORTNAMES: "wsync",
        APIVERSION: "tmc.kcp.io/v1alpha1",
        NAMESPACED: "true",
        KIND: "WorkloadSync",
      },
    ]);
  });

  it("lists types by scope, verb and category", async () => {
    const { ok } = await room();
    const names = async (flags: string) => (await ok(`api-resources -o name ${flags}`)).trim().split("\n");
    const namespaced = await names("--namespaced=true");
    expect(namespaced).toEqual(expect.arrayContaining(["configmaps", "deployments.apps", "workloadsyncs.tmc.kcp.io"]));
    expect(namespaced).not.toContain("namespaces");
    const unscoped = await names("--namespaced=false --verbs=list,watch");
    expect(unscoped).toEqual(expect.arrayContaining(["namespaces", "clusterregistrations.tmc.kcp.io"]));
    expect(unscoped).not.toContain("subjectaccessreviews.authorization.k8s.io");
    expect(await names("--categories=kcp")).toEqual(
      expect.arrayContaining(["clusterregistrations.tmc.kcp.io", "workloadplacements.tmc.kcp.io"]),
    );
    expect(await names("--categories=all")).toEqual(
      expect.arrayContaining(["services", "deployments.apps", "jobs.batch", "horizontalpodautoscalers.autoscaling"]),
    );
  });

  it("lists a type with its verbs", async () => {
    const { ok } = await room();
    const rows = table(await ok("api-resources -o wide --api-group=apps"));
    expect(rows.find((row) => row.NAME === "deployments")).toMatchObject({
      SHORTNAMES: "deploy",
      KIND: "Deployment",
      VERBS:
        kind === "kcp"
          ? "delete,deletecollection,get,list,patch,create,update,watch"
          : "create,delete,deletecollection,get,list,patch,update,watch",
      CATEGORIES: "all",
    });
  });

  it("lists the versions of all groups", async () => {
    const { ok } = await room();
    const versions = (await ok("api-versions")).trim().split("\n");
    expect(versions).toEqual(versions.toSorted());
    expect(versions).toEqual(
      expect.arrayContaining([
        "apiextensions.k8s.io/v1",
        "apps/v1",
        "authorization.k8s.io/v1",
        "autoscaling/v2",
        "batch/v1",
        "coordination.k8s.io/v1",
        "events.k8s.io/v1",
        "networking.k8s.io/v1",
        "rbac.authorization.k8s.io/v1",
        "tmc.kcp.io/v1alpha1",
        "v1",
      ]),
    );
    expect(versions.includes("tenancy.kcp.io/v1alpha1")).toBe(kind === "kcp");
  });

  it("says which version the server has", async () => {
    const { ok } = await room();
    expect(await ok("version")).toMatch(
      kind === "kcp" ? /^Server Version: v1\.\d+\.\d+\+kcp-v\d+\.\d+\.\d+$/m : /^Server Version: v1\.\d+\.\d+$/m,
    );
    const { serverVersion } = JSON.parse(await ok("version -o json"));
    expect(serverVersion).toMatchObject({ major: "1", gitVersion: expect.stringMatching(/^v1\./) });
  });
}

/** A description without the line breaks and the indentation of kubectl. */
function unwrapped(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
