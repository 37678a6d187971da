import type { KubeObject } from "../../../model/kube-object.ts";
import type { HookContext } from "../../definition.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { duplicate, invalid, required } from "../../machinery/field-error.ts";
import { count, ensureMap, field, isFields, list, map, objects, setDefault, text, texts } from "../fields.ts";
import { choice, portErrors } from "./pod-template.ts";
import type { TypeRules } from "./rules.ts";

/** Gives a service its cluster address and node ports; called for new services and for those whose type has changed. */
export type AssignAddresses = (service: KubeObject, context: HookContext) => void;

/** A service's rules; addresses come from whoever runs the cluster. */
export function serviceRules(assignAddresses: AssignAddresses): TypeRules {
  return {
    setDefaults: setServiceDefaults,
    begin: (service, context) => {
      ensureMap(ensureMap(service, "status"), "loadBalancer");
      assignAddresses(service, context);
    },
    carryOver: (service, old, context) => {
      const spec = ensureMap(service, "spec");
      if (spec.type !== "ExternalName") {
        for (const name of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"]) {
          const before = field(old, "spec", name);
          if (before !== undefined) setDefault(spec, name, before);
        }
      }
      if (spec.type === "NodePort" || spec.type === "LoadBalancer") keepNodePorts(service, old);
      assignAddresses(service, context);
    },
    validate: serviceErrors,
    validateChange: (service, old) => {
      const before = texts(old, "spec", "clusterIPs")[0] ?? text(old, "spec", "clusterIP");
      const now = texts(service, "spec", "clusterIPs")[0] ?? text(service, "spec", "clusterIP");
      const isExternal = [service, old].some((object) => text(object, "spec", "type") === "ExternalName");
      if (before === "" || before === now || isExternal) return [];
      return [invalid("spec.clusterIPs[0]", list(service, "spec", "clusterIPs"), "may not change once set")];
    },
  };
}

function keepNodePorts(service: KubeObject, old: KubeObject): void {
  const before = objects(old, "spec", "ports");
  for (const port of objects(service, "spec", "ports")) {
    const same = before.find((other) => other.port === port.port && other.protocol === port.protocol);
    if (same?.nodePort !== undefined) setDefault(port, "nodePort", same.nodePort);
  }
}

function setServiceDefaults(service: KubeObject): void {
  const spec = ensureMap(service, "spec");
  setDefault(spec, "sessionAffinity", "None");
  setDefault(spec, "type", "ClusterIP");
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  else if (spec.sessionAffinity === "ClientIP") {
    const client = ensureMap(ensureMap(spec, "sessionAffinityConfig"), "clientIP");
    setDefault(client, "timeoutSeconds", 10_800);
  }
  for (const port of objects(spec, "ports")) {
    setDefault(port, "protocol", "TCP");
    if (spec.type === "ExternalName" && port.targetPort === undefined) continue;
    setDefault(port, "targetPort", count(port, "port"));
  }
  const address = text(spec, "clusterIP");
  const addresses = texts(spec, "clusterIPs");
  if (address !== "" && addresses.length === 0) spec.clusterIPs = [address];
  else if (address === "" && addresses[0] !== undefined) spec.clusterIP = addresses[0];
  if (spec.type === "ExternalName") return;
  setDefault(spec, "internalTrafficPolicy", "Cluster");
  setDefault(spec, "ipFamilies", ["IPv4"]);
  setDefault(spec, "ipFamilyPolicy", "SingleStack");
  if (spec.type === "NodePort" || spec.type === "LoadBalancer") setDefault(spec, "externalTrafficPolicy", "Cluster");
  else delete spec.externalTrafficPolicy;
  if (spec.type === "LoadBalancer") setDefault(spec, "allocateLoadBalancerNodePorts", true);
  else delete spec.allocateLoadBalancerNodePorts;
}

function serviceErrors(service: KubeObject): FieldError[] {
  const spec = map(service, "spec");
  const ports = objects(spec, "ports");
  const errors: FieldError[] = [];
  const isHeadless = spec.clusterIP === "None";
  if (ports.length === 0 && !isHeadless && spec.type !== "ExternalName") errors.push(required("spec.ports"));
  if (spec.type === "ExternalName" && text(spec, "externalName") === "") errors.push(required("spec.externalName"));
  const names = new Set<string>();
  const numbers = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `spec.ports[${index}]`;
    const name = text(port, "name");
    if (ports.length > 1 && name === "") errors.push(required(`${at}.name`));
    else if (name !== "" && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    errors.push(...portErrors(`${at}.port`, count(port, "port")));
    if (typeof port.targetPort === "number") errors.push(...portErrors(`${at}.targetPort`, port.targetPort));
    errors.push(...choice(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"]));
    const number = `${count(port, "port")}/${text(port, "protocol")}`;
    if (numbers.has(number)) errors.push(duplicatePort(at, port));
    numbers.add(number);
  }
  errors.push(...choice("spec.type", spec.type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]));
  errors.push(...choice("spec.sessionAffinity", spec.sessionAffinity, ["ClientIP", "None"]));
  return errors;
}

function duplicatePort(at: string, port: { [field: string]: unknown }): FieldError {
  const shown = { Name: "", Protocol: port.protocol, AppProtocol: null, Port: port.port, TargetPort: 0, NodePort: 0 };
  return { type: "Duplicate", field: at, message: `Duplicate value: ${JSON.stringify(shown)}` };
}

export const ingressRules: TypeRules = {
  begin: (ingress) => void ensureMap(ensureMap(ingress, "status"), "loadBalancer"),
  validate: (ingress) => {
    const errors: FieldError[] = [];
    const rules = objects(ingress, "spec", "rules");
    if (rules.length === 0 && !isFields(field(ingress, "spec", "defaultBackend"))) {
      errors.push(invalid("spec", null, "either `defaultBackend` or `rules` must be specified"));
    }
    for (const [index, rule] of rules.entries()) {
      for (const [at, path] of objects(rule, "http", "paths").entries()) {
        const where = `spec.rules[${index}].http.paths[${at}].pathType`;
        if (path.pathType === undefined) errors.push(required(where, "pathType must be specified"));
        else errors.push(...choice(where, path.pathType, ["Exact", "ImplementationSpecific", "Prefix"]));
      }
    }
    return errors;
  },
};

export const networkPolicyRules: TypeRules = {
  setDefaults: (policy) => {
    const spec = ensureMap(policy, "spec");
    const egress = spec.egress !== undefined && list(spec, "egress").length > 0;
    setDefault(spec, "policyTypes", egress ? ["Ingress", "Egress"] : ["Ingress"]);
    for (const rule of [...objects(spec, "ingress"), ...objects(spec, "egress")]) {
      for (const port of objects(rule, "ports")) setDefault(port, "protocol", "TCP");
    }
  },
};

export const endpointsRules: TypeRules = {
  setDefaults: (endpoints) => {
    for (const subset of objects(endpoints, "subsets")) {
      for (const port of objects(subset, "ports")) setDefault(port, "protocol", "TCP");
    }
  },
};

export const endpointSliceRules: TypeRules = {
  setDefaults: (slice) => {
    for (const port of objects(slice, "ports")) {
      setDefault(port, "name", "");
      setDefault(port, "protocol", "TCP");
    }
  },
};
