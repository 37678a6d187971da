import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { Fault } from "@tmc/kube/fault.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allWorkloadTypes, type TypeDefinition } from "../../lib/api/workload-kinds.ts";
import { createDownstream } from "../../lib/downstream/client.ts";
import { createCopyWatches } from "../../lib/downstream/copy-watch.ts";
import type { ObjectKey, WorkloadAddress } from "../../lib/model/key.ts";
import { manifestOf } from "../../lib/sync/desired/manifest.ts";
import type { CopyAddress, Downstream } from "../../lib/sync/downstream.ts";
import { downstreamNamespace, type Locator } from "../../lib/sync/ownership/namespace-map.ts";
import { type Owner, ownershipMetadata } from "../../lib/sync/ownership/owner.ts";
import type { Manifest } from "../../lib/sync/sync-objects.ts";
import { definitionAnnotation, definitionHash, definitionManifest } from "../../lib/sync/targets/type-definition.ts";
import { configMaps, deployments, eventually, namespaces, secrets, unique } from "./resources.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

const signal = new AbortController().signal;
const unserved: ResourceType = { group: "example.org", version: "v1", plural: "databases" };

const typed = (group: string, plural: string): ResourceType => ({ group, version: "v1", plural });
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };

/** Objects of types that TMC does not sync: kind, type, and what is in them besides their name. */
const foreignObjects: readonly [kind: string, type: ResourceType, rest: object][] = [
  ["RoleBinding", typed("rbac.authorization.k8s.io", "rolebindings"), { roleRef, subjects: [] }],
  ["NetworkPolicy", typed("networking.k8s.io", "networkpolicies"), { spec: { podSelector: {} } }],
  ["ResourceQuota", typed("", "resourcequotas"), { spec: { hard: { pods: "10" } } }],
  ["Lease", typed("coordination.k8s.io", "leases"), { spec: { holderIdentity: "theirs" } }],
  [
    "PodDisruptionBudget",
    typed("policy", "poddisruptionbudgets"),
    { spec: { maxUnavailable: 1, selector: { matchLabels: { app: "theirs" } } } },
  ],
];

/** A tenant of a cluster: what it has there has names of its own. */
type Tenancy = Readonly<{
  client: KubeClient;
  downstream: Downstream;
  key: ObjectKey;
  locator: Locator;
  /** Its namespace on the cluster. */
  namespace: string;
  at: (type: ResourceType, name: string) => CopyAddress;
  origin: (kind: string, name: string) => Owner;
}>;

/** What sync relies on from the clusters, held against embedded and real ones alike, with and without watches on them. */
export function downstreamContract(title: string, start: () => Promise<ServerUnderTest>): void {
  describe(title, () => {
    let server: ServerUnderTest;
    beforeAll(async () => {
      server = await start();
    }, 120_000);
    afterAll(async () => {
      await server?.stop();
    }, 60_000);

    describe("without a watch", () => fleetCases(() => tenancy(server.admin, (key) => aFleet(server.admin, key))));
    describe("with a watch", () => {
      const watched = createCopyWatches({
        hubId: "hub",
        clientFor: async () => server.admin,
        types: allWorkloadTypes(),
        clock: systemClock,
        random: Math.random,
        relistSeconds: 600,
        onChanged: () => {},
        onFailure: () => {},
      });
      afterAll(() => watched.stop());
      fleetCases(() =>
        tenancy(server.admin, (key) => {
          watched.subscribe(key, [configMaps, deployments, secrets]);
          return aFleet(server.admin, key, watched);
        }),
      );
    });
  });
}

const aFleet = (client: KubeClient, _key: ObjectKey, copies?: ReturnType<typeof createCopyWatches>): Downstream =>
  createDownstream({
    clientFor: async () => client,
    copies,
    clock: systemClock,
    rate: { perSecond: 1_000, burst: 1_000 },
  });

function tenancy(client: KubeClient, open: (key: ObjectKey) => Downstream): Tenancy {
  const logicalCluster = unique("lc");
  const key: ObjectKey = { logicalCluster, kind: "ClusterRegistration", name: "east" };
  const locator: Locator = { hub: "hub", logicalCluster, namespace: "shop" };
  const namespace = downstreamNamespace(locator);
  return {
    client,
    downstream: open(key),
    key,
    locator,
    namespace,
    at: (type, name) => ({ registration: key, object: { type, namespace, name } }),
    origin: (kind, name) => ({
      ...locator,
      registration: "east",
      apiVersion: kind === "Deployment" ? "apps/v1" : "v1",
      kind,
      name,
    }),
  };
}

/** The fault that a call ends with, and its words. */
async function failureOf(call: Promise<unknown>): Promise<Readonly<{ fault: Fault | undefined; message: string }>> {
  try {
    await call;
  } catch (error) {
    return { fault: faultOf(error), message: error instanceof Error ? error.message : "" };
  }
  throw new Error("expected a failure");
}

const aMap = ({ origin, namespace }: Tenancy, name: string, data: Record<string, string> = { a: "1" }): Manifest =>
  manifestOf(
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data },
    { owner: origin("ConfigMap", name), namespace },
  );

const aDeployment = ({ origin, namespace }: Tenancy, name: string, spec: object = {}): Manifest =>
  manifestOf(
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "nginx" }] } },
        ...spec,
      },
    },
    { owner: origin("Deployment", name), namespace },
  );

const definitions: ResourceType = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

/** A type that a cluster can be given, in a group of its own. */
function aType(name: string, properties: object = {}, version = "v1") {
  const group = `${name}.example.org`;
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } };
  const spec = {
    group,
    scope: "Namespaced",
    names: { plural: "databases", singular: "database", kind: "Database", listKind: "DatabaseList" },
    versions: [{ name: version, served: true, storage: true, schema }],
  };
  const fingerprint = definitionHash(spec);
  const definition: TypeDefinition = { name: `databases.${group}`, version, kind: "Database", spec, fingerprint };
  return { type: { group, version, plural: "databases" }, definition, hub: "hub" };
}

/** A copy that is there. */
async function aCopy(tenant: Tenancy, name = "settings"): Promise<KubeObject> {
  await tenant.downstream.ensureNamespace(tenant.key, tenant.locator, signal);
  return tenant.downstream.apply(tenant.at(configMaps, name), aMap(tenant, name), signal);
}

/** Something of that name that somebody else has made. */
async function aStranger({ client, namespace }: Tenancy, name: string, metadata: object = {}): Promise<KubeObject> {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data: { theirs: "yes" } };
  return client.create({ type: configMaps, namespace }, object);
}

const dataOf = (object: KubeObject | undefined): unknown => object?.data;

function fleetCases(makeTenant: () => Tenancy): void {
  const getOf = ({ client }: Tenancy, at: WorkloadAddress): Promise<KubeObject> => client.get<KubeObject>(at);

  it("writes a copy and reads it back", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, at, origin } = tenant;
    const web = at(deployments, "web");
    await downstream.ensureNamespace(key, locator, signal);
    expect(await downstream.readCopy(web, origin("Deployment", "web"), signal)).toEqual({ kind: "absent" });
    expect(await downstream.readObject(web, signal)).toBeUndefined();
    const { metadata } = await downstream.apply(web, aDeployment(tenant, "web"), signal);
    const state = await downstream.readCopy(web, origin("Deployment", "web"), signal);
    expect(state).toMatchObject({
      kind: "there",
      copy: { uid: metadata.uid, generation: 1, isDeleting: false },
    });
    expect(await downstream.readCopyUncached(web, origin("Deployment", "web"), signal)).toMatchObject({
      kind: "there",
      copy: { uid: metadata.uid },
    });
    expect((await downstream.readObject(web, signal))?.metadata.uid).toBe(metadata.uid);
    const changed = await downstream.apply(web, aDeployment(tenant, "web", { replicas: 2 }), signal);
    expect(changed.metadata).toMatchObject({ uid: metadata.uid, generation: 2 });
  });

  it("reads the metadata of a Secret without its data", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, at, origin, namespace } = tenant;
    const place = at(secrets, "keys");
    await downstream.ensureNamespace(key, locator, signal);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, data: { a: "MQ==" } };
    const { metadata } = await downstream.apply(
      place,
      manifestOf(secret, { owner: origin("Secret", "keys"), namespace }),
      signal,
    );
    const copy = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
    expect(await downstream.readCopy(place, origin("Secret", "keys"), signal)).toMatchObject({ kind: "there", copy });
  });

  it("changes nothing when it applies the same manifest again", async () => {
    const tenant = makeTenant();
    const first = await aCopy(tenant);
    expect((await aCopy(tenant)).metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  it("distinguishes a foreign object from a copy, and names its owner", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, at, origin } = tenant;
    await downstream.ensureNamespace(key, locator, signal);
    const ours = origin("ConfigMap", "a");
    await aStranger(tenant, "a");
    await aStranger(tenant, "b", ownershipMetadata({ ...ours, name: "b", registration: "west" }));
    expect(await downstream.readCopy(at(configMaps, "a"), ours, signal)).toMatchObject({
      kind: "foreign",
      message: "it was not created by TMC",
    });
    expect(await downstream.readCopy(at(configMaps, "b"), { ...ours, name: "b" }, signal)).toMatchObject({
      kind: "foreign",
      message: "it belongs to registration west",
    });
  });

  it("adopts a foreign object that was read before, if requested", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, at, origin } = tenant;
    await downstream.ensureNamespace(key, locator, signal);
    const { metadata } = await aStranger(tenant, "a");
    await downstream.readCopy(at(configMaps, "a"), origin("ConfigMap", "a"), signal);
    const adopted = await downstream.apply(at(configMaps, "a"), aMap(tenant, "a"), signal);
    expect(adopted.metadata.uid).toBe(metadata.uid);
    expect(dataOf(adopted)).toEqual({ a: "1", theirs: "yes" });
    expect(await downstream.readCopy(at(configMaps, "a"), origin("ConfigMap", "a"), signal)).toMatchObject({
      kind: "there",
    });
  });

  it.each([
    ["was created after the read", { acceptCachedAbsence: false }],
    ["came where nothing was presumed to be", { acceptCachedAbsence: true }],
    ["was never read", undefined],
  ])("leaves a foreign object that %s unchanged", async (_, readOptions) => {
    const tenant = makeTenant();
    const { downstream, key, locator, at, origin } = tenant;
    const place = at(configMaps, "a");
    await downstream.ensureNamespace(key, locator, signal);
    if (readOptions !== undefined) {
      expect(await downstream.readCopy(place, origin("ConfigMap", "a"), signal, readOptions)).toMatchObject({
        kind: "absent",
      });
    }
    const stranger = await aStranger(tenant, "a");
    expect(await failureOf(downstream.apply(place, aMap(tenant, "a"), signal))).toMatchObject({ fault: "conflict" });
    expect((await getOf(tenant, place.object)).metadata.resourceVersion).toBe(stranger.metadata.resourceVersion);
    // The next read names the owner.
    expect(await downstream.readCopy(place, origin("ConfigMap", "a"), signal)).toMatchObject({ kind: "foreign" });
  });

  it("does not overwrite a foreign object that has taken a copy's name", async () => {
    const tenant = makeTenant();
    const { downstream, at, client } = tenant;
    await aCopy(tenant, "a");
    await client.delete(at(configMaps, "a").object);
    await aStranger(tenant, "a");
    expect(await failureOf(downstream.apply(at(configMaps, "a"), aMap(tenant, "a"), signal))).toMatchObject({
      fault: "conflict",
    });
    expect(dataOf(await getOf(tenant, at(configMaps, "a").object))).toEqual({ theirs: "yes" });
  });

  it.each([
    ["a field that it does not know", { nonsense: 1 }, ".spec.nonsense: field not declared in schema"],
    ["a value of another type", { replicas: "many" }, "replicas"],
    ["what breaks its rules", { selector: { matchLabels: { app: "other" } } }, "`selector` does not match template"],
  ])("says in the cluster's words that it refuses %s", async (_, spec, words) => {
    const tenant = makeTenant();
    const { downstream, key, locator, at } = tenant;
    await downstream.ensureNamespace(key, locator, signal);
    const { fault, message } = await failureOf(
      downstream.apply(at(deployments, "web"), aDeployment(tenant, "web", spec), signal),
    );
    expect(fault).toBe("invalid");
    expect(message).toContain(words);
  });

  it("reads no copy of a type that is not served, and reports the type on a write", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, at, origin, namespace } = tenant;
    const place = at(unserved, "main");
    await downstream.ensureNamespace(key, locator, signal);
    const ours = { ...origin("Database", "main"), apiVersion: "example.org/v1" };
    expect(await downstream.readCopy(place, ours, signal)).toEqual({ kind: "absent" });
    expect(await downstream.readObject(place, signal)).toBeUndefined();
    await downstream.remove(place, "any", signal);
    const database = { apiVersion: "example.org/v1", kind: "Database", metadata: { name: "main" } };
    const manifest = manifestOf(database, { owner: ours, namespace });
    expect(await failureOf(downstream.apply(place, manifest, signal))).toMatchObject({ fault: "not-found" });
  });

  it("installs a CRD, waits until it is served, and updates it", async () => {
    const { downstream, key, client } = makeTenant();
    const wanted = aType(unique("type"));
    expect(await downstream.serves(key, wanted.type, signal)).toBe(false);
    const states = await Promise.all([1, 2, 3].map(() => downstream.ensureType(key, wanted, signal)));
    expect(states.map(({ kind }) => kind)).toEqual(["installing", "installing", "installing"]);
    const untilServed = (again: typeof wanted): Promise<void> =>
      eventually(async () => {
        const state = await downstream.ensureType(key, again, signal);
        return state.kind === "served" ? undefined : JSON.stringify(state);
      });
    await untilServed(wanted);
    const address = { type: definitions, name: wanted.definition.name };
    const { metadata } = await client.get<KubeObject>(address);
    expect(metadata.annotations?.[definitionAnnotation]).toContain(wanted.definition.fingerprint);

    const other = aType(wanted.type.group.split(".", 1)[0] ?? "", { size: { type: "string" } });
    await untilServed(other);
    expect(JSON.stringify((await client.get<KubeObject>(address)).spec)).toContain('"size"');
    await client.delete(address);
  });

  it("leaves a foreign CRD unchanged, whether it fits or not", async () => {
    const { downstream, key, client } = makeTenant();
    const wanted = aType(unique("type"));
    const { annotations: _, ...metadata } = definitionManifest(wanted.definition, "").metadata;
    await client.create({ type: definitions }, { ...definitionManifest(wanted.definition, ""), metadata });
    await eventually(async () => {
      const state = await downstream.ensureType(key, wanted, signal);
      return state.kind === "served" ? undefined : JSON.stringify(state);
    });
    const later = aType(wanted.type.group.split(".", 1)[0] ?? "", {}, "v2");
    expect(await downstream.ensureType(key, later, signal)).toMatchObject({ kind: "rejected" });
    const address = { type: definitions, name: wanted.definition.name };
    expect((await client.get<KubeObject>(address)).metadata.annotations?.[definitionAnnotation]).toBeUndefined();
    await client.delete(address);
  });

  it("creates a namespace once for concurrent callers", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, client, namespace } = tenant;
    await Promise.all([1, 2, 3].map(() => downstream.ensureNamespace(key, locator, signal)));
    const { metadata } = await client.get<KubeObject>({ type: namespaces, name: namespace });
    expect(metadata.labels?.["tmc.kcp.io/synced"]).toBeDefined();
    await downstream.ensureNamespace(key, locator, signal);
    expect((await client.get<KubeObject>({ type: namespaces, name: namespace })).metadata.uid).toBe(metadata.uid);
  });

  it("rejects a namespace that TMC does not own", async () => {
    const { downstream, key, locator, client, namespace } = makeTenant();
    await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const { fault, message } = await failureOf(downstream.ensureNamespace(key, locator, signal));
    expect(fault).toBe("invalid");
    expect(message).toBe(`cluster east: namespace "${namespace}": belongs to an unknown owner, not to "shop"`);
    expect(await downstream.removeNamespace(key, locator, signal)).toBe(false);
  });

  it("creates a namespace again after it was deleted", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, client, namespace, at } = tenant;
    await aCopy(tenant);
    // What cannot go yet keeps the namespace in its last state for as long as the test likes.
    await aStranger(tenant, "held", { finalizers: ["example.org/hold"] });
    await client.delete({ type: namespaces, name: namespace });
    const ensure = () => downstream.ensureNamespace(key, locator, signal);
    const other = at(configMaps, "other");
    await eventually(async () => {
      const { fault } = await failureOf(downstream.apply(other, aMap(tenant, "other"), signal));
      return fault === "unreachable" ? undefined : `going: ${fault}`;
    });
    expect(await failureOf(ensure())).toMatchObject({ fault: "unreachable" });
    expect(await downstream.removeNamespace(key, locator, signal)).toBe(true);
    const letGo = { metadata: { finalizers: null } };
    await client.patch({ type: configMaps, namespace, name: "held" }, { type: "merge", body: letGo });
    await eventually(() =>
      ensure().then(
        () => undefined,
        (error: unknown) => String(error),
      ),
    );
    expect((await aCopy(tenant, "other")).metadata.name).toBe("other");
  });

  it("deletes a copy by its uid, and nothing else", async () => {
    const tenant = makeTenant();
    const { downstream, at, origin } = tenant;
    const { metadata } = await aCopy(tenant, "a");
    const place = at(configMaps, "a");
    await downstream.remove(place, "another", signal);
    expect((await getOf(tenant, place.object)).metadata.uid).toBe(metadata.uid);
    await downstream.remove(place, metadata.uid ?? "", signal);
    // The cluster may first remove what depends on it.
    await eventually(async () => {
      const { kind } = await downstream.readCopy(place, origin("ConfigMap", "a"), signal);
      return kind === "absent" ? undefined : kind;
    });
    await downstream.remove(place, metadata.uid ?? "", signal);
  });

  it("does not delete an object without the owner annotation", async () => {
    const tenant = makeTenant();
    const { downstream, at, client } = tenant;
    const { metadata } = await aCopy(tenant, "a");
    const { object: place } = at(configMaps, "a");
    const unmark = { metadata: { annotations: { "tmc.kcp.io/owner": null } } };
    await client.patch(place, { type: "merge", body: unmark });
    await downstream.remove(at(configMaps, "a"), metadata.uid ?? "", signal);
    expect((await getOf(tenant, place)).metadata.deletionTimestamp).toBeUndefined();
  });

  it("reports a terminating copy as deleted", async () => {
    const tenant = makeTenant();
    const { downstream, at, client, origin } = tenant;
    const { metadata } = await aCopy(tenant, "a");
    const place = at(configMaps, "a");
    await client.patch(place.object, { type: "merge", body: { metadata: { finalizers: ["example.org/hold"] } } });
    await downstream.remove(place, metadata.uid ?? "", signal);
    await downstream.remove(place, metadata.uid ?? "", signal);
    const going = { kind: "there", copy: { uid: metadata.uid, isDeleting: true } };
    expect(await downstream.readCopy(place, origin("ConfigMap", "a"), signal)).toMatchObject(going);
    await client.patch(place.object, { type: "merge", body: { metadata: { finalizers: null } } });
    await eventually(async () => {
      const { kind } = await downstream.readCopy(place, origin("ConfigMap", "a"), signal);
      return kind === "absent" ? undefined : kind;
    });
  });

  it("orphans a copy by removing its labels and annotations", async () => {
    const tenant = makeTenant();
    const { downstream, at, origin } = tenant;
    const { metadata } = await aCopy(tenant, "a");
    const place = at(configMaps, "a");
    await downstream.release(place, "another", signal);
    expect(await downstream.readCopy(place, origin("ConfigMap", "a"), signal)).toMatchObject({ kind: "there" });
    await downstream.release(place, metadata.uid ?? "", signal);
    const released = await getOf(tenant, place.object);
    expect(released.metadata.uid).toBe(metadata.uid);
    expect(released.metadata.labels?.["tmc.kcp.io/synced"]).toBeUndefined();
    expect(released.metadata.annotations?.["tmc.kcp.io/owner"]).toBeUndefined();
    expect(dataOf(released)).toEqual({ a: "1" });
    expect(await downstream.readCopy(place, origin("ConfigMap", "a"), signal)).toMatchObject({ kind: "foreign" });
    await downstream.remove(place, metadata.uid ?? "", signal);
    expect((await getOf(tenant, place.object)).metadata.uid).toBe(metadata.uid);
  });

  it.each(foreignObjects)(
    "keeps a namespace that has a foreign %s, and deletes it afterwards",
    async (kind, type, rest) => {
      const tenant = makeTenant();
      const { downstream, key, locator, client, namespace, at } = tenant;
      const { metadata } = await aCopy(tenant, "a");
      const apiVersion = type.group === "" ? type.version : `${type.group}/${type.version}`;
      await client.create({ type, namespace }, { apiVersion, kind, metadata: { name: "theirs" }, ...rest });
      await downstream.remove(at(configMaps, "a"), metadata.uid ?? "", signal);
      expect(await downstream.removeNamespace(key, locator, signal)).toBe(false);
      expect(
        (await client.get<KubeObject>({ type, namespace, name: "theirs" })).metadata.deletionTimestamp,
      ).toBeUndefined();
      await client.delete({ type, namespace, name: "theirs" });
      await eventually(async () =>
        (await downstream.removeNamespace(key, locator, signal)) ? undefined : "not empty yet",
      );
    },
  );

  it("keeps a namespace that has a foreign custom resource, and deletes it afterwards", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, client, namespace, at } = tenant;
    const { type, definition, hub } = aType(unique("foreign"));
    await eventually(async () => {
      const state = await downstream.ensureType(key, { type, definition, hub }, signal);
      return state.kind === "served" ? undefined : JSON.stringify(state);
    });
    const { metadata } = await aCopy(tenant, "a");
    const apiVersion = `${type.group}/${type.version}`;
    const theirs = { apiVersion, kind: definition.kind, metadata: { name: "theirs" } };
    await client.create({ type, namespace }, theirs);
    await downstream.remove(at(configMaps, "a"), metadata.uid ?? "", signal);
    expect(await downstream.removeNamespace(key, locator, signal)).toBe(false);
    expect((await client.get<KubeObject>({ type, namespace, name: "theirs" })).metadata.name).toBe("theirs");
    await client.delete({ type, namespace, name: "theirs" });
    await eventually(async () =>
      (await downstream.removeNamespace(key, locator, signal)) ? undefined : "not empty yet",
    );
    await client.delete({ type: definitions, name: definition.name });
  });

  it("deletes a namespace that has only default objects", async () => {
    const tenant = makeTenant();
    const { downstream, key, locator, client, namespace, at } = tenant;
    const remove = () => downstream.removeNamespace(key, locator, signal);
    expect(await remove()).toBe(true);
    const { metadata } = await aCopy(tenant, "a");
    // The server's own map and account come a moment later.
    await eventually(async () => {
      const { items } = await client.list({ type: configMaps, namespace });
      return items.some((each) => each.metadata.name === "kube-root-ca.crt") ? undefined : "no kube-root-ca.crt";
    });
    expect(await remove()).toBe(false);
    await aStranger(tenant, "theirs");
    await downstream.remove(at(configMaps, "a"), metadata.uid ?? "", signal);
    expect(await remove()).toBe(false);
    await client.delete({ type: configMaps, namespace, name: "theirs" });
    await eventually(async () => ((await remove()) ? undefined : "not empty yet"));
    await eventually(async () => {
      const gone = await client.get({ type: namespaces, name: namespace }).catch(faultOf);
      return gone === "not-found" ? undefined : "still there";
    });
    expect((await aCopy(tenant, "a")).metadata.uid).not.toBe(metadata.uid);
  });
}
