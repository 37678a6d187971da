import type { ObjectAddress } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { findHeldEvictions } from "../../lib/cli/workload/held-clusters.ts";
import { confirmAnnotation, confirmationValue, findHeldCopies } from "../../lib/cli/workload/held-copies.ts";
import { confirmFailureAnnotation } from "../../lib/placement/observed.ts";
import { acceptIdentityAnnotation } from "../../lib/registration/identity.ts";
import { registrations } from "../lib/upstream/tenants.ts";
import type { ConfirmationInput } from "./confirmations.ts";
import { workloadResources } from "./desired-workloads.ts";
import type { SimulationEnvironment } from "./environment.ts";

/** People who answer what TMC asks them, as the commands of `tmc` do. */
export interface People {
  /** From now on they accept the identity of a cluster that answers in place of another, this long after they see it. */
  acceptAfter(ms: number): void;
  /** They know that the address of this cluster is wrong (`tenant physical`), and accept nothing there … */
  neverAccept(route: string): void;
  /** … until it is right again. */
  mayAccept(route: string): void;
  /** From now on a tenant's people do this about what is held. */
  answer(input: ConfirmationInput): void;
  end(): void;
}

const pollMs = 10_000;

/** Creates the people of a run. Until they are told to do something they do nothing, and no timer of theirs is open. */
export function createPeople(world: SimulationEnvironment): People {
  const { servers, monitor, log } = world;
  const wrong = new Set<string>();
  const answers = new Map<number, ConfirmationInput>();
  /** When an identity or a hold was first seen. */
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
        if (!isDue(id, afterMs)) continue;
        await annotate(index, { ...registrations, name }, { [acceptIdentityAnnotation]: uid });
      }
    }
  };
  /** Whether something has been known for long enough. */
  const isDue = (id: string, afterMs: number): boolean => {
    const sinceMs = seenMs.get(id) ?? world.nowMs();
    seenMs.set(id, sinceMs);
    return world.nowMs() - sinceMs >= afterMs;
  };
  const annotate = async (tenant: number, address: ObjectAddress, annotations: object): Promise<void> => {
    log(`user sets ${JSON.stringify(annotations)} on ${address.name}`);
    const patch = { type: "merge", body: { metadata: { annotations } } } as const;
    await servers.users[tenant]?.patch(address, patch).catch((error: unknown) => {
      if (faultOf(error) !== "not-found") world.fail(`the user cannot annotate ${address.name}`, error);
    });
  };
  const answerHolds = async ({ tenant: index, deletions, failures, afterMs }: ConfirmationInput): Promise<void> => {
    const { registrations: known, placements, records, workloads } = monitor.truth.of(servers.tenants[index] ?? "");
    if (deletions !== "never") {
      for (const held of findHeldCopies([...records.values()])) {
        const { kind, name } = held.syncRecord.spec.workload;
        const workload = workloads.get(`${kind}/${held.namespace}/${name}`);
        if (workload === undefined || (kind !== "Deployment" && kind !== "Service")) continue;
        const confirmation = confirmationValue(held, workload.metadata.annotations);
        const isThere = workload.metadata.annotations?.[confirmAnnotation] === confirmation;
        if (!isDue(`${index} ${confirmation}`, afterMs) || (isThere && deletions === "confirm")) continue;
        const address = { type: workloadResources[kind], namespace: held.namespace, name };
        await annotate(index, address, { [confirmAnnotation]: isThere ? null : confirmation });
      }
    }
    if (failures === "never") return;
    for (const { registration: name, since } of findHeldEvictions([...known.values()], [...placements.values()])) {
      const isThere = known.get(name)?.metadata.annotations?.[confirmFailureAnnotation] === since;
      if (isThere || !isDue(`${index} ${name} ${since}`, afterMs)) continue;
      await annotate(index, { ...registrations, name }, { [confirmFailureAnnotation]: since });
    }
  };
  const poll = (): void => {
    cancel = servers.clock.after(pollMs, () => {
      poll();
      if (acceptAfterMs !== undefined) void acceptIdentities(acceptAfterMs);
      for (const each of answers.values()) void answerHolds(each);
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
    answer: (input) => {
      log(`user ${JSON.stringify(input)}`);
      answers.set(input.tenant, input);
      if (cancel === undefined) poll();
    },
    end: () => cancel?.(),
  };
}
