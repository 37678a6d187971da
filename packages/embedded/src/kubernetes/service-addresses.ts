import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import { ensureObject, listAt, recordsAt, setDefault, textsAt } from "../machinery/fields.ts";

import type { Store } from "../storage/store.ts";

const firstNodePort = 30_000;
const lastNodePort = 32_767;

/**
 * Creates the allocator of cluster IPs (from 10.96.0.0/16) and node ports. It assigns the lowest free value, so that
 * equal runs get equal addresses.
 */
export function createServiceAddresses(store: Store): (service: KubeObject) => void {
  return (service) => {
    const spec = ensureObject(service, "spec");
    if (spec.type === "ExternalName") {
      delete spec.clusterIP;
      delete spec.clusterIPs;
      return;
    }
    const others = store
      .list("services", { logicalCluster: "" })
      .filter(
        ({ metadata }) => metadata.name !== service.metadata.name || metadata.namespace !== service.metadata.namespace,
      );
    const requested = textAt(spec, "clusterIP");
    const addresses = new Set(others.flatMap((other) => textsAt(other, "spec", "clusterIPs")));
    if (requested === "") {
      spec.clusterIP = freeAddress(addresses);
    } else if (requested !== "None" && addresses.has(requested)) {
      throw allocationError(
        service,
        "spec.clusterIPs",
        [requested],
        `failed to allocate IP ${requested}: provided IP is already allocated`,
      );
    }
    if (listAt(spec, "clusterIPs").length === 0) spec.clusterIPs = [spec.clusterIP];
    assignNodePorts(service, others);
  };
}

function assignNodePorts(service: KubeObject, others: readonly KubeObject[]): void {
  const spec = ensureObject(service, "spec");
  const exposed =
    spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);
  const used = new Set(others.flatMap((other) => recordsAt(other, "spec", "ports")).map((port) => port.nodePort));
  for (const [index, port] of recordsAt(spec, "ports").entries()) {
    if (!exposed && spec.type === "ClusterIP") delete port.nodePort;
    if (!exposed) continue;
    const { nodePort } = port;
    if (typeof nodePort === "number" && nodePort > 0) {
      const at = `spec.ports[${index}].nodePort`;
      if (used.has(nodePort)) throw allocationError(service, at, nodePort, "provided port is already allocated");
      if (nodePort < firstNodePort || nodePort > lastNodePort) {
        const range = `provided port is not in the valid range. The range of valid ports is ${firstNodePort}-${lastNodePort}`;
        throw allocationError(service, at, nodePort, range);
      }
    } else {
      delete port.nodePort;
      let free = firstNodePort;
      while (used.has(free)) free += 1;
      setDefault(port, "nodePort", free);
    }
    used.add(port.nodePort);
  }
}

function freeAddress(used: ReadonlySet<string>): string {
  for (let number = 1; number < 65_534; number += 1) {
    const address = `10.96.${Math.floor(number / 256)}.${number % 256}`;
    if (!used.has(address)) return address;
  }
  throw new ApiFailure(500, "InternalError", "Internal error occurred: failed to allocate a serviceIP: range is full");
}

function allocationError({ metadata }: KubeObject, field: string, value: unknown, why: string): ApiFailure {
  const message = `Invalid value: ${JSON.stringify(value)}: ${why}`;
  const name = metadata.name ?? "";
  return new ApiFailure(422, "Invalid", `Service "${name}" is invalid: ${field}: ${message}`, {
    name,
    kind: "Service",
    causes: [{ reason: "FieldValueInvalid", message, field }],
  });
}
