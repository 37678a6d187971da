import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { duplicate, invalid, notSupported, required } from "../../machinery/field-error.ts";
import {
  ensureObject,
  type MutableFields,
  numberOrZeroAt,
  recordAt,
  recordsAt,
  setDefault,
} from "../../machinery/fields.ts";
import { compareQuantityTexts } from "../quantity.ts";

/** Sets the defaults of a pod spec, in a pod or in a template. */
export function setPodSpecDefaults(spec: MutableFields): void {
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "terminationGracePeriodSeconds", 30);
  setDefault(spec, "securityContext", {});
  // serviceAccount is the deprecated alias of serviceAccountName; both are always set.
  const account = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  if (account !== "") {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  for (const container of [...recordsAt(spec, "initContainers"), ...recordsAt(spec, "containers")]) {
    setContainerDefaults(container);
  }
  for (const volume of recordsAt(spec, "volumes")) setVolumeDefaults(volume);
}

function setContainerDefaults(container: MutableFields): void {
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  setDefault(container, "imagePullPolicy", isLatest(textAt(container, "image")) ? "Always" : "IfNotPresent");
  ensureObject(container, "resources");
  for (const port of recordsAt(container, "ports")) setDefault(port, "protocol", "TCP");
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container[name];
    if (isRecord(probe)) setProbeDefaults(probe);
  }
  for (const hook of ["postStart", "preStop"]) setHttpDefaults(recordAt(container, "lifecycle", hook));
  for (const variable of recordsAt(container, "env")) {
    const reference = valueAt(variable, "valueFrom", "fieldRef");
    if (isRecord(reference)) setDefault(reference, "apiVersion", "v1");
  }
}

function setProbeDefaults(probe: MutableFields): void {
  setDefault(probe, "timeoutSeconds", 1);
  setDefault(probe, "periodSeconds", 10);
  setDefault(probe, "successThreshold", 1);
  setDefault(probe, "failureThreshold", 3);
  setHttpDefaults(probe);
  if (isRecord(probe.grpc)) setDefault(probe.grpc, "service", "");
}

function setHttpDefaults(handler: MutableFields): void {
  if (!isRecord(handler.httpGet)) return;
  setDefault(handler.httpGet, "path", "/");
  setDefault(handler.httpGet, "scheme", "HTTP");
}

function setVolumeDefaults(volume: MutableFields): void {
  const { configMap, secret, projected, downwardAPI, hostPath } = volume;
  for (const source of [configMap, secret, projected, downwardAPI]) {
    // 0644 in decimal.
    if (isRecord(source)) setDefault(source, "defaultMode", 420);
  }
  if (isRecord(hostPath)) setDefault(hostPath, "type", "");
  const items = [...recordsAt(downwardAPI, "items")];
  for (const source of recordsAt(projected, "sources")) {
    if (isRecord(source.serviceAccountToken)) setDefault(source.serviceAccountToken, "expirationSeconds", 3600);
    items.push(...recordsAt(source, "downwardAPI", "items"));
  }
  for (const item of items) if (isRecord(item.fieldRef)) setDefault(item.fieldRef, "apiVersion", "v1");
}

function isLatest(image: string): boolean {
  const name = image.slice(image.lastIndexOf("/") + 1);
  if (name.includes("@")) return false;
  return !name.includes(":") || name.endsWith(":latest");
}

const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const labelMessage =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/** Validates a pod spec. Covers the errors that users usually run into: containers, ports, volumes, policies. */
export function podSpecErrors(spec: unknown, path: string, claims: readonly string[] = []): FieldError[] {
  const errors: FieldError[] = [];
  if (!isRecord(spec) || recordsAt(spec, "containers").length === 0) {
    errors.push(required(`${path}.containers`));
    if (!isRecord(spec)) return errors;
  }
  const volumes = new Set([...claims, ...recordsAt(spec, "volumes").map((volume) => textAt(volume, "name"))]);
  const names = new Set<string>();
  for (const list of ["initContainers", "containers"]) {
    for (const [index, container] of recordsAt(spec, list).entries()) {
      errors.push(...containerErrors(container, `${path}.${list}[${index}]`, volumes, names));
    }
  }
  const { restartPolicy, dnsPolicy } = spec;
  errors.push(...supportedValueErrors(`${path}.restartPolicy`, restartPolicy, ["Always", "OnFailure", "Never"]));
  errors.push(
    ...supportedValueErrors(`${path}.dnsPolicy`, dnsPolicy, [
      "ClusterFirstWithHostNet",
      "ClusterFirst",
      "Default",
      "None",
    ]),
  );
  return errors;
}

function containerErrors(
  container: MutableFields,
  path: string,
  volumes: ReadonlySet<string>,
  names: Set<string>,
): FieldError[] {
  const errors: FieldError[] = [];
  const name = textAt(container, "name");
  if (name === "") errors.push(required(`${path}.name`));
  else if (!labelPattern.test(name)) errors.push(invalid(`${path}.name`, name, labelMessage));
  else if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
  names.add(name);
  if (textAt(container, "image") === "") errors.push(required(`${path}.image`));
  for (const [index, port] of recordsAt(container, "ports").entries()) {
    const at = `${path}.ports[${index}]`;
    const number = numberOrZeroAt(port, "containerPort");
    if (number === 0) errors.push(required(`${at}.containerPort`));
    else errors.push(...portErrors(`${at}.containerPort`, number));
    errors.push(...supportedValueErrors(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"]));
  }
  for (const [index, mount] of recordsAt(container, "volumeMounts").entries()) {
    const volume = textAt(mount, "name");
    const at = `${path}.volumeMounts[${index}]`;
    if (volume === "") errors.push(required(`${at}.name`));
    else if (!volumes.has(volume))
      errors.push({ type: "NotFound", field: `${at}.name`, message: `Not found: "${volume}"` });
  }
  errors.push(
    ...supportedValueErrors(`${path}.imagePullPolicy`, container.imagePullPolicy, ["Always", "IfNotPresent", "Never"]),
  );
  for (const [resource, request] of Object.entries(recordAt(container, "resources", "requests"))) {
    const limit = valueAt(container, "resources", "limits", resource);
    if (typeof request !== "string" || typeof limit !== "string") continue;
    if ((compareQuantityTexts(request, limit) ?? 0) > 0) {
      const detail = `must be less than or equal to ${resource} limit of ${limit}`;
      errors.push(invalid(`${path}.resources.requests`, request, detail));
    }
  }
  return errors;
}

export function portErrors(path: string, port: number): FieldError[] {
  return port >= 1 && port <= 65535 ? [] : [invalid(path, port, "must be between 1 and 65535, inclusive")];
}

/** Returns an error if the value is set and not among the supported values. */
export function supportedValueErrors(path: string, value: unknown, supported: readonly string[]): FieldError[] {
  if (value === undefined || (typeof value === "string" && supported.includes(value))) return [];
  return [notSupported(path, value, supported)];
}
