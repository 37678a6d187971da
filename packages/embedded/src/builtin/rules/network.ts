import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { HookContext } from "../../definition.ts";
import { ensureObject, setDefault } from "../../field-changes.ts";
import { isFields, listAt, numberAt, objectAt, objectsAt, textAt, textsAt, valueAt } from "../../fields.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { duplicate, invalid, required } from "../../machinery/field-error.ts";
import { choice, portErrors } from "./pod-template.ts";
import type { TypeRules } from "./rules.ts";

/** Gives a service its cluster address and node ports; called for new services and for those whose type has changed. */
export type AssignAddresses = (service: KubeObject, context: HookContext) => void;

/** A service's rules; addresses come from whoever runs the cluster. */
export function serviceRules(assignAddresses: AssignAddresses): TypeRules {
  return {
    setDefaults: setServiceDefaults,
    begin: (service, context) => {
      ensureObject(ensureObject(service, "status"), "loadBalancer");
      assignAddresses(service, context);
    },
    carryOver: (service, old, context) => {
      const spec = ensureObject(service, "spec");
      if (spec.type !== "ExternalName") {
        for (const name of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"]) {
          const before = valueAt(old, "spec", name);
          if (before !== undefined) setDefault(spec, name, before);
        }
      }
      if (spec.type === "NodePort" || spec.type === "LoadBalancer") keepNodePorts(service, old);
      assignAddresses(service, context);
    },
    validate: serviceErrors,
    validateChange: (service, old) => {
      const before = textsAt(old, "spec", "clusterIPs")[0] ?? textAt(old, "spec", "clusterIP");
      const now = textsAt(service, "spec", "clusterIPs")[0] ?? textAt(service, "spec", "clusterIP");
      const isExternal = [service, old].some((object) => textAt(object, "spec", "type") === "ExternalName");
      if (before === "" || before === now || isExternal) return [];
      return [invalid("spec.clusterIPs[0]", listAt(service, "spec", "clusterIPs"), "may not change once set")];
    },
  };
}

function keepNodePorts(service: KubeObject, old: KubeObject): void {
  const before = objectsAt(old, "spec", "ports");
  for (const port of objectsAt(service, "spec", "ports")) {
    const same = before.find((other) => other.port === port.port && other.protocol === port.protocol);
    if (same?.nodePort !== undefined) setDefault(port, "nodePort", same.nodePort);
  }
}

function setServiceDefaults(service: KubeObject): void {
  const spec = ensureObject(service, "spec");
  setDefault(spec, "sessionAffinity", "None");
  setDefault(spec, "type", "ClusterIP");
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  else if (spec.sessionAffinity === "ClientIP") {
    const client = ensureObject(ensureObject(spec, "sessionAffinityConfig"), "clientIP");
    setDefault(client, "timeoutSeconds", 10_800);
  }
  for (const port of objectsAt(spec, "ports")) {
    setDefault(port, "protocol", "TCP");
    if (spec.type === "ExternalName" && port.targetPort === undefined) continue;
    setDefault(port, "targetPort", numberAt(port, "port"));
  }
  const address = textAt(spec, "clusterIP");
  const addresses = textsAt(spec, "clusterIPs");
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
  const spec = objectAt(service, "spec");
  const ports = objectsAt(spec, "ports");
  const errors: FieldError[] = [];
  const isHeadless = spec.clusterIP === "None";
  if (ports.length === 0 && !isHeadless && spec.type !== "ExternalName") errors.push(required("spec.ports"));
  if (spec.type === "ExternalName" && textAt(spec, "externalName") === "") errors.push(required("spec.externalName"));
  const names = new Set<string>();
  const numbers = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `spec.ports[${index}]`;
    const name = textAt(port, "name");
    if (ports.length > 1 && name === "") errors.push(required(`${at}.name`));
    else if (name !== "" && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    errors.push(...portErrors(`${at}.port`, numberAt(port, "port")));
    if (typeof port.targetPort === "number") errors.push(...portErrors(`${at}.targetPort`, port.targetPort));
    errors.push(...choice(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"]));
    const number = `${numberAt(port, "port")}/${textAt(port, "protocol")}`;
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
  begin: (ingress) => void ensureObject(ensureObject(ingress, "status"), "loadBalancer"),
  validate: (ingress) => {
    const errors: FieldError[] = [];
    const rules = objectsAt(ingress, "spec", "rules");
    if (rules.length === 0 && !isFields(valueAt(ingress, "spec", "defaultBackend"))) {
      errors.push(invalid("spec", null, "either `defaultBackend` or `rules` must be specified"));
    }
    for (const [index, rule] of rules.entries()) {
      for (const [at, path] of objectsAt(rule, "http", "paths").entries()) {
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
    const spec = ensureObject(policy, "spec");
    const egress = spec.egress !== undefined && listAt(spec, "egress").length > 0;
    setDefault(spec, "policyTypes", egress ? ["Ingress", "Egress"] : ["Ingress"]);
    for (const rule of [...objectsAt(spec, "ingress"), ...objectsAt(spec, "egress")]) {
      for (const port of objectsAt(rule, "ports")) setDefault(port, "protocol", "TCP");
    }
  },
};

export const endpointsRules: TypeRules = {
  setDefaults: (endpoints) => {
    for (const subset of objectsAt(endpoints, "subsets")) {
      for (const port of objectsAt(subset, "ports")) setDefault(port, "protocol", "TCP");
    }
  },
};

export const endpointSliceRules: TypeRules = {
  setDefaults: (slice) => {
    for (const port of objectsAt(slice, "ports")) {
      setDefault(port, "name", "");
      setDefault(port, "protocol", "TCP");
    }
  },
};
