import { textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { numberOrZeroAt, recordsAt, textsAt } from "../../machinery/fields.ts";
import { age, type Cells, formatLabels, none, orNone } from "./cells.ts";

/** Load balancer addresses are truncated to this many characters. */
const addressWidth = 16;

export const serviceCells: Cells = {
  Type: (service) => textAt(service, "spec", "type"),
  "Cluster-IP": (service) => orNone(textsAt(service, "spec", "clusterIPs")[0] ?? textAt(service, "spec", "clusterIP")),
  "External-IP": (service) => externalAddress(service),
  "Port(s)": (service) => orNone(recordsAt(service, "spec", "ports").map(formatServicePort).join(",")),
  Age: age,
  Selector: (service) => formatLabels(valueAt(service, "spec", "selector")),
};

function formatServicePort(port: unknown): string {
  const nodePort = numberOrZeroAt(port, "nodePort");
  return `${numberOrZeroAt(port, "port")}${nodePort > 0 ? `:${nodePort}` : ""}/${textAt(port, "protocol")}`;
}

function externalAddress(service: KubeObject): string {
  const addresses = textsAt(service, "spec", "externalIPs");
  switch (textAt(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return orNone(addresses.join(","));
    case "LoadBalancer": {
      const balanced = loadBalancerAddresses(service);
      const all = [...(balanced === "" ? [] : balanced.split(",")), ...addresses].join(",");
      return all === "" ? "<pending>" : all;
    }
    case "ExternalName":
      return textAt(service, "spec", "externalName");
    default:
      return "<unknown>";
  }
}

function loadBalancerAddresses(object: KubeObject): string {
  const all = recordsAt(object, "status", "loadBalancer", "ingress")
    .map((ingress) => textAt(ingress, "ip") || textAt(ingress, "hostname"))
    .filter((address) => address !== "");
  const shown = [...new Set(all)].toSorted().join(",");
  return shown.length > addressWidth ? `${shown.slice(0, addressWidth - 3)}...` : shown;
}

export const ingressCells: Cells = {
  Class: (ingress) => orNone(textAt(ingress, "spec", "ingressClassName")),
  Hosts: (ingress) => {
    const hosts = recordsAt(ingress, "spec", "rules")
      .map((rule) => textAt(rule, "host"))
      .map((host) => (host === "" ? "*" : host));
    if (hosts.length === 0) return "*";
    return hosts.length > 3 ? `${hosts.slice(0, 3).join(",")} + ${hosts.length - 3} more...` : hosts.join(",");
  },
  Address: (ingress) => loadBalancerAddresses(ingress),
  Ports: (ingress) => (recordsAt(ingress, "spec", "tls").length > 0 ? "80, 443" : "80"),
  Age: age,
};

export const ingressClassCells: Cells = {
  Controller: (object) => textAt(object, "spec", "controller"),
  Parameters: (object) => {
    const parameters = valueAt(object, "spec", "parameters");
    if (parameters === undefined) return none;
    const group = textAt(parameters, "apiGroup");
    return `${textAt(parameters, "kind")}${group === "" ? "" : `.${group}`}/${textAt(parameters, "name")}`;
  },
  Age: age,
};

export const endpointsCells: Cells = {
  Endpoints: (object) => {
    const all = recordsAt(object, "subsets").flatMap((subset) => {
      const addresses = recordsAt(subset, "addresses").map((address) => textAt(address, "ip"));
      const ports = recordsAt(subset, "ports");
      if (ports.length === 0) return addresses;
      return ports.flatMap((port) => addresses.map((address) => `${address}:${numberOrZeroAt(port, "port")}`));
    });
    return listOrNone(all);
  },
  Age: age,
};

export const endpointSliceCells: Cells = {
  AddressType: (object) => textAt(object, "addressType"),
  Ports: (object) => {
    const ports = recordsAt(object, "ports");
    return ports.length === 0 ? "<unset>" : cut(ports.map((port) => String(port.port ?? "*")));
  },
  Endpoints: (object) => {
    const addresses = recordsAt(object, "endpoints").flatMap((endpoint) => textsAt(endpoint, "addresses"));
    return addresses.length === 0 ? "<unset>" : cut(addresses);
  },
  Age: age,
};

function listOrNone(values: readonly string[]): string {
  return values.length === 0 ? none : cut(values);
}

/** Shows at most three values. */
function cut(values: readonly string[]): string {
  return values.length > 3 ? `${values.slice(0, 3).join(",")} + ${values.length - 3} more...` : values.join(",");
}
