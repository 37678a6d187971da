import { ensureObject, setDefault } from "../../field-changes.ts";
import { type Fields, isFields, numberAt, objectAt, objectsAt, textAt, valueAt } from "../../fields.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import { duplicate, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { compareQuantities } from "../quantity.ts";

/** Fills in what a pod's spec leaves out, be it a pod's own or a template's. */
export function setPodSpecDefaults(spec: Fields): void {
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "terminationGracePeriodSeconds", 30);
  setDefault(spec, "securityContext", {});
  // The old name of the same field, kept in step for old readers.
  const account = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  if (account !== "") {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  for (const container of [...objectsAt(spec, "initContainers"), ...objectsAt(spec, "containers")]) {
    setContainerDefaults(container);
  }
  for (const volume of objectsAt(spec, "volumes")) setVolumeDefaults(volume);
}

function setContainerDefaults(container: Fields): void {
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  setDefault(container, "imagePullPolicy", isLatest(textAt(container, "image")) ? "Always" : "IfNotPresent");
  ensureObject(container, "resources");
  for (const port of objectsAt(container, "ports")) setDefault(port, "protocol", "TCP");
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container[name];
    if (isFields(probe)) setProbeDefaults(probe);
  }
  for (const hook of ["postStart", "preStop"]) setHttpDefaults(objectAt(container, "lifecycle", hook));
  for (const variable of objectsAt(container, "env")) {
    const reference = valueAt(variable, "valueFrom", "fieldRef");
    if (isFields(reference)) setDefault(reference, "apiVersion", "v1");
  }
}

function setProbeDefaults(probe: Fields): void {
  setDefault(probe, "timeoutSeconds", 1);
  setDefault(probe, "periodSeconds", 10);
  setDefault(probe, "successThreshold", 1);
  setDefault(probe, "failureThreshold", 3);
  setHttpDefaults(probe);
  if (isFields(probe.grpc)) setDefault(probe.grpc, "service", "");
}

function setHttpDefaults(handler: Fields): void {
  if (!isFields(handler.httpGet)) return;
  setDefault(handler.httpGet, "path", "/");
  setDefault(handler.httpGet, "scheme", "HTTP");
}

function setVolumeDefaults(volume: Fields): void {
  const { configMap, secret, projected, downwardAPI, hostPath } = volume;
  for (const source of [configMap, secret, projected, downwardAPI]) {
    // 0644, as Kubernetes writes it.
    if (isFields(source)) setDefault(source, "defaultMode", 420);
  }
  if (isFields(hostPath)) setDefault(hostPath, "type", "");
  const items = [...objectsAt(downwardAPI, "items")];
  for (const source of objectsAt(projected, "sources")) {
    if (isFields(source.serviceAccountToken)) setDefault(source.serviceAccountToken, "expirationSeconds", 3600);
    items.push(...objectsAt(source, "downwardAPI", "items"));
  }
  for (const item of items) if (isFields(item.fieldRef)) setDefault(item.fieldRef, "apiVersion", "v1");
}

function isLatest(image: string): boolean {
  const name = image.slice(image.lastIndexOf("/") + 1);
  if (name.includes("@")) return false;
  return !name.includes(":") || name.endsWith(":latest");
}

const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const labelProblem =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/** What is wrong with a pod's spec, as far as people meet it: containers, ports, volumes, policies. */
export function podSpecErrors(spec: unknown, path: string, claims: readonly string[] = []): FieldError[] {
  const errors: FieldError[] = [];
  if (!isFields(spec) || objectsAt(spec, "containers").length === 0) {
    errors.push(required(`${path}.containers`));
    if (!isFields(spec)) return errors;
  }
  const volumes = new Set([...claims, ...objectsAt(spec, "volumes").map((volume) => textAt(volume, "name"))]);
  const names = new Set<string>();
  for (const list of ["initContainers", "containers"]) {
    for (const [index, container] of objectsAt(spec, list).entries()) {
      errors.push(...containerErrors(container, `${path}.${list}[${index}]`, volumes, names));
    }
  }
  const { restartPolicy, dnsPolicy } = spec;
  errors.push(...choice(`${path}.restartPolicy`, restartPolicy, ["Always", "OnFailure", "Never"]));
  errors.push(
    ...choice(`${path}.dnsPolicy`, dnsPolicy, ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]),
  );
  return errors;
}

function containerErrors(
  container: Fields,
  path: string,
  volumes: ReadonlySet<string>,
  names: Set<string>,
): FieldError[] {
  const errors: FieldError[] = [];
  const name = textAt(container, "name");
  if (name === "") errors.push(required(`${path}.name`));
  else if (!labelPattern.test(name)) errors.push(invalid(`${path}.name`, name, labelProblem));
  else if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
  names.add(name);
  if (textAt(container, "image") === "") errors.push(required(`${path}.image`));
  for (const [index, port] of objectsAt(container, "ports").entries()) {
    const at = `${path}.ports[${index}]`;
    const number = numberAt(port, "containerPort");
    if (number === 0) errors.push(required(`${at}.containerPort`));
    else errors.push(...portErrors(`${at}.containerPort`, number));
    errors.push(...choice(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"]));
  }
  for (const [index, mount] of objectsAt(container, "volumeMounts").entries()) {
    const volume = textAt(mount, "name");
    const at = `${path}.volumeMounts[${index}]`;
    if (volume === "") errors.push(required(`${at}.name`));
    else if (!volumes.has(volume))
      errors.push({ type: "NotFound", field: `${at}.name`, message: `Not found: "${volume}"` });
  }
  errors.push(...choice(`${path}.imagePullPolicy`, container.imagePullPolicy, ["Always", "IfNotPresent", "Never"]));
  for (const [resource, wanted] of Object.entries(objectAt(container, "resources", "requests"))) {
    const limit = valueAt(container, "resources", "limits", resource);
    if (typeof wanted !== "string" || typeof limit !== "string") continue;
    if ((compareQuantities(wanted, limit) ?? 0) > 0) {
      const detail = `must be less than or equal to ${resource} limit of ${limit}`;
      errors.push(invalid(`${path}.resources.requests`, wanted, detail));
    }
  }
  return errors;
}

export function portErrors(path: string, port: number): FieldError[] {
  return port >= 1 && port <= 65535 ? [] : [invalid(path, port, "must be between 1 and 65535, inclusive")];
}

/** An error where a value is there and is none of those that are allowed. */
export function choice(path: string, value: unknown, supported: readonly string[]): FieldError[] {
  if (value === undefined || (typeof value === "string" && supported.includes(value))) return [];
  return [notSupported(path, value, supported)];
}
