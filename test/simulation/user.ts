import type { Collection, KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { credentialsSecretLabel } from "../../lib/api/names.ts";
import { placements, registrations } from "../lib/upstream/tenants.ts";
import type { DesiredPlacement, DesiredRegistration } from "./desired-objects.ts";
import { type WorkloadKind, workloadOf, workloadResources } from "./desired-workloads.ts";
import { clusterAnnotation, type SimulationEnvironment, serverOf } from "./environment.ts";
import type { Input, SecretContent } from "./scenario.ts";
import { tokensOf } from "./servers.ts";

/** The users of all tenants: each of their changes is retried until kcp accepts it, whatever state the controllers are in. */
export interface User {
  /** Records all inputs, then applies the final state of each object. */
  doAll(inputs: readonly Input[]): void;
  /** Has every placement of all tenants deleted and, if they are wanted again, made anew. */
  placeAnew(): void;
  /** Notes what they want now; the answer has them want that again, and nothing else. */
  save(): () => void;
  /** Applies everything that they want again. */
  applyAgain(): void;
  /** Takes all placements away and asks for equal ones. */
  placeEqual(count: number): void;
  /** Changes that kcp has not accepted yet, of tenants that it answers for, except deletions of workloads: these end when their clusters answer. */
  readonly open: number;
}

const secrets: Collection = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
const incarnationAnnotation = "simulation/incarnation";
const patienceMs = 2_000;

type Wanted = Readonly<{ object: KubeObject | undefined; incarnation: number }>;
type Place = Readonly<{ client: KubeClient; collection: Collection; name: string }>;

/** Makes the people of a world. */
export function createUser(world: SimulationEnvironment): User {
  const { servers, monitor, log } = world;
  const wanted = new Map<string, Wanted>();
  const open = new Set<string>();
  const setOut = new Map<string, () => void>();
  /** How each object that was ever desired is applied. */
  const ways = new Map<string, () => void>();
  /** The last desired state of each registration; it decides the form of the secret. */
  const desiredRegistrations = new Map<string, DesiredRegistration>();

  const idOf = (tenant: number, { type: { plural }, namespace = "" }: Collection, name: string): string =>
    `${tenant} ${plural} ${name} ${namespace}`;

  /** One try; answers whether it is as wanted now. */
  const attempt = async ({ client, collection, name }: Place, { object, incarnation }: Wanted): Promise<boolean> => {
    const address = { ...collection, name };
    const present = await client.get<KubeObject>(address).catch((error: unknown) => {
      if (faultOf(error) !== "not-found") throw error;
    });
    if (present === undefined) {
      if (object !== undefined) await client.create(collection, object);
      return true;
    }
    const { uid = "", deletionTimestamp, annotations = {} } = present.metadata;
    if (object === undefined || Number(annotations[incarnationAnnotation]) !== incarnation) {
      monitor.mayGo(uid);
      if (deletionTimestamp === undefined) await client.delete(address, { preconditions: { uid } });
      return object === undefined;
    }
    if (deletionTimestamp !== undefined) return false;
    const { labels, annotations: own } = object.metadata;
    const metadata = { ...present.metadata, labels: labels ?? {}, annotations: { ...annotations, ...own } };
    for (const key of Object.keys(metadata.annotations)) {
      if (key.startsWith("tmc.kcp.io/") && own?.[key] === undefined) delete metadata.annotations[key];
    }
    await client.update(address, { ...present, ...object, metadata });
    return true;
  };

  const pursue = async (tenant: number, collection: Collection, name: string): Promise<void> => {
    const id = idOf(tenant, collection, name);
    const client = servers.users[tenant];
    const desired = wanted.get(id);
    if (client === undefined || desired === undefined) return;
    let isDone = false;
    try {
      isDone = await attempt({ client, collection, name }, desired);
    } catch (error) {
      const fault = faultOf(error);
      if (fault !== "conflict" && fault !== "exists" && fault !== "not-found") {
        world.fail(`the user cannot have ${id}`, error);
        return;
      }
    }
    // A newer change of the same object may have come meanwhile; its own attempt applies it.
    if (wanted.get(id) !== desired) return;
    if (isDone) {
      open.delete(id);
      return;
    }
    servers.clock.after(patienceMs, () => void pursue(tenant, collection, name));
  };

  const want = (
    tenant: number,
    collection: Collection,
    name: string,
    make: ((incarnation: number) => KubeObject) | undefined,
    anew = false,
  ): void => {
    const id = idOf(tenant, collection, name);
    const before = wanted.get(id);
    // What was unwanted in between is another object, also where the first one has not gone yet.
    const isAnother = before !== undefined && (anew || before.object === undefined);
    const incarnation = (before?.incarnation ?? 0) + (isAnother ? 1 : 0);
    wanted.set(id, { object: make?.(incarnation), incarnation });
    open.add(id);
    const begin = (): void => void pursue(tenant, collection, name);
    ways.set(id, begin);
    setOut.set(id, begin);
  };
  const go = (): void => {
    for (const begin of setOut.values()) begin();
    setOut.clear();
  };

  const wantPlacement = (tenant: number, name: string, desired: DesiredPlacement | undefined, anew = false): void =>
    want(tenant, placements, name, desired && ((incarnation) => placementOf(name, desired, incarnation)), anew);
  const placed = () =>
    [...wanted].flatMap(([id, { object }]) => {
      const [tenant, plural, name = ""] = id.split(" ");
      return plural === placements.type.plural ? [{ tenant: Number(tenant), name, object }] : [];
    });

  const applyInput = (input: AppliedInput): void => {
    const { tenant, name } = input;
    log(`user ${JSON.stringify(input)}`);
    switch (input.kind) {
      case "register":
      case "register-anew": {
        const { desired } = input;
        const id = idOf(tenant, secrets, name);
        desiredRegistrations.set(id, desired);
        if (desired.credentialKind !== "operator" && !wanted.has(id)) {
          want(tenant, secrets, name, (incarnation) =>
            secretOf({ tenant, name, content: "one", desired }, incarnation),
          );
        }
        const anew = input.kind === "register-anew";
        want(tenant, registrations, name, (incarnation) => registrationOf(name, desired, incarnation), anew);
        return;
      }
      case "unregister":
        want(tenant, registrations, name, undefined);
        return;
      case "place":
        wantPlacement(tenant, name, input.desired);
        return;
      case "unplace":
        wantPlacement(tenant, name, undefined);
        return;
      case "secret": {
        const { content } = input;
        const desired = desiredRegistrations.get(idOf(tenant, secrets, name));
        const make = (incarnation: number): KubeObject => secretOf({ tenant, name, content, desired }, incarnation);
        want(tenant, secrets, name, content === "missing" ? undefined : make);
        return;
      }
      case "apply":
      case "apply-anew": {
        const object = workloadOf(name, input.desired);
        const collection = collectionOf(input.desired.body.kind, input.desired.namespace);
        const anew = input.kind === "apply-anew";
        want(tenant, collection, name, (incarnation) => withIncarnation(object, incarnation), anew);
        return;
      }
      case "remove":
        want(tenant, collectionOf(input.of, input.namespace), name, undefined);
    }
  };

  return {
    doAll: (inputs) => {
      for (const input of inputs) if (isApplied(input)) applyInput(input);
      go();
    },
    save: () => {
      const [saved, registered] = [new Map(wanted), new Map(desiredRegistrations)];
      return () => {
        wanted.clear();
        for (const [id, each] of saved) wanted.set(id, each);
        desiredRegistrations.clear();
        for (const [id, each] of registered) desiredRegistrations.set(id, each);
        open.clear();
      };
    },
    applyAgain: () => {
      for (const id of wanted.keys()) {
        open.add(id);
        setOut.set(id, ways.get(id) ?? (() => {}));
      }
      go();
    },
    placeAnew: () => {
      for (const { tenant, name, object } of placed()) {
        if (object === undefined) continue;
        want(tenant, placements, name, (incarnation) => withIncarnation(object, incarnation), true);
      }
      go();
    },
    placeEqual: (count) => {
      for (const { tenant, name } of placed()) wantPlacement(tenant, name, undefined);
      servers.tenants.forEach((_, tenant) => {
        for (let index = 0; index < count; index++) {
          wantPlacement(tenant, `equal-${index}`, { annotations: {}, spec: { strategy: "RoundRobin" } });
        }
      });
      go();
    },
    get open() {
      const judged = new Set(world.judged.map((tenant) => servers.tenants.indexOf(tenant)));
      return [...open].filter((id) => judged.has(Number.parseInt(id, 10)) && !/ (deployments|services) /.test(id))
        .length;
    },
  };
}

/** An input that a user applies to kcp. */
type AppliedInput = Exclude<Input, { kind: "cluster" | "hand" | "foreign" | "answer" }>;
const otherInputs: ReadonlySet<string> = new Set(["cluster", "hand", "foreign", "answer"]);

function isApplied(input: Input): input is AppliedInput {
  return !otherInputs.has(input.kind);
}

function collectionOf(kind: WorkloadKind, namespace: string): Collection {
  return { type: workloadResources[kind], namespace };
}

function withIncarnation(object: KubeObject, incarnation: number): KubeObject {
  const annotations = { ...object.metadata.annotations, [incarnationAnnotation]: String(incarnation) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function registrationOf(
  name: string,
  { cluster, credentialKind, labels, spec }: DesiredRegistration,
  incarnation: number,
): KubeObject {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: {
      name,
      labels: { ...labels },
      annotations: { [clusterAnnotation]: cluster, [incarnationAnnotation]: String(incarnation) },
    },
    spec: {
      ...spec,
      ...(credentialKind === "token" && { endpoint: { server: serverOf(cluster) } }),
      ...(credentialKind !== "operator" && { credentials: { secretRef: { namespace: "default", name } } }),
    },
  };
}

function placementOf(name: string, { annotations, spec }: DesiredPlacement, incarnation: number): KubeObject {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: { name, annotations: { ...annotations, [incarnationAnnotation]: String(incarnation) } },
    spec,
  };
}

type DesiredSecret = Readonly<{
  tenant: number;
  name: string;
  content: SecretContent;
  desired: DesiredRegistration | undefined;
}>;

/** A secret in the form that its registration asks for. */
function secretOf({ tenant, name, content, desired }: DesiredSecret, incarnation: number): KubeObject {
  const [one, two] = tokensOf(tenant);
  const token = content === "two" ? two : content === "wrong" ? "not-a-token" : one;
  const isKubeconfig = desired?.credentialKind === "kubeconfig";
  const withToken = { token, ...(desired !== undefined && { server: serverOf(desired.cluster) }) };
  const good = isKubeconfig ? { kubeconfig: kubeconfigOf(desired.cluster, token) } : withToken;
  const data = content === "garbage" ? { kubeconfig: "no: [kubeconfig" } : good;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      labels: { [credentialsSecretLabel]: name },
      annotations: { [incarnationAnnotation]: String(incarnation) },
    },
    data: Object.fromEntries(
      Object.entries(data).map(([field, text]) => [field, Buffer.from(text).toString("base64")]),
    ),
  };
}

function kubeconfigOf(cluster: string, token: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: cluster, cluster: { server: serverOf(cluster) } }],
    users: [{ name: "tmc", user: { token } }],
    contexts: [{ name: cluster, context: { cluster, user: "tmc" } }],
    "current-context": cluster,
  });
}
