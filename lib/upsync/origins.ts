import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { typeId } from "../api/workload-kinds.ts";
import { registrationKey } from "../sync/observed.ts";
import type { UpsyncOrigins } from "../sync/status/upsync-origin-status.ts";
import { isReady, optInsOf } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** Creates the reader by which sync gets the state of the originals of upsynced workloads. */
export function createUpsyncOrigins({ hub, workloads, source }: UpsyncTools): UpsyncOrigins {
  return {
    read: async ({ logicalCluster, registration: targetCluster }, object, signal) => {
      const key = registrationKey(logicalCluster, targetCluster);
      const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
      const { optIns } = registration === undefined ? { optIns: [] } : optInsOf(registration, workloads.types);
      const optIn = optIns.find(({ type }) => typeId(type.type) === typeId(object.type));
      // The object is no longer opted in, so TMC no longer reads it.
      if (registration === undefined || optIn === undefined) return undefined;
      if (!isReady(registration)) return { targetCluster, copy: undefined };
      try {
        const address = { registration: key, object };
        const state = source.cached(address) ?? (await source.readUncached(address, optIn, signal));
        return { targetCluster, copy: state.kind === "present" ? state.copy : undefined };
      } catch (error) {
        signal.throwIfAborted();
        if (faultOf(error) === undefined) throw error;
        return { targetCluster, copy: undefined };
      }
    },
  };
}
