import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { HookContext } from "../../definitions/definition.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { duplicate, invalid, required } from "../../machinery/field-error.ts";
import {
  ensureObject,
  listAt,
  numberOrZeroAt,
  recordAt,
  recordsAt,
  setDefault,
  textsAt,
} from "../../machinery/fields.ts";
import { portErrors, supportedValueErrors } from "./pod-template.ts";
import type { BuiltinRules } from "./rules.ts";

/** Assigns the cluster IP and the node ports; called for new and changed services. */
export type AssignAddresses = (service: KubeObject, context: HookContext) => void;

/** Rules of Service; the caller provides the address allocation. */
export function serviceRules(assignAddresses: AssignAddresses): BuiltinRules {
  return {
    setDefaults: setServiceDefaults,
    initialize: (service, context) => {
      ensureObject(ensureObject(service, "status"), "loadBalancer");
      assignAddresses(service, context);
    },
    preserve: (service, old, context) => {
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
  const before = recordsAt(old, "spec", "ports");
  for (const port of recordsAt(service, "spec", "ports")) {
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
  for (const port of recordsAt(spec, "ports")) {
    setDefault(port, "protocol", "TCP");
    if (spec.type === "ExternalName" && port.targetPort === undefined) continue;
    setDefault(port, "targetPort", numberOrZeroAt(port, "port"));
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
  const spec = recordAt(service, "spec");
  const ports = recordsAt(spec, "ports");
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
    errors.push(...portErrors(`${at}.port`, numberOrZeroAt(port, "port")));
    if (typeof port.targetPort === "number") errors.push(...portErrors(`${at}.targetPort`, port.targetPort));
    errors.push(...supportedValueErrors(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"]));
    const number = `${numberOrZeroAt(port, "port")}/${textAt(port, "protocol")}`;
    if (numbers.has(number)) errors.push(duplicatePort(at, port));
    numbers.add(number);
  }
  errors.push(
    ...supportedValueErrors("spec.type", spec.type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
  );
  errors.push(...supportedValueErrors("spec.sessionAffinity", spec.sessionAffinity, ["ClientIP", "None"]));
  return errors;
}

function duplicatePort(at: string, port: { [field: string]: unknown }): FieldError {
  const shown = { Name: "", Protocol: port.protocol, AppProtocol: null, Port: port.port, TargetPort: 0, NodePort: 0 };
  return { type: "Duplicate", field: at, message: `Duplicate value: ${JSON.stringify(shown)}` };
}

export const ingressRules: BuiltinRules = {
  initialize: (ingress) => void ensureObject(ensureObject(ingress, "status"), "loadBalancer"),
  validate: (ingress) => {
    const errors: FieldError[] = [];
    const rules = recordsAt(ingress, "spec", "rules");
    if (rules.length === 0 && !isRecord(valueAt(ingress, "spec", "defaultBackend"))) {
      errors.push(invalid("spec", null, "either `defaultBackend` or `rules` must be specified"));
    }
    for (const [index, rule] of rules.entries()) {
      for (const [at, path] of recordsAt(rule, "http", "paths").entries()) {
        const where = `spec.rules[${index}].http.paths[${at}].pathType`;
        if (path.pathType === undefined) errors.push(required(where, "pathType must be specified"));
        else errors.push(...supportedValueErrors(where, path.pathType, ["Exact", "ImplementationSpecific", "Prefix"]));
      }
    }
    return errors;
  },
};

export const networkPolicyRules: BuiltinRules = {
  setDefaults: (policy) => {
    const spec = ensureObject(policy, "spec");
    const egress = spec.egress !== undefined && listAt(spec, "egress").length > 0;
    setDefault(spec, "policyTypes", egress ? ["Ingress", "Egress"] : ["Ingress"]);
    for (const rule of [...recordsAt(spec, "ingress"), ...recordsAt(spec, "egress")]) {
      for (const port of recordsAt(rule, "ports")) setDefault(port, "protocol", "TCP");
    }
  },
};

export const endpointsRules: BuiltinRules = {
  setDefaults: (endpoints) => {
    for (const subset of recordsAt(endpoints, "subsets")) {
      for (const port of recordsAt(subset, "ports")) setDefault(port, "protocol", "TCP");
    }
  },
};

export const endpointSliceRules: BuiltinRules = {
  setDefaults: (slice) => {
    for (const port of recordsAt(slice, "ports")) {
      setDefault(port, "name", "");
      setDefault(port, "protocol", "TCP");
    }
  },
};
