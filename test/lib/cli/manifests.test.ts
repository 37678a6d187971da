import { loadAll } from "js-yaml";
import { describe, expect, it } from "vitest";
import { manifests, manifestsCommand, renderManifests } from "../../../lib/cli/manifests.ts";

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
    // commander throws in place of leaving the process; what it said is in `err`.
  }
  return { out, err };
}

const kindsOf = (text: string) => loadAll(text).map((document) => (document as Readonly<{ kind: string }>).kind);

describe("tmc manifests", () => {
  it("prints CRDs and roles for a plain cluster", () => {
    expect(kindsOf(run("--format", "crd").out)).toEqual([
      ...Array.from({ length: 3 }, () => "CustomResourceDefinition"),
      ...Array.from({ length: 3 }, () => "ClusterRole"),
    ]);
  });

  it("prints schemas, export and roles for kcp, those of the export's policy before it", () => {
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

  it("prints in YAML what it makes, with nothing lost", () => {
    expect(loadAll(renderManifests("kcp"))).toEqual(JSON.parse(JSON.stringify(manifests("kcp"))));
  });

  it("prints the same as one list in JSON", () => {
    expect(JSON.parse(run("--format", "kcp", "-o", "json").out)).toEqual({
      apiVersion: "v1",
      kind: "List",
      items: loadAll(renderManifests("kcp")),
    });
  });

  it("prints the export in the version that is asked for", () => {
    expect(run("--format", "kcp", "--export-version", "v1alpha1").out).toContain("latestResourceSchemas:");
    expect(run("--format", "kcp").out).not.toContain("latestResourceSchemas:");
  });

  it("leaves the warnings out when asked to, and names the schemas anew", () => {
    expect(run("--format", "kcp").out).toContain("deprecationWarning:");
    const { out } = run("--format", "kcp", "--no-warnings");
    expect(out).not.toContain("deprecated");
    const [schemas, [{ spec }]] = [names(out), apiExports(out)];
    expect(spec.resources.map(({ schema }) => schema)).toEqual(schemas);
  });

  it.each([
    [["--format", "helm"], "Allowed choices are kcp, crd, relay."],
    [[], "'--format <format>' not specified"],
    [["--format", "kcp", "-o", "xml"], "Allowed choices are yaml, json."],
    [["--format", "kcp", "--export-version", "v1"], "Allowed choices are v1alpha2, v1alpha1."],
  ])("answers %j with what can be said instead", (flags, words) => {
    const { out, err } = run(...flags);
    expect(out).toBe("");
    expect(err).toContain(words);
    expect(err).toContain("--help");
  });

  it("explains itself with examples", () => {
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
