import type { KubeObject } from "../../../model/kube-object.ts";
import { count, field, objects, text, texts } from "../fields.ts";
import { age, type Cells, formatLabels, none, orNone } from "./cells.ts";

/** A load balancer's addresses are cut to this many characters. */
const addressWidth = 16;

export const serviceCells: Cells = {
  Type: (service) => text(service, "spec", "type"),
  "Cluster-IP": (service) => orNone(texts(service, "spec", "clusterIPs")[0] ?? text(service, "spec", "clusterIP")),
  "External-IP": (service) => externalAddress(service),
  "Port(s)": (service) => orNone(objects(service, "spec", "ports").map(formatServicePort).join(",")),
  Age: age,
  Selector: (service) => formatLabels(field(service, "spec", "selector")),
};

function formatServicePort(port: unknown): string {
  const nodePort = count(port, "nodePort");
  return `${count(port, "port")}${nodePort > 0 ? `:${nodePort}` : ""}/${text(port, "protocol")}`;
}

function externalAddress(service: KubeObject): string {
  const addresses = texts(service, "spec", "externalIPs");
  switch (text(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return orNone(addresses.join(","));
    case "LoadBalancer": {
      const balanced = loadBalancerAddresses(service);
      const all = [...(balanced === "" ? [] : balanced.split(",")), ...addresses].join(",");
      return all === "" ? "<pending>" : all;
    }
    case "ExternalName":
      return text(service, "spec", "externalName");
    default:
      return "<unknown>";
  }
}

function loadBalancerAddresses(object: KubeObject): string {
  const all = objects(object, "status", "loadBalancer", "ingress")
    .map((ingress) => text(ingress, "ip") || text(ingress, "hostname"))
    .filter((address) => address !== "");
  const shown = [...new Set(all)].toSorted().join(",");
  return shown.length > addressWidth ? `${shown.slice(0, addressWidth - 3)}...` : shown;
}

export const ingressCells: Cells = {
  Class: (ingress) => orNone(text(ingress, "spec", "ingressClassName")),
  Hosts: (ingress) => {
    const hosts = objects(ingress, "spec", "rules")
      .map((rule) => text(rule, "host"))
      .map((host) => (host === "" ? "*" : host));
    if (hosts.length === 0) return "*";
    return hosts.length > 3 ? `${hosts.slice(0, 3).join(",")} + ${hosts.length - 3} more...` : hosts.join(",");
  },
  Address: (ingress) => loadBalancerAddresses(ingress),
  Ports: (ingress) => (objects(ingress, "spec", "tls").length > 0 ? "80, 443" : "80"),
  Age: age,
};

export const ingressClassCells: Cells = {
  Controller: (object) => text(object, "spec", "controller"),
  Parameters: (object) => {
    const parameters = field(object, "spec", "parameters");
    if (parameters === undefined) return none;
    const group = text(parameters, "apiGroup");
    return `${text(parameters, "kind")}${group === "" ? "" : `.${group}`}/${text(parameters, "name")}`;
  },
  Age: age,
};

export const endpointsCells: Cells = {
  Endpoints: (object) => {
    const all = objects(object, "subsets").flatMap((subset) => {
      const addresses = objects(subset, "addresses").map((address) => text(address, "ip"));
      const ports = objects(subset, "ports");
      if (ports.length === 0) return addresses;
      return ports.flatMap((port) => addresses.map((address) => `${address}:${count(port, "port")}`));
    });
    return listOrNone(all);
  },
  Age: age,
};

export const endpointSliceCells: Cells = {
  AddressType: (object) => text(object, "addressType"),
  Ports: (object) => {
    const ports = objects(object, "ports");
    return ports.length === 0 ? "<unset>" : cut(ports.map((port) => String(port.port ?? "*")));
  },
  Endpoints: (object) => {
    const addresses = objects(object, "endpoints").flatMap((endpoint) => texts(endpoint, "addresses"));
    return addresses.length === 0 ? "<unset>" : cut(addresses);
  },
  Age: age,
};

function listOrNone(values: readonly string[]): string {
  return values.length === 0 ? none : cut(values);
}

/** No more than three are shown. */
function cut(values: readonly string[]): string {
  return values.length > 3 ? `${values.slice(0, 3).join(",")} + ${values.length - 3} more...` : values.join(",");
}
