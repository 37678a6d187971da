import { expect, it } from "vitest";
import { unique } from "../resources.ts";
import { anAge, header, type KubectlRoom, type MakeKubectlRoom, table } from "./kubectl-room.ts";
import { aPlacement, aRegistration } from "./manifests.ts";

const ready = {
  type: "Ready",
  status: "True",
  reason: "Answers",
  message: "It answers.",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
const readyPatch = JSON.stringify({ status: { conditions: [{ ...ready, message: "It-answers." }] } });

export function kubectlOurKindsCases(room: MakeKubectlRoom): void {
  const registered = async (): Promise<KubectlRoom & { name: string }> => {
    const here = await room();
    const name = unique("cluster");
    await here.ok("apply -f -", { input: aRegistration(name) });
    return { ...here, name };
  };

  it("prints registered clusters with Ready, Reason, Version, Location and Age", async () => {
    const { ok, name } = await registered();
    const before = await ok(`get cr ${name}`);
    expect(header(before)).toEqual(["NAME", "READY", "REASON", "VERSION", "LOCATION", "AGE"]);
    expect(table(before)).toEqual([
      { NAME: name, READY: "", REASON: "", VERSION: "", LOCATION: "us-west-2", AGE: anAge },
    ]);
    await ok(`patch cr ${name} --subresource=status --type=merge -p ${readyPatch}`);
    expect(table(await ok(`get clusterregistrations ${name}`))).toEqual([
      { NAME: name, READY: "True", REASON: ready.reason, VERSION: "", LOCATION: "us-west-2", AGE: anAge },
    ]);
  });

  it("prints placements with Strategy, Clusters, Ready, Reason and Age", async () => {
    const { ok } = await room();
    const name = unique("placement");
    await ok("create -f -", { input: aPlacement(name) });
    const printed = await ok(`get wp ${name}`);
    expect(header(printed)).toEqual(["NAME", "STRATEGY", "CLUSTERS", "READY", "REASON", "AGE"]);
    expect(table(printed)).toEqual([
      { NAME: name, STRATEGY: "RoundRobin", CLUSTERS: "", READY: "", REASON: "", AGE: anAge },
    ]);
  });

  it("prints syncs with what belongs where", async () => {
    const { ok } = await room();
    await ok("create -f -", {
      input: {
        apiVersion: "tmc.kcp.io/v1alpha1",
        kind: "WorkloadSync",
        metadata: { name: "web" },
        spec: {
          workload: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
          clusters: ["east", "west"],
        },
      },
    });
    const status = JSON.stringify({ status: { clusterSummary: "east,west" } });
    await ok(`patch wsync web --subresource=status --type=merge -p ${status}`);
    const printed = await ok("get wsync");
    expect(header(printed)).toEqual(["NAME", "KIND", "WORKLOAD", "CLUSTERS", "READY", "REASON", "AGE"]);
    expect(table(printed)).toEqual([
      { NAME: "web", KIND: "Deployment", WORKLOAD: "web", CLUSTERS: "east,west", READY: "", REASON: "", AGE: anAge },
    ]);
  });

  it("prints our kinds by their category", async () => {
    const { ok, name } = await registered();
    expect((await ok("get kcp -o name")).split("\n")).toContain(`clusterregistration.tmc.kcp.io/${name}`);
  });

  it("fills in defaults", async () => {
    const { ok, name } = await registered();
    expect(await ok(`get cr ${name} -o jsonpath={.spec.capabilities}`)).toBe(
      '[{"available":true,"type":"compute"},{"available":true,"type":"storage"}]',
    );
  });

  it("applies twice, and once more without a change", async () => {
    const { ok, name } = await registered();
    const changed = aRegistration(name, { location: "eu-1", capabilities: [{ type: "compute", available: false }] });
    expect(await ok("apply -f -", { input: changed })).toBe(`clusterregistration.tmc.kcp.io/${name} configured\n`);
    expect(await ok("apply -f -", { input: changed })).toBe(`clusterregistration.tmc.kcp.io/${name} unchanged\n`);
    expect(JSON.parse(await ok(`get cr ${name} -o json`)).spec).toEqual({
      location: "eu-1",
      capabilities: [{ type: "compute", available: false }],
    });
  });

  it("keeps each manager's capabilities when two apply on the server's side", async () => {
    const { ok } = await room();
    const name = unique("cluster");
    const apply = (manager: string, type: string) =>
      ok(`apply --server-side --field-manager=${manager} -f -`, {
        input: aRegistration(name, { capabilities: [{ type, available: true }] }),
      });
    expect(await apply("one", "compute")).toBe(`clusterregistration.tmc.kcp.io/${name} serverside-applied\n`);
    await apply("two", "gpu");
    const types = () => ok(`get cr ${name} -o jsonpath={.spec.capabilities[*].type}`);
    expect(await types()).toBe("compute gpu");
    await apply("two", "network");
    expect(await types()).toBe("compute network");
  });

  it("prints what would change", async () => {
    const { run, name } = await registered();
    const changed = await run("diff -f -", { input: aRegistration(name, { location: "eu-1" }) });
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(/^- {2}location: us-west-2$/m);
    expect(changed.stdout).toMatch(/^\+ {2}location: eu-1$/m);
    expect(await run("diff -f -", { input: aRegistration(name) })).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("edits", async () => {
    const { ok, name } = await registered();
    expect(await ok(`edit cr ${name}`, { env: { KUBE_EDITOR: "sed -i s/us-west-2/eu-2/" } })).toBe(
      `clusterregistration.tmc.kcp.io/${name} edited\n`,
    );
    expect(await ok(`get cr ${name} -o jsonpath={.spec.location}`)).toBe("eu-2");
  });

  it("waits until a cluster is ready", async () => {
    const { ok, name } = await registered();
    const [waited] = await Promise.all([
      ok(`wait cr/${name} --for=condition=Ready --timeout=30s`),
      ok(`patch cr ${name} --subresource=status --type=merge -p ${readyPatch}`),
    ]);
    expect(waited).toBe(`clusterregistration.tmc.kcp.io/${name} condition met\n`);
  });

  it("does not let a status in with the object, nor a spec with the status", async () => {
    const { ok, name } = await registered();
    await ok(`patch cr ${name} --type=merge -p ${readyPatch}`);
    expect(await ok(`get cr ${name} -o jsonpath={.status}`)).toBe("");
    await ok(
      `patch cr ${name} --subresource=status --type=merge -p {"spec":{"location":"x"},"status":{"observedGeneration":1}}`,
    );
    expect(await ok(`get cr ${name} -o jsonpath={.spec.location}/{.status.observedGeneration}`)).toBe("us-west-2/1");
  });

  it("says what is wrong with a value", async () => {
    const { refused } = await room();
    expect(await refused("create -f -", { input: aPlacement("bad", { strategy: "Chance" }) })).toBe(
      'The WorkloadPlacement "bad" is invalid: spec.strategy: Unsupported value: "Chance": supported values: "RoundRobin", "Spread", "Affinity"\n',
    );
  });

  it("says all that is wrong with an object", async () => {
    const { refused } = await room();
    const input = aRegistration("bad", { location: "", capabilities: [{ type: "compute" }, { type: "compute" }] });
    expect(await refused("create -f -", { input })).toBe(
      [
        'The ClusterRegistration "bad" is invalid: ',
        '* spec.location: Invalid value: "": spec.location in body should be at least 1 chars long',
        '* spec.capabilities[1]: Duplicate value: {"type":"compute"}',
        "",
      ].join("\n"),
    );
  });

  it("says what is missing", async () => {
    const { refused } = await room();
    const base = { apiVersion: "tmc.kcp.io/v1alpha1", kind: "ClusterRegistration", metadata: { name: "bad" } };
    expect(await refused("create -f -", { input: { ...base, spec: {} } })).toBe(
      'The ClusterRegistration "bad" is invalid: spec.location: Required value\n',
    );
    expect(await refused("create -f -", { input: base })).toBe(
      'The ClusterRegistration "bad" is invalid: spec: Required value\n',
    );
  });

  it("says which field it does not know", async () => {
    const { refused, name } = await registered();
    expect(await refused("create -f -", { input: aPlacement("bad", { strat: "Spread" }) })).toBe(
      'Error from server (BadRequest): error when creating "STDIN": WorkloadPlacement in version "v1alpha1" cannot be handled as a WorkloadPlacement: strict decoding error: unknown field "spec.strat"\n',
    );
    expect(await refused("apply -f -", { input: aRegistration(name, { loc: "x" }) })).toMatch(
      /^The request is invalid: patch: Invalid value: ".*": strict decoding error: unknown field "spec\.loc"\n$/,
    );
  });

  it("leaves an unknown field out, with a warning, when validation is to warn", async () => {
    const { run, ok } = await room();
    const name = unique("placement");
    const { code, stderr } = await run("create --validate=warn -f -", { input: aPlacement(name, { strat: "Spread" }) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Warning: unknown field "spec.strat"\n' });
    expect(await ok(`get wp ${name} -o jsonpath={.spec.strat}`)).toBe("");
  });

  it("takes no strategic patches", async () => {
    const { refused, name } = await registered();
    // kcp names the last of the types twice.
    expect(await refused(`patch cr ${name} --type=strategic -p {"spec":{"location":"x"}}`)).toMatch(
      /^error: application\/strategic-merge-patch\+json is not supported by tmc\.kcp\.io\/v1alpha1, Kind=ClusterRegistration: the body of the request was in an unknown format - accepted media types include: application\/json-patch\+json, application\/merge-patch\+json, application\/apply-patch\+yaml/,
    );
  });

  it("deletes", async () => {
    const { ok, refused, name } = await registered();
    expect(await ok(`delete cr ${name}`)).toBe(`clusterregistration.tmc.kcp.io "${name}" deleted\n`);
    expect(await refused(`delete cr ${name}`)).toBe(
      `Error from server (NotFound): clusterregistrations.tmc.kcp.io "${name}" not found\n`,
    );
  });
}
