import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, describe, expect, it } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type Connections, createConnections } from "../../../lib/credentials/connections.ts";
import type { CredentialSource } from "../../../lib/credentials/credentials.ts";
import { asOutcome } from "../../../lib/credentials/credentials.ts";
import { createRegistrationWorld } from "../../../lib/engine/registration-world.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import type { ObjectKey, WorkKey } from "../../../lib/model/key.ts";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { decide } from "../../../lib/registration/decide.ts";
import type { Look } from "../../../lib/registration/probe-outcome.ts";
import type { Change } from "../../../lib/registration/reconcile.ts";
import { defaultRegistrationSettings } from "../../../lib/registration/settings.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { faultsOf } from "../api/validate.ts";
import { aRegistration } from "../registration/registrations.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const born: WorkKey = { logicalCluster: "abc", kind: "Workload", name: "deployments.v1.apps/shop/web" };
const signal = new AbortController().signal;
const running: EmbeddedCluster[] = [];
afterEach(async () => {
  for (const cluster of running.splice(0)) await cluster.stop();
});

const placement = (name: string, selectedClusters: readonly string[]): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name },
  spec: {},
  status: { selectedClusters },
});

const placements: readonly KubeObject[] = [placement("api", ["east", "west"]), placement("web", ["west"])];

async function aSystem(tokens: readonly string[] = ["right"], right = "right", given?: Connections) {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false, adminToken: right });
  running.push(cluster);
  const clock = createManualClock();
  const sent: WorkItem[] = [];
  const changes: Change[] = [];
  let opened = 0;
  let closed = 0;
  let forgotten = 0;
  /** Gives the next token each time it is made to forget the one before. */
  const credentials: CredentialSource = {
    find: () => {
      const token = tokens[Math.min(forgotten, tokens.length - 1)] ?? "";
      return asOutcome(
        { server: "https://embedded.invalid", token: async () => token },
        { givenBy: "tenant", nowMs: clock.now() },
      );
    },
    forget: () => {
      forgotten += 1;
    },
  };
  const hub: Hub = {
    read: async () => undefined,
    confirm: async () => undefined,
    // The placements of another logical cluster are none of ours.
    list: async <T extends KubeObject>(_: string, logicalCluster: string) =>
      // Whoever asks for placements gets placements: the kind is named beside the type.
      (logicalCluster === "abc" ? placements : []).map((each) => each as T),
    writeStatus: async (_, seen) => seen,
    writeFinalizers: async (_, seen) => seen,
    readSecret: async () => undefined,
  };
  const world = createRegistrationWorld({
    hub,
    queue: { send: async (items) => void sent.push(...items), sendLater: async () => {} },
    connections:
      given ??
      createConnections({
        openTransport: () => {
          opened += 1;
          const transport = cluster.transport("");
          return {
            send: (request) => transport.send(request),
            close: async () => {
              closed += 1;
            },
          };
        },
        clock,
      }),
    credentials,
    clock,
    fingerprint: () => "",
    mayConcern: (_, change) => {
      changes.push(change);
      return true;
    },
    // A workload that has a copy there, and was born there.
    workloadsOn: async () => [born],
    alsoConcerned: async (concerned) => [concerned, born],
  });
  const look = (detect = false, fresh = false): Promise<Look> =>
    world.look(key, aRegistration(), { detect, fresh, timeoutMs: 5_000 }, signal);
  return { world, look, sent, changes, cluster, count: () => ({ opened, closed, forgotten }) };
}

describe("a look", () => {
  it("uses one connection again and again", async () => {
    const { look, count } = await aSystem();
    for (let each = 0; each < 3; each++) expect((await look()).kind).toBe("healthy");
    expect(count()).toEqual({ opened: 1, closed: 0, forgotten: 0 });
  });

  it("finds nothing that the schema has no room for", async () => {
    const { look } = await aSystem();
    const registration = aRegistration();
    const { status } = decide({
      registration,
      look: await look(true),
      nowMs: 0,
      settings: defaultRegistrationSettings,
    });
    expect(status?.apis?.length).toBeGreaterThan(10);
    expect(faultsOf(clusterRegistration, { ...registration, status })).toEqual([]);
  });

  it("takes fresh credentials once when the cluster refuses those it had", async () => {
    const { look, count } = await aSystem(["old", "right"]);
    expect((await look()).kind).toBe("healthy");
    expect(count()).toEqual({ opened: 2, closed: 1, forgotten: 1 });
  });

  it("reads credentials anew when somebody asks for the look", async () => {
    const { look, count } = await aSystem(["right"]);
    await look(false, true);
    expect(count()).toMatchObject({ forgotten: 1 });
  });

  it("says that they are refused when the fresh ones are the same", async () => {
    const { look, count } = await aSystem(["wrong"]);
    expect(await look()).toMatchObject({ kind: "failed", reason: "CredentialsRejected" });
    expect(count().opened).toBe(1);
  });

  it("says that they are refused when the fresh ones are refused too, and asks no third time", async () => {
    const { look, count } = await aSystem(["wrong", "wrong too", "right"]);
    expect(await look()).toMatchObject({ kind: "failed", reason: "CredentialsRejected" });
    expect(count().opened).toBe(2);
  });
});

describe("what a cluster says", () => {
  it("never carries our credentials into a message, whatever it echoes", async () => {
    const token = "s3cr3t-t0k3n";
    const bodies = [`[-]${token} failed: x`, `Bearer ${token}`, `{"kind":"Status","message":"${token}"}`];
    let [status, body] = [0, ""];
    const connections = createConnections({
      openTransport: () => ({
        send: async () => ({
          status,
          headers: { "content-type": "text/plain" },
          text: async () => body,
          chunks: async function* () {
            yield body;
          },
          cancel: () => {},
        }),
        close: async () => {},
      }),
    });
    const { look } = await aSystem([token], "right", connections);
    for (status of [401, 403, 404, 429, 500, 503, 302]) {
      for (body of bodies) {
        const said = await look(true);
        expect(said.kind).toBe("failed");
        expect(JSON.stringify(said)).not.toContain(token);
      }
    }
  });
});

describe("the world", () => {
  it("ends a cluster's connections when its registration goes", async () => {
    const { world, look, count } = await aSystem();
    await look();
    await world.forget(key);
    expect(count()).toMatchObject({ closed: 1 });
    expect(world.memory(key)).toEqual({});
  });

  it("finds the users of a cluster among the placements of its own logical cluster", async () => {
    const { world } = await aSystem();
    const api = { logicalCluster: "abc", kind: "WorkloadPlacement", name: "api" };
    expect(await world.users(key, signal)).toEqual([api, born]);
    expect(await world.users({ ...key, logicalCluster: "other" }, signal)).toEqual([born]);
  });

  it("asks of every placement whether it is concerned, by name when the registration has gone", async () => {
    const { world, changes } = await aSystem();
    expect((await world.concerned(key, {}, signal)).map(({ name }) => name)).toEqual(["api", "web", born.name]);
    expect(changes[0]?.before?.metadata.name).toBe("east");
  });

  it("finds each of those once that it concerns for more than one reason", async () => {
    const { world } = await aSystem();
    const names = (await world.concerned(key, { after: aRegistration() }, signal)).map(({ name }) => name);
    expect(names).toEqual(["api", "web", born.name, "east"]);
  });

  it("wakes with a fan-out", async () => {
    const { world, sent } = await aSystem();
    await world.wake([{ logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" }]);
    expect(sent).toEqual([
      { key: { logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" }, reason: "fan-out" },
    ]);
  });
});
