import { loadAll } from "js-yaml";
import { describe, expect, it } from "vitest";
import { manifests, manifestsCommand, renderManifests } from "../../../../lib/cli/install/manifests.ts";

function run(...flags: readonly string[]) {
  let out = "";
  let err = "";
  const command = manifestsCommand((text) => {
    out += text;
  });
  command.exitOverride().configureOutput({
    writeOut: (text) => {
      out += text;
    },
    writeErr: (text) => {
      err += text;
    },
  });
  try {
    command.parse([...flags], { from: "user" });
  } catch {
    // commander throws instead of exiting; its message is in `err`.
  }
  return { out, err };
}

const kindsOf = (text: string) => loadAll(text).map((document) => (document as Readonly<{ kind: string }>).kind);

describe("tmc manifests", () => {
  it("tmc manifests --format crd prints CRDs and ClusterRoles", () => {
    expect(kindsOf(run("--format", "crd").out)).toEqual([
      ...Array.from({ length: 3 }, () => "CustomResourceDefinition"),
      ...Array.from({ length: 3 }, () => "ClusterRole"),
    ]);
  });

  it("tmc manifests --format kcp prints schemas, the APIExport and roles, with the roles of its permission policy first", () => {
    expect(kindsOf(run("--format", "kcp").out)).toEqual([
      ...Array.from({ length: 13 }, () => "APIResourceSchema"),
      "ClusterRole",
      "ClusterRoleBinding",
      "ClusterRole",
      "ClusterRoleBinding",
      "APIExport",
      ...Array.from({ length: 3 }, () => "ClusterRole"),
    ]);
  });

  it("tmc manifests prints the complete objects as YAML", () => {
    expect(loadAll(renderManifests("kcp"))).toEqual(JSON.parse(JSON.stringify(manifests("kcp"))));
  });

  it("tmc manifests -o json prints one List", () => {
    expect(JSON.parse(run("--format", "kcp", "-o", "json").out)).toEqual({
      apiVersion: "v1",
      kind: "List",
      items: loadAll(renderManifests("kcp")),
    });
  });

  it("tmc manifests --export-version selects the version of the APIExport", () => {
    expect(run("--format", "kcp", "--export-version", "v1alpha1").out).toContain("latestResourceSchemas:");
    expect(run("--format", "kcp").out).not.toContain("latestResourceSchemas:");
  });

  it("tmc manifests --no-warnings omits the warnings and changes the names of the schemas", () => {
    expect(run("--format", "kcp").out).toContain("deprecationWarning:");
    const { out } = run("--format", "kcp", "--no-warnings");
    expect(out).not.toContain("deprecated");
    const [schemas, [{ spec }]] = [names(out), apiExports(out)];
    expect(spec.resources.map(({ schema }) => schema)).toEqual(schemas);
  });

  it.each([
    [["--format", "helm"], "Allowed choices are kcp, crd, controller, relay, cluster-access."],
    [[], "'--format <format>' not specified"],
    [["--format", "kcp", "-o", "xml"], "Allowed choices are yaml, json."],
    [["--format", "kcp", "--export-version", "v1"], "Allowed choices are v1alpha2, v1alpha1."],
  ])("tmc manifests rejects %j and prints the choices", (flags, message) => {
    const { out, err } = run(...flags);
    expect(out).toBe("");
    expect(err).toContain(message);
    expect(err).toContain("--help");
  });

  it("tmc manifests --help prints examples", () => {
    expect(run("--help").out).toContain("tmc manifests --format kcp | kubectl");
  });
});

type Named = Readonly<{ kind: string; metadata: { name: string } }>;
type Export = Named & Readonly<{ spec: { resources: readonly { schema: string }[] } }>;

function names(text: string): readonly string[] {
  return (loadAll(text) as Named[])
    .filter(({ kind }) => kind === "APIResourceSchema")
    .map(({ metadata }) => metadata.name);
}

function apiExports(text: string): [Export] {
  return (loadAll(text) as Named[]).filter(({ kind }) => kind === "APIExport") as [Export];
}
