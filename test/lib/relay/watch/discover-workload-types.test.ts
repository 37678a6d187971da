import { startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, test } from "vitest";
import { exportName, exportWorkspace } from "../../../../lib/api/group.ts";
import { performBootstrap, planBootstrap } from "../../../../lib/install/bootstrap.ts";
import { createLog } from "../../../../lib/observe/log.ts";
import { discoverWorkloadTypes } from "../../../../lib/relay/watch/discover-workload-types.ts";
import { parseCustomType } from "../../../../lib/upstream/custom-types.ts";

const schema = { openAPIV3Schema: { type: "object" } };
const definition = (plural: string, scope = "Namespaced") =>
  parseCustomType(
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.example.dev` },
      spec: {
        group: "example.dev",
        scope,
        names: { plural, singular: plural, kind: plural.toUpperCase(), listKind: `${plural.toUpperCase()}List` },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    },
    "f",
  );

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A kcp whose export has a type with namespaces and one without beside ours. */
async function aKcp(): Promise<KubeClient> {
  const kcp = await startEmbeddedKcp({ listen: false });
  const client = createKubeClient({ endpoint: { server: kcp.url }, transport: kcp.transport() });
  ends.push(async () => {
    await client.close();
    await kcp.stop();
  });
  const custom = [definition("widgets"), definition("plants", "Cluster")];
  const plan = await planBootstrap(client, { path: exportWorkspace, custom });
  await performBootstrap(client, {
    path: exportWorkspace,
    plan,
    openEndpoint: (url) => client.at(new URL(url).pathname),
  });
  return client;
}

const discover = (client: KubeClient, path: string | undefined, plurals: Parameters<typeof definition>[0][] = []) => {
  const lines: string[] = [];
  const log = createLog({ level: 2, write: (line) => void lines.push(line), clock: systemClock });
  const discovered = discoverWorkloadTypes({
    client,
    apiExport: path === undefined ? undefined : { path, name: exportName },
    typesFromFiles: plurals.map((plural) => definition(plural)),
    clock: systemClock,
    random: () => 0,
    log,
    signal: new AbortController().signal,
  });
  return discovered.then((types) => ({ plurals: types.map(({ type }) => type.plural), types, lines }));
};

describe("discoverWorkloadTypes", () => {
  test("reads the namespaced types that an operator has added to the export, and not the cluster-scoped ones", async () => {
    const client = await aKcp();
    const { plurals, types, lines } = await discover(client, exportWorkspace, ["gadgets"]);
    expect(plurals).toEqual(["widgets", "gadgets"]);
    expect(types[0]?.custom?.definition.madeAt).toBeDefined();
    expect(lines).toEqual([]);
    expect((await discover(client, undefined, ["gadgets"])).plurals).toEqual(["gadgets"]);
  });

  test("returns the types from files and logs a warning if the export cannot be read", async () => {
    const client = await aKcp();
    const { plurals, lines } = await discover(client, "root", ["gadgets"]);
    expect(plurals).toEqual(["gadgets"]);
    expect(lines.join("")).toContain("cannot read the types of the export");
  });

  test("rejects a file that defines a cluster-scoped type", async () => {
    const client = await aKcp();
    const typesFromFiles = [definition("plants", "Cluster")];
    const options = { client, apiExport: undefined, typesFromFiles, clock: systemClock, random: () => 0 };
    const log = createLog({ level: 0, write: () => {}, clock: systemClock });
    await expect(discoverWorkloadTypes({ ...options, log, signal: new AbortController().signal })).rejects.toThrow(
      "--crd: plants.example.dev: only namespaced types can be workloads",
    );
  });
});
