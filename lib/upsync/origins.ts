import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { typeId } from "../api/workload-kinds.ts";
import { registrationKey } from "../sync/observed.ts";
import type { UpsyncOrigins } from "../sync/status/upsync-origin-status.ts";
import { isReady, optInsOf } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** Tells sync how the originals of workloads are that were born on clusters. */
export function createUpsyncOrigins({ hub, workloads, source }: UpsyncTools): UpsyncOrigins {
  return {
    see: async ({ logicalCluster, registration: name }, at, signal) => {
      const key = registrationKey(logicalCluster, name);
      const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
      const { optIns } = registration === undefined ? { optIns: [] } : optInsOf(registration, workloads.types);
      const optIn = optIns.find(({ type }) => typeId(type.type) === typeId(at.type));
      // Nobody opts in to it any more, so nobody looks at it either.
      if (registration === undefined || optIn === undefined) return undefined;
      if (!isReady(registration)) return { name, copy: undefined };
      try {
        const address = { registration: key, object: at };
        const birth = source.cached(address) ?? (await source.readUncached(address, optIn, signal));
        return { name, copy: birth.kind === "born" ? birth.copy : undefined };
      } catch (error) {
        signal.throwIfAborted();
        if (faultOf(error) === undefined) throw error;
        return { name, copy: undefined };
      }
    },
  };
}
