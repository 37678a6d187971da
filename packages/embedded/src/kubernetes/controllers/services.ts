import { isDeepStrictEqual } from "node:util";
import type { Behavior } from "../behavior.ts";
import { isPodFinished, isPodReady } from "../conditions.ts";
import type { Pod, Service, ServicePort } from "../kinds.ts";
import { controllerReference } from "../kinds.ts";
import { type ClusterController, keyOf, type World } from "../world.ts";
import { createFirstSeen } from "./first-seen.ts";

/** Endpoints per slice at most. */
const sliceLimit = 1000;

/** Maintains EndpointSlices and Endpoints of services with a selector. */
export const endpointController: ClusterController = {
  name: "endpoints",
  watches: {
    services: (service) => [keyOf(service)],
    pods: (pod, world) =>
      world
        .list("services", pod.metadata.namespace)
        .filter((service) => selects(service, pod))
        .map(keyOf),
  },
  reconcile({ namespace, name }, world) {
    const service = world.get("services", namespace, name);
    if (service === undefined) {
      const remaining = world.get("endpoints", namespace, name);
      if (remaining?.metadata.labels?.[managedBy] !== undefined) world.remove("endpoints", remaining);
      return undefined;
    }
    if (service.metadata.deletionTimestamp !== undefined || Object.keys(service.spec.selector ?? {}).length === 0)
      return undefined;
    const pods = world
      .list("pods", namespace)
      .filter((pod) => selects(service, pod) && pod.status?.podIP !== undefined && !isPodFinished(pod));
    writeSlice(world, service, pods);
    writeEndpoints(world, service, pods);
    return undefined;
  },
};

const managedBy = "endpoints.kubernetes.io/managed-by";
const headless = "service.kubernetes.io/headless";

function selects(service: Service, pod: Pod): boolean {
  const requirements = Object.entries(service.spec.selector ?? {});
  return requirements.length > 0 && requirements.every(([key, value]) => pod.metadata.labels?.[key] === value);
}

const serves = (service: Service, pod: Pod): boolean =>
  service.spec.publishNotReadyAddresses === true || (isPodReady(pod) && pod.metadata.deletionTimestamp === undefined);

const targetRef = ({ metadata }: Pod) => ({
  kind: "Pod",
  name: metadata.name,
  namespace: metadata.namespace,
  uid: metadata.uid,
});

/** Resolves a service's target port; a named port is resolved in the pods. */
function resolvedPort({ targetPort, port }: ServicePort, pods: readonly Pod[]): number | undefined {
  if (typeof targetPort === "number") return targetPort;
  if (targetPort === undefined) return port;
  const ports = pods.flatMap((pod) => pod.spec.containers).flatMap((container) => container.ports ?? []);
  return ports.find((candidate) => candidate.name === targetPort)?.containerPort;
}

function writeSlice(world: World, service: Service, pods: readonly Pod[]): void {
  const labels = {
    ...service.metadata.labels,
    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    "kubernetes.io/service-name": service.metadata.name,
    ...(service.spec.clusterIP === "None" ? { [headless]: "" } : {}),
  };
  const endpoints = pods.slice(0, sliceLimit).map((pod) => ({
    addresses: [pod.status?.podIP],
    conditions: {
      ready: serves(service, pod),
      serving: isPodReady(pod),
      terminating: pod.metadata.deletionTimestamp !== undefined,
    },
    ...(pod.spec.hostname === undefined || pod.spec.subdomain !== service.metadata.name
      ? {}
      : { hostname: pod.spec.hostname }),
    nodeName: pod.spec.nodeName,
    targetRef: targetRef(pod),
    ...zoneOf(world, pod),
  }));
  const ports = (service.spec.ports ?? []).flatMap((port) => {
    const number = resolvedPort(port, pods);
    if (number === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = port;
    return [{ name, port: number, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
  const existing = world
    .owned("endpointslices", service.metadata.uid)
    .find((slice) => slice.metadata.deletionTimestamp === undefined);
  if (existing === undefined) {
    world.create("endpointslices", {
      metadata: {
        generateName: `${service.metadata.name}-`,
        ...(service.metadata.namespace === undefined ? {} : { namespace: service.metadata.namespace }),
        labels,
        ownerReferences: [controllerReference(service)],
      },
      addressType: "IPv4",
      endpoints,
      ports,
    });
    return;
  }
  const same = isDeepStrictEqual(
    [existing.endpoints, existing.ports ?? [], existing.metadata.labels],
    [endpoints, ports, labels],
  );
  if (!same)
    world.update("endpointslices", { ...existing, metadata: { ...existing.metadata, labels }, endpoints, ports });
}

function zoneOf(world: World, pod: Pod): { zone?: string } {
  const zone = world.get("nodes", "", pod.spec.nodeName ?? "")?.metadata.labels?.["topology.kubernetes.io/zone"];
  return zone === undefined ? {} : { zone };
}

function writeEndpoints(world: World, service: Service, pods: readonly Pod[]): void {
  const { name, namespace } = service.metadata;
  const labels = {
    ...service.metadata.labels,
    [managedBy]: "endpoint-controller",
    ...(service.spec.clusterIP === "None" ? { [headless]: "" } : {}),
  };
  const address = (pod: Pod) => ({
    ip: pod.status?.podIP,
    ...(pod.spec.hostname === undefined || pod.spec.subdomain !== name ? {} : { hostname: pod.spec.hostname }),
    nodeName: pod.spec.nodeName,
    targetRef: targetRef(pod),
  });
  const serving = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const addresses = serving.filter((pod) => serves(service, pod)).map(address);
  const notReadyAddresses = serving.filter((pod) => !serves(service, pod)).map(address);
  const ports = (service.spec.ports ?? []).flatMap((port) => {
    const number = resolvedPort(port, pods);
    return number === undefined
      ? []
      : [{ ...(port.name === undefined ? {} : { name: port.name }), port: number, protocol: port.protocol ?? "TCP" }];
  });
  const subsets =
    serving.length === 0
      ? []
      : [
          {
            ...(addresses.length === 0 ? {} : { addresses }),
            ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
            ...(ports.length === 0 ? {} : { ports }),
          },
        ];
  const existing = world.get("endpoints", namespace ?? "", name);
  if (existing === undefined) {
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }), labels };
    world.create("endpoints", { metadata, ...(subsets.length === 0 ? {} : { subsets }) });
    return;
  }
  if (isDeepStrictEqual([existing.subsets ?? [], existing.metadata.labels], [subsets, labels])) return;
  const { subsets: _, ...rest } = existing;
  world.update("endpoints", {
    ...rest,
    metadata: { ...existing.metadata, labels },
    ...(subsets.length === 0 ? {} : { subsets }),
  });
}

/** Assigns external addresses to load balancer services and ingresses, after a delay. */
export function createLoadBalancers(behavior: Behavior): readonly ClusterController[] {
  const delays = createFirstSeen();
  const source = "service-controller";
  const freeAddress = (world: World): string => {
    const used = new Set(
      [...world.list("services"), ...world.list("ingresses")].flatMap(
        (object) => object.status?.loadBalancer?.ingress?.flatMap(({ ip }) => ip ?? []) ?? [],
      ),
    );
    for (let last = 1; last < 254 * 254; last += 1) {
      const address = `172.20.${Math.floor(last / 254)}.${(last % 254) + 1}`;
      if (!used.has(address)) return address;
    }
    return "172.20.255.254";
  };

  const services: ClusterController = {
    name: "service-load-balancer",
    watches: { services: (service) => [keyOf(service)] },
    reconcile({ namespace, name }, world) {
      const service = world.get("services", namespace, name);
      if (service === undefined) return undefined;
      const hasAddress = (service.status?.loadBalancer?.ingress ?? []).length > 0;
      const needsAddress =
        service.spec.type === "LoadBalancer" &&
        service.spec.loadBalancerClass === undefined &&
        service.metadata.deletionTimestamp === undefined;
      if (needsAddress === hasAddress) return undefined;
      if (!needsAddress) {
        delays.forget(service.metadata.uid);
        world.writeStatus("services", service, { ...service.status, loadBalancer: {} });
        return undefined;
      }
      const age = delays.ageMs(service.metadata.uid, world.now());
      if (age === 0) {
        world.recordEvent(service, {
          type: "Normal",
          reason: "EnsuringLoadBalancer",
          message: "Ensuring load balancer",
          source,
        });
      }
      if (age < behavior.readyMs) return behavior.readyMs - age;
      const ip = service.spec.loadBalancerIP ?? freeAddress(world);
      world.writeStatus("services", service, { ...service.status, loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } });
      world.recordEvent(service, {
        type: "Normal",
        reason: "EnsuredLoadBalancer",
        message: "Ensured load balancer",
        source,
      });
      return undefined;
    },
  };
  const ingresses: ClusterController = {
    name: "ingress",
    watches: { ingresses: (ingress) => [keyOf(ingress)] },
    reconcile({ namespace, name }, world) {
      const ingress = world.get("ingresses", namespace, name);
      if (ingress === undefined || ingress.metadata.deletionTimestamp !== undefined) return undefined;
      if ((ingress.status?.loadBalancer?.ingress ?? []).length > 0) return undefined;
      const age = delays.ageMs(ingress.metadata.uid, world.now());
      if (age < behavior.readyMs) return behavior.readyMs - age;
      world.writeStatus("ingresses", ingress, {
        ...ingress.status,
        loadBalancer: { ingress: [{ ip: freeAddress(world) }] },
      });
      world.recordEvent(ingress, {
        type: "Normal",
        reason: "Sync",
        message: "Scheduled for sync",
        source: "ingress-controller",
      });
      return undefined;
    },
  };
  return [services, ingresses];
}
