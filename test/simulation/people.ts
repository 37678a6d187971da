import { faultOf } from "@tmc/kube/errors.ts";
import { acceptIdentityAnnotation } from "../../lib/registration/identity.ts";
import { registrations } from "../lib/upstream/tenants.ts";
import type { SimulationEnvironment } from "./environment.ts";

/** People who answer what TMC asks them, as the commands of `tmc` do. */
export interface People {
  /** From now on they accept the identity of a cluster that answers in place of another, this long after they see it. */
  acceptAfter(ms: number): void;
  /** They know that the address of this cluster is wrong (`tenant physical`), and accept nothing there … */
  neverAccept(route: string): void;
  /** … until it is right again. */
  mayAccept(route: string): void;
  end(): void;
}

const pollMs = 10_000;

/** Creates the people of a run. Until they are told to do something they do nothing, and no timer of theirs is open. */
export function createPeople(world: SimulationEnvironment): People {
  const { servers, monitor, log } = world;
  const wrong = new Set<string>();
  /** When an identity was first seen, by registration and uid. */
  const seenMs = new Map<string, number>();
  let acceptAfterMs: number | undefined;
  let cancel: (() => void) | undefined;

  const acceptIdentities = async (afterMs: number): Promise<void> => {
    for (const [index, tenant] of servers.tenants.entries()) {
      for (const [name, { metadata, status }] of monitor.truth.of(tenant).registrations) {
        const uid = status?.observedClusterUID;
        const isAccepted = metadata.annotations?.[acceptIdentityAnnotation] === uid;
        if (uid === undefined || isAccepted || wrong.has(`${tenant} ${monitor.truth.physicalOf(tenant, name)}`))
          continue;
        const id = `${tenant} ${name} ${uid}`;
        const sinceMs = seenMs.get(id) ?? world.nowMs();
        seenMs.set(id, sinceMs);
        if (world.nowMs() - sinceMs < afterMs) continue;
        log(`user accepts ${uid} as ${tenant}/${name}`);
        const body = { metadata: { annotations: { [acceptIdentityAnnotation]: uid } } };
        await servers.users[index]
          ?.patch({ ...registrations, name }, { type: "merge", body })
          .catch((error: unknown) => {
            if (faultOf(error) !== "not-found") world.fail(`the user cannot accept ${name}`, error);
          });
      }
    }
  };
  const poll = (): void => {
    cancel = servers.clock.after(pollMs, () => {
      poll();
      if (acceptAfterMs !== undefined) void acceptIdentities(acceptAfterMs);
    });
  };

  return {
    acceptAfter: (ms) => {
      acceptAfterMs = ms;
      if (cancel === undefined) poll();
    },
    neverAccept: (route) => {
      wrong.add(route);
    },
    mayAccept: (route) => {
      wrong.delete(route);
    },
    end: () => cancel?.(),
  };
}
