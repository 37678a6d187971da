import type { Collection, KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { credentialsSecretLabel } from "../../lib/api/condition.ts";
import { upsyncOriginAnnotation } from "../../lib/sync/ownership/upsync-origin.ts";
import { placements, registrations } from "../lib/upstream/tenants.ts";
import type { DesiredPlacement, DesiredRegistration } from "./desired-objects.ts";
import { isPlacedKind, type WorkloadKind, workloadOf, workloadResources } from "./desired-workloads.ts";
import { clusterAnnotation, type SimulationEnvironment, serverOf } from "./environment.ts";
import type { Input, SecretContent } from "./scenario.ts";
import { featureNamespaces, tokensOf } from "./servers.ts";

/** The users of all tenants: each of their changes is retried until kcp accepts it, whatever state the controllers are in. */
export interface User {
  /** Records all inputs, then applies the final state of each object. */
  doAll(inputs: readonly Input[]): void;
  /** Creates again what kcp has deleted with the binding of a tenant. */
  reapply(tenant: number): void;
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
const namespaces: Collection = { type: { group: "", version: "v1", plural: "namespaces" } };
const isFeatureNamespace = (name: string | undefined): boolean => featureNamespaces.some((each) => each === name);
const incarnationAnnotation = "simulation/incarnation";
const patienceMs = 2_000;
/** Inputs that are not of users. */
const otherKinds = ["cluster", "hand", "original", "bind", "unbind", "foreign", "answer"] as const;
type UserInput = Exclude<Input, { kind: (typeof otherKinds)[number] }>;
const isUserInput = (input: Input): input is UserInput => !otherKinds.some((kind) => kind === input.kind);

/** Types whose deletion ends when clusters answer. */
const endsWithClusters: ReadonlySet<string> = new Set([
  "namespaces",
  ...Object.keys(workloadResources).flatMap((kind) => (isPlacedKind(kind) ? [workloadResources[kind].plural] : [])),
]);

type Wanted = Readonly<{ object: KubeObject | undefined; incarnation: number; collection: Collection; name: string }>;
type Place = Readonly<{ client: KubeClient; collection: Collection; name: string }>;

/** Makes the people of a world. */
export function createUser(world: SimulationEnvironment): User {
  const { servers, monitor, log } = world;
  const wanted = new Map<string, Wanted>();
  const open = new Set<string>();
  const setOut = new Map<string, () => void>();
  /** The last desired state of each registration; it decides the form of the secret. */
  const desiredRegistrations = new Map<string, DesiredRegistration>();
  /** What each registration mirrors. */
  const upsyncs = new Map<string, DesiredRegistration["spec"]["upsync"]>();

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
    const isMirror = present.metadata.annotations?.[upsyncOriginAnnotation] !== undefined;
    // Nothing of the user's is there.
    if (isMirror && object === undefined) return true;
    const { uid = "", deletionTimestamp, annotations = {} } = present.metadata;
    const isAnother = !isMirror && Number(annotations[incarnationAnnotation]) !== incarnation;
    if (object === undefined || isAnother) {
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
      // What is created in a namespace that still has to be deleted would go with it.
      if (isFeatureNamespace(collection.namespace) && open.has(idOf(tenant, namespaces, collection.namespace ?? ""))) {
        throw new ControllerError("conflict", "the namespace is not what it should be yet");
      }
      isDone = await attempt({ client, collection, name }, desired);
    } catch (error) {
      const fault = faultOf(error);
      // In a namespace that is being deleted nothing can be created.
      const isTooEarly = fault === "forbidden" && isFeatureNamespace(collection.namespace);
      if (fault !== "conflict" && fault !== "exists" && fault !== "not-found" && !isTooEarly) {
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
    wanted.set(id, { object: make?.(incarnation), incarnation, collection, name });
    open.add(id);
    setOut.set(id, () => void pursue(tenant, collection, name));
  };
  /** Has what is wanted of an object applied once more. */
  const again = (id: string, { collection, name }: Wanted): void => {
    open.add(id);
    setOut.set(id, () => void pursue(Number.parseInt(id, 10), collection, name));
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

  const wantRegistration = (tenant: number, name: string, desired: DesiredRegistration, anew = false): void => {
    const upsync = upsyncs.get(idOf(tenant, registrations, name));
    const spec = { ...desired.spec, ...(upsync !== undefined && { upsync }) };
    want(tenant, registrations, name, (incarnation) => registrationOf(name, { ...desired, spec }, incarnation), anew);
  };
  /** With a namespace goes everything in it. */
  const forgetContent = (tenant: number, namespace: string): void => {
    for (const [id, each] of wanted) {
      if (!id.startsWith(`${tenant} `) || each.object?.metadata.namespace !== namespace) continue;
      wanted.set(id, { ...each, object: undefined });
      open.delete(id);
      setOut.delete(id);
    }
  };

  const applyInput = (input: UserInput): void => {
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
        wantRegistration(tenant, name, desired, input.kind === "register-anew");
        return;
      }
      case "upsync": {
        const id = idOf(tenant, registrations, name);
        upsyncs.set(id, input.upsync);
        const desired = desiredRegistrations.get(idOf(tenant, secrets, name));
        if (desired !== undefined && wanted.get(id)?.object !== undefined) wantRegistration(tenant, name, desired);
        return;
      }
      case "namespace": {
        const { labels } = input;
        if (labels === undefined) forgetContent(tenant, name);
        const object = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { ...labels } } };
        want(tenant, namespaces, name, labels && ((incarnation) => withIncarnation(object, incarnation)));
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
      for (const input of inputs) if (isUserInput(input)) applyInput(input);
      go();
    },
    reapply: (tenant) => {
      for (const [id, each] of wanted) {
        if (id.startsWith(`${tenant} `) && each.object !== undefined) again(id, each);
      }
      go();
    },
    save: () => {
      const [saved, registered, mirrored] = [new Map(wanted), new Map(desiredRegistrations), new Map(upsyncs)];
      return () => {
        wanted.clear();
        for (const [id, each] of saved) wanted.set(id, each);
        desiredRegistrations.clear();
        for (const [id, each] of registered) desiredRegistrations.set(id, each);
        upsyncs.clear();
        for (const [id, each] of mirrored) upsyncs.set(id, each);
        open.clear();
      };
    },
    applyAgain: () => {
      for (const [id, each] of wanted) {
        again(id, each);
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
      return [...open].filter((id) => {
        const [tenant = "", plural = "", , namespace = ""] = id.split(" ");
        // The content of a namespace waits until the namespace is as wanted.
        const waits = open.has(idOf(Number(tenant), namespaces, namespace));
        return judged.has(Number(tenant)) && !endsWithClusters.has(plural) && !waits;
      }).length;
    },
  };
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
