import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { dump } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clusterRegistration } from "../../lib/api/cluster-registration.ts";
import { apiResourceSchema } from "../../lib/api/resource-schema.ts";
import { managedTypes } from "../../lib/install/managed-object.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import {
  type ApiBinding,
  type ApiExport,
  apiBindings,
  apiExports,
  apiResourceSchemas,
  endpointSlices,
  workspaces,
} from "../../lib/upstream/kcp-types.ts";
import { aRegistration, registrations } from "../contract/provider.ts";
import { eventually, eventuallyOk, rbac, secrets, unique } from "../contract/resources.ts";
import { type Outcome, tmc } from "../lib/cli/support.ts";
import { aDefinition } from "../support/definition.ts";
import type { KcpUnderTest } from "./kcp-under-test.ts";

/** The types of objects that are installed in kcp; admission policies are for member clusters. */
const installedTypes = Object.entries(managedTypes).flatMap(([kind, type]) =>
  kind.startsWith("ValidatingAdmissionPolicy") ? [] : [type],
);

const widgetType = { group: "example.dev", version: "v1", plural: "widgets" };
const widgets = aDefinition(widgetType, "Widget", {
  spec: { type: "object", properties: { size: { type: "integer" } } },
});

/** S1's own words. */
const firstBinding = (path: string): object => ({
  apiVersion: "apis.kcp.io/v1alpha1",
  kind: "APIBinding",
  metadata: { name: "tmc-binding" },
  spec: { reference: { export: { path, name: "tmc.kcp.io" } } },
});

/** An installation from its first day to its last, by its commands. */
export function bootstrapCases(title: string, start: () => Promise<KcpUnderTest>): void {
  describe(title, () => {
    let kcp: KcpUnderTest;
    let folder = "";
    let kubeconfig = "";
    const path = `root:${unique("tmc")}`;
    const run = (line: string): Promise<Outcome> => tmc(line.split(" "), { env: { KUBECONFIG: kubeconfig } });
    const bootstrap = (flags = ""): Promise<Outcome> =>
      run(`bootstrap --workspace ${path} --kubeconfig-dir ${folder} --timeout 90s ${flags}`.trim());
    const at = (workspace: string): KubeClient => kcp.admin.at(`/clusters/${workspace}`);
    const provider = (): KubeClient => at(path);
    const aWorkspace = async (): Promise<string> => {
      const name = `root:${unique("team")}`;
      await ensureWorkspace(kcp.admin, name);
      return name;
    };

    beforeAll(async () => {
      kcp = await start();
      folder = await mkdtemp(join(tmpdir(), "tmc-bootstrap-"));
      kubeconfig = await kcp.writeKubeconfig(folder);
      await writeFile(join(folder, "widgets.yaml"), dump(widgets));
    }, 60_000);
    afterAll(async () => {
      await kcp?.stop();
      await rm(folder, { recursive: true, force: true });
    }, 60_000);

    it("prints what it would do with --dry-run, and changes nothing", async () => {
      const { code, out } = await bootstrap("--dry-run");
      expect(code).toBe(0);
      expect(out).toMatch(new RegExp(`^create +Workspace +${path}$`, "m"));
      expect(out).toMatch(/^create +APIExport +tmc\.kcp\.io$/m);
      expect(out).toContain("relay.kubeconfig (would be written");
      const { items } = await at("root").list({ type: workspaces });
      expect(items.map(({ metadata }) => `root:${metadata.name}`)).not.toContain(path);
    });

    it("reports a kcp without the export with --check", async () => {
      const { code, out, err } = await bootstrap("--check");
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("run ./tmc bootstrap to repair it") });
      expect(out).toContain("TMCAPIExportConfigured=False APIExportMissing\n  APIExport tmc.kcp.io does not exist\n");
    });

    it("installs everything, and writes kubeconfigs that only their owner can read", async () => {
      const { code, out, err } = await bootstrap();
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toMatch(/^created +WorkspaceType +tenant$/m);
      for (const service of ["relay", "worker"]) {
        const file = join(folder, `${service}.kubeconfig`);
        expect(out).toContain(`kubeconfig of the ${service}: ${file} (written: it does not exist)`);
        expect((await stat(file)).mode & 0o777).toBe(0o600);
        const { endpoint } = parseKubeconfig(await readFile(file, "utf8"), { allow: "data-only" });
        const client = kcp.clientAs(endpoint);
        await eventuallyOk(() => client.list({ type: endpointSlices }));
        await client.close();
      }
    }, 120_000);

    it("changes nothing when it is run again", async () => {
      const versions = async (): Promise<string[]> => {
        const lists = await Promise.all(installedTypes.map((type) => provider().listAll({ type })));
        return lists.flatMap(({ items }) => items.map(({ metadata: m }) => `${m.name} ${m.resourceVersion}`));
      };
      const files = () =>
        Promise.all(["relay", "worker"].map((name) => readFile(join(folder, `${name}.kubeconfig`), "utf8")));
      const before = [await versions(), await files()];
      const { code, out } = await bootstrap();
      expect(code).toBe(0);
      expect(out).toContain(`${path}: no changes, 38 objects are up to date\n`);
      expect([await versions(), await files()]).toEqual(before);
      expect(await bootstrap("--check")).toMatchObject({
        code: 0,
        out: expect.stringContaining("TMCAPIExportConfigured=True"),
      });
    });

    it("reports the missing schema, and restores only that", async () => {
      const { name } = apiResourceSchema(clusterRegistration).metadata;
      await provider().delete({ type: apiResourceSchemas, name });
      const { code, out } = await bootstrap("--check");
      expect(code).toBe(1);
      expect(out).toContain(`TMCAPIExportConfigured=False SchemaMissing\n  APIResourceSchema ${name} does not exist\n`);
      const repaired = await bootstrap("-o json");
      expect(JSON.parse(repaired.out)).toMatchObject({ changes: [{ action: "create", name }], unchanged: 37 });
    });

    it("never changes an object that TMC did not create", async () => {
      const others = {
        apiVersion: "apis.kcp.io/v1alpha2",
        kind: "APIExport",
        metadata: { name: "other.example.dev" },
        spec: {},
      };
      await provider().create({ type: apiExports }, others);
      const identified = async (): Promise<ApiExport> => {
        const found = await provider().get<ApiExport>({ type: apiExports, name: "other.example.dev" });
        if (found.status?.identityHash === undefined) throw new Error("it has no identity yet");
        return found;
      };
      const before = await eventuallyOk(identified);
      await bootstrap("--tenants system:authenticated");
      expect((await identified()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    });

    it("keeps the tenant group that an operator set", async () => {
      const group = async () => {
        const binding = await provider().get<KubeObject & { subjects: { name: string }[] }>({
          type: managedTypes.ClusterRoleBinding,
          name: "tmc:bind",
        });
        return binding.subjects.map(({ name }) => name).join();
      };
      expect((await bootstrap("--tenants developers")).out).toMatch(/^changed +ClusterRoleBinding +tmc:bind/m);
      expect((await bootstrap()).out).toContain(": no changes, ");
      expect(await group()).toBe("developers");
      await bootstrap("--tenants system:authenticated");
      expect(await group()).toBe("system:authenticated");
    });

    it("exports an operator's custom type, and keeps it when a later run does not name it", async () => {
      const added = await bootstrap(`--crd ${join(folder, "widgets.yaml")}`);
      expect(added.code).toBe(0);
      expect(added.out).toMatch(/^created +APIResourceSchema +v1-[0-9a-f]{8}\.widgets\.example\.dev +missing$/m);
      const again = await bootstrap();
      expect(again.out).toContain("kept in the APIExport: widgets.example.dev\n");
      expect(again.out).toContain(": no changes, ");
    });

    it("binds a workspace, and reports one that is already bound", async () => {
      const team = await aWorkspace();
      const line = `bind ${path} --workspace ${team} --timeout 90s`;
      expect(await run(line)).toEqual({
        code: 0,
        out: `${team}: bound to ${path} by APIBinding tmc-binding, 14 resources\n`,
        err: "",
      });
      expect((await run(line)).out).toBe(`${team}: already bound to ${path} by APIBinding tmc-binding, 14 resources\n`);
      const widget = { apiVersion: "example.dev/v1", kind: "Widget", metadata: { name: "one" }, spec: { size: 1 } };
      await eventuallyOk(() => at(team).create({ type: widgetType, namespace: "default" }, widget));
      const roles = await at(team).list({ type: rbac("clusterroles") });
      expect(roles.items.map(({ metadata }) => metadata.name)).toEqual(
        expect.arrayContaining(["tmc:cluster-admin", "tmc:operator", "tmc:viewer"]),
      );

      expect(await run(`unbind ${path} --workspace ${team}`)).toEqual({
        code: 1,
        out: "",
        err: `tmc: ${team}: would delete 1 widgets.example.dev; use --delete-objects to delete them\n`,
      });
      expect((await run(`unbind ${path} --workspace ${team} --dry-run`)).out).toBe(
        `${team}: would delete APIBinding tmc-binding and 1 widgets.example.dev\n`,
      );
      expect((await run(`unbind ${path} --workspace ${team} --delete-objects --timeout 90s`)).out).toBe(
        `${team}: unbound from ${path}, 1 widgets.example.dev deleted\n`,
      );
      expect((await run(`unbind ${path} --workspace ${team}`)).out).toBe(
        `${team}: not bound to tmc.kcp.io of ${path}\n`,
      );
      const left = await at(team).list({ type: rbac("clusterroles") });
      expect(left.items.filter(({ metadata }) => metadata.name?.startsWith("tmc:"))).toEqual([]);
    }, 180_000);

    it("binds new workspaces of the tenant type automatically", async () => {
      const name = unique("team");
      await eventuallyOk(() =>
        at("root").create(
          { type: workspaces },
          {
            apiVersion: "tenancy.kcp.io/v1alpha1",
            kind: "Workspace",
            metadata: { name },
            spec: { type: { name: "tenant", path } },
          },
        ),
      );
      const team = `root:${name}`;
      await ensureWorkspace(kcp.admin, team);
      await at(team).create({ type: registrations }, aRegistration("east"));
      expect((await run(`bind ${path} --workspace ${team} --timeout 90s`)).out).toMatch(
        new RegExp(`^${team}: already bound to ${path} by APIBinding tmc\\.kcp\\.io-[0-9a-z]+, 14 resources\n$`),
      );
    }, 120_000);

    it("accepts a binding made by hand, and updates it", async () => {
      const team = await aWorkspace();
      await eventuallyOk(() => at(team).create({ type: { ...apiBindings, version: "v1alpha1" } }, firstBinding(path)));
      await eventuallyOk(() => at(team).list({ type: registrations }), 60_000);
      await eventuallyOk(() => at(team).list({ type: { ...registrations, plural: "workloadplacements" } }), 60_000);
      const line = `bind ${path} --workspace ${team} --timeout 90s`;
      expect((await run(line)).out).toBe(`${team}: bound to ${path} by APIBinding tmc-binding, 14 resources\n`);
      await eventually(async () => {
        const { status } = await at(team).get<ApiBinding>({ type: apiBindings, name: "tmc-binding" });
        const valid = status?.conditions?.find(({ type }) => type === "PermissionClaimsValid");
        return valid?.status === "True" ? undefined : `its claims are not valid: ${JSON.stringify(valid)}`;
      });
    }, 120_000);

    it("rolls a changed schema out to tenants, and keeps their objects", async () => {
      const team = await aWorkspace();
      await run(`bind ${path} --workspace ${team} --timeout 90s`);
      const resource = "clusterregistrations";
      const old: { metadata: { name: string }; spec: object } = JSON.parse(
        JSON.stringify(apiResourceSchema(clusterRegistration)).replace('"unschedulable":', '"formerly":'),
      );
      old.metadata.name = `old.${resource}.tmc.kcp.io`;
      await provider().create({ type: apiResourceSchemas }, old);
      const { spec } = await provider().get<ApiExport>({ type: apiExports, name: "tmc.kcp.io" });
      const resources = spec?.resources?.map((item) =>
        item.name === resource ? { ...item, schema: old.metadata.name } : item,
      );
      await provider().patch(
        { type: apiExports, name: "tmc.kcp.io" },
        { type: "merge", body: { spec: { resources } } },
      );
      const make = async (name: string): Promise<unknown> => {
        const wanted = { location: "x", unschedulable: true };
        const made = await at(team).create<KubeObject & { spec: object }>(
          { type: registrations },
          aRegistration(name, wanted),
        );
        return "unschedulable" in made.spec;
      };
      await eventually(
        async () => ((await make(unique("probe"))) ? "the old schema is not served yet" : undefined),
        60_000,
      );
      await at(team).create({ type: registrations }, aRegistration("old"));

      const { out } = await bootstrap();
      expect(out).toMatch(
        /^changed +APIExport +tmc\.kcp\.io +spec\.resources\[clusterregistrations\.tmc\.kcp\.io\]\.schema: /m,
      );
      await eventually(
        async () => ((await make(unique("probe"))) ? undefined : "the new schema is not served yet"),
        60_000,
      );
      expect(await at(team).get({ type: registrations, name: "old" })).toMatchObject({ spec: { location: "eu-west" } });
      const { items } = await at(team).list({ type: registrations });
      expect(items.length).toBeGreaterThan(2);
      await provider().delete({ type: apiResourceSchemas, name: old.metadata.name }); // not made by us, so not removed by us
    }, 180_000);

    it("refuses to uninstall while workspaces are bound, and names them", async () => {
      const { code, out, err } = await run(`uninstall --workspace ${path} --yes`);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toMatch(
        new RegExp(`^tmc: ${path}: the APIExport is bound in root:team-\\w+, root:team-\\w+, root:team-\\w+; `),
      );
    });

    it("uninstalls everything except objects that TMC did not create", async () => {
      const { code, out, err } = await run(`uninstall --workspace ${path} --yes --with-tenants --timeout 90s`);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toContain(
        `${path}: 38 objects deleted; the workspace stays: it contains the export other.example.dev\n`,
      );
      const left = await Promise.all(
        [...installedTypes, apiBindings, secrets, endpointSlices].map(async (type) => {
          const { items } = await provider().listAll({ type });
          return items.map(({ metadata }) => `${type.plural} ${metadata.name}`);
        }),
      );
      expect(left.flat().filter((name) => /tmc/.test(name))).toEqual([]);
      expect((await run(`uninstall --workspace ${path} --yes`)).out).toBe(`${path}: TMC is not installed\n`);
    }, 180_000);

    it("deletes the workspace that it created if the workspace is empty", async () => {
      await provider().delete({ type: apiExports, name: "other.example.dev" });
      await bootstrap();
      const { code, out } = await run(`uninstall --workspace ${path} --yes --timeout 90s`);
      expect({ code, out }).toEqual({ code: 0, out: `${path}: deleted\n` });
      const { items } = await at("root").list({ type: workspaces });
      expect(items.map(({ metadata }) => `root:${metadata.name}`)).not.toContain(path);
    }, 180_000);
  });
}
