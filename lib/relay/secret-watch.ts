import type { KubeClient } from "../kube/client.ts";
import { watchForever } from "../kube/watch.ts";
import type { Clock } from "../model/clock.ts";
import type { KubeObject, ResourceType } from "../model/kube-object.ts";
import { keepRunning } from "./keep-running.ts";

const secretType: ResourceType = { group: "", version: "v1", plural: "secrets" };

/** Which secret a registration's credentials are in. */
export type SecretReference = Readonly<{ namespace: string; name: string }>;

/** Watches the secrets that the registrations of one logical cluster refer to: their metadata, never what is in them. */
export interface SecretWatch {
  /** Says what a registration refers to now; undefined for nothing. A watch runs for as long as anyone refers to anything. */
  refer(registration: string, reference: SecretReference | undefined): void;
  stop(): Promise<void>;
}

export type SecretWatchOptions = Readonly<{
  client: Pick<KubeClient, "metadata">;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** Told which registrations refer to a secret that came, changed or went. */
  onChanged(registrations: readonly string[]): void;
  onTrouble(error: unknown, retryInMs: number): void;
}>;

/** A secret that was looked for and not found. */
const absent = "absent";

/** Creates a watch that does not run yet. */
export function createSecretWatch(options: SecretWatchOptions): SecretWatch {
  const { client, clock, random, relistSeconds, onChanged, onTrouble } = options;
  /** Who refers to what, and the version in which each of these secrets was last seen. */
  const references = new Map<string, string>();
  const versions = new Map<string, string>();
  let running: Readonly<{ end: AbortController; done: Promise<void> }> | undefined;

  const tell = (secrets: readonly string[]): void => {
    const concerned = [...references].filter(([, secret]) => secrets.includes(secret)).map(([name]) => name);
    if (concerned.length > 0) onChanged(concerned.toSorted());
  };

  const seeAll = (objects: readonly KubeObject[]): void => {
    const listed = new Map(objects.map((object) => [nameOf(object), versionOf(object)]));
    const changed: string[] = [];
    for (const secret of new Set(references.values())) {
      const [last, now] = [versions.get(secret), listed.get(secret) ?? absent];
      // Whoever refers to one that was never looked for has read it since.
      if (last !== undefined && last !== now) changed.push(secret);
      versions.set(secret, now);
    }
    tell(changed);
  };

  const see = (object: KubeObject, version: string): void => {
    const secret = nameOf(object);
    if (versions.get(secret) === version) return;
    if ([...references.values()].includes(secret)) versions.set(secret, version);
    else versions.delete(secret);
    tell([secret]);
  };

  const watch = async (signal: AbortSignal): Promise<void> => {
    const watched = watchForever(client.metadata, { type: secretType }, { signal, clock, random, relistSeconds });
    for await (const event of watched) {
      if (event.type === "listed") seeAll(event.objects);
      else if (event.type === "changed") see(event.object, versionOf(event.object));
      else if (event.type === "deleted") see(event.object, absent);
      else if (event.type === "trouble") onTrouble(event.error, event.retryInMs);
    }
  };

  const stop = async (): Promise<void> => {
    const ending = running;
    running = undefined;
    versions.clear();
    ending?.end.abort();
    await ending?.done;
  };

  return {
    refer: (registration, reference) => {
      const secret = reference === undefined ? undefined : `${reference.namespace}/${reference.name}`;
      if (references.get(registration) === secret) return;
      if (secret === undefined) references.delete(registration);
      else references.set(registration, secret);
      if (references.size === 0) void stop();
      else if (running === undefined) {
        const end = new AbortController();
        const loop = () => watch(end.signal);
        running = { end, done: keepRunning(loop, { clock, signal: end.signal, onFailure: onTrouble }) };
      }
    },
    stop,
  };
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? "";
}
