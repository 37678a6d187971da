import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { aRegistration, registrations } from "../contract/provider.ts";
import {
  configMaps,
  deployments,
  events,
  namespaces,
  secrets,
  serviceAccounts,
  unique,
} from "../contract/resources.ts";

/** Something that somebody tries, through a client at the server's root; answers the status. */
export type Attempt = (client: KubeClient) => Promise<number>;
export type Attempts = Readonly<Record<string, Attempt>>;

const ours = (plural: string): ResourceType => ({ group: "tmc.kcp.io", version: "v1alpha1", plural });

/** Whatever TMC has to do with, and whether it is in a namespace. */
const types: readonly (readonly [type: ResourceType, namespace?: string])[] = [
  [registrations],
  [ours("workloadplacements")],
  [ours("workloadsyncs"), "default"],
  [deployments, "default"],
  [secrets, "default"],
  [configMaps, "default"],
  [serviceAccounts, "default"],
  [events, "default"],
  [namespaces],
];

/** The status that a call is answered with; 200 for one that succeeds. */
async function statusOf(call: Promise<unknown>): Promise<number> {
  try {
    const answer = await call;
    const isRaw = typeof answer === "object" && answer !== null && "status" in answer && "text" in answer;
    return isRaw ? Number(answer.status) : 200;
  } catch (error) {
    if (error instanceof ApiError && error.status !== undefined) return error.status;
    throw error;
  }
}

/** Every read below the path of a workspace: discovery, a list of each kind, one object, a watch. */
export function readAttempts(path: string, known: string): Attempts {
  const readAs =
    (make: (at: KubeClient) => Promise<unknown>): Attempt =>
    (client) =>
      statusOf(make(client.at(path)));
  return {
    ...Object.fromEntries(
      types.map(([type]) => [`list ${type.plural} at ${path}`, readAs((at) => at.list({ type }, { limit: 1 }))]),
    ),
    [`ask what is served at ${path}`]: readAs((at) => at.raw("GET", "/apis")),
    [`read ${known} at ${path}`]: readAs((at) => at.get({ type: registrations, name: known })),
    [`watch registrations at ${path}`]: readAs(async (at) => {
      for await (const _ of at.watch({ type: registrations }, { timeoutSeconds: 1 })) return;
    }),
  };
}

/** Every way to do something to an object, of every kind, below a path that holds a workspace. */
export function writeAttempts(path: string, known: string): Attempts {
  const attempts: Record<string, Attempt> = {};
  for (const [type, namespace] of types) {
    const collection = { type, namespace };
    for (const name of [known, "nobody"]) {
      const address = { ...collection, name };
      const object = { ...aRegistration(name), metadata: { name, resourceVersion: "1" } };
      const body = { metadata: { labels: { a: "b" } } };
      const calls: Record<string, (at: KubeClient) => Promise<unknown>> = {
        read: (at) => at.get(address),
        update: (at) => at.update(address, object),
        patch: (at) => at.patch(address, { type: "merge", body }),
        "patch the status of": (at) => at.patch(address, { type: "merge", body }, { subresource: "status" }),
        delete: (at) => at.delete(address),
      };
      for (const [verb, call] of Object.entries(calls)) {
        attempts[`${verb} ${type.plural} ${name} at ${path}`] = (client) => statusOf(call(client.at(path)));
      }
    }
    attempts[`create ${type.plural} at ${path}`] = (client) =>
      statusOf(client.at(path).create(collection, aRegistration(unique("made"))));
    attempts[`delete all ${type.plural} at ${path}`] = (client) => statusOf(client.at(path).deleteAll(collection));
  }
  return attempts;
}

/** What came of attempts, by the status they ended with. */
export async function tryAll(client: KubeClient, attempts: Attempts): Promise<Readonly<Record<number, string[]>>> {
  const ended: Record<number, string[]> = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    const status = await attempt(client);
    ended[status] = [...(ended[status] ?? []), name];
  }
  return ended;
}
