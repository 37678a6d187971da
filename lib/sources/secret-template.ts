import { createHash } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import { subdomainErrors } from "@tmc/kube/selector.ts";

/** A Secret in the cluster's own logical cluster, and the key that holds the kubeconfig. */
export type KubeconfigSecret = Readonly<{ namespace: string; name: string; key: string }>;

/** A template for the Secret of every cluster; created by `parseSecretTemplate`. */
export type SecretTemplate = Readonly<{ namespace: string; name: string; key: SecretKey }>;

/** The keys that kplane writes: for clients next to the control plane, and for external clients. */
export const secretKeys = ["kubeconfig", "kubeconfig-external"] as const;
export type SecretKey = (typeof secretKeys)[number];

const kplaneNamespace = "kplane-cp-{name}";
const kplaneName = "controlplane-{name}-kubeconfig";

/** The Secrets in which kplane stores kubeconfigs. */
export const kplaneTemplate: SecretTemplate = { namespace: kplaneNamespace, name: kplaneName, key: "kubeconfig" };

/** The syntax of a template, for messages. */
export const templateForm = `[namespace/]name[:key] such as ${kplaneName}`;

const maxLabelLength = 63;
const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const placeholderPattern = /\{[^{}]*\}/g;

/**
 * Parses a template, `[namespace/]name[:key]`; throws an error that names everything that is wrong with it.
 *
 * Each part has at most one placeholder, and at least one part contains `{name}`, so that two clusters never get the same
 * Secret. With `{namespace}-{name}`, the clusters a-b/c and a/b-c would.
 */
export function parseSecretTemplate(text: string): SecretTemplate {
  const parts = /^(?:([^/:]*)\/)?([^/:]*)(?::([^/:]*))?$/.exec(text);
  if (parts === null) throw new ControllerError("invalid", `does not have the form ${templateForm}`);
  const [, namespace = kplaneNamespace, name = "", keyText = "kubeconfig"] = parts;
  const key = secretKeys.find((known) => known === keyText);
  const errors = [
    ...partErrors("namespace", namespace, ["{name}", "{namespace}"]),
    ...partErrors("name", name, ["{name}"]),
  ];
  if (key === undefined) errors.push(`key "${keyText}" is not one of ${secretKeys.join(", ")}`);
  if (!`${namespace}/${name}`.includes("{name}"))
    errors.push("{name} is missing: all clusters would use the same secret");
  if (errors.length > 0 || key === undefined) throw new ControllerError("invalid", errors.join("; "));
  return { namespace, name, key };
}

function partErrors(part: string, text: string, known: readonly string[]): string[] {
  const placeholders = text.match(placeholderPattern) ?? [];
  const unknown = placeholders.filter((placeholder) => !known.includes(placeholder));
  const errors = unknown.map((placeholder) => `${placeholder} in the ${part} is not ${known.join(" or ")}`);
  if (placeholders.length > 1) errors.push(`the ${part} has more than one placeholder`);
  // The part must be a valid name with any name in place of the placeholder.
  const example = text.replaceAll(placeholderPattern, "x");
  const isValid = part === "namespace" ? isLabel(example) : subdomainErrors(example).length === 0;
  if (!isValid) errors.push(`the ${part} "${text}" is not a valid ${part === "name" ? "secret name" : part}`);
  return errors;
}

/**
 * Returns the Secret of one cluster, or why there is none. Placeholders are replaced once, so that a name cannot inject
 * another placeholder, and the result must be a valid name.
 */
export function renderSecret(
  template: SecretTemplate,
  { namespace, name }: Readonly<{ namespace: string; name: string }>,
): KubeconfigSecret | Readonly<{ error: string }> {
  if (template.namespace.includes("{namespace}") && namespace === "") {
    return { error: "the secret template uses {namespace}, but the object is cluster-scoped" };
  }
  const fill = (text: string): string =>
    text.replaceAll(placeholderPattern, (placeholder) => (placeholder === "{namespace}" ? namespace : name));
  const reference: KubeconfigSecret = {
    namespace: template.namespace === kplaneNamespace ? kplaneNamespaceOf(name) : fill(template.namespace),
    name: template.name === kplaneName ? kplaneSecretOf(name) : fill(template.name),
    key: template.key,
  };
  const error = secretReferenceError(reference);
  return error === undefined ? reference : { error };
}

/** Returns why a Secret reference is invalid; undefined if it is valid. */
export function secretReferenceError({ namespace, name }: KubeconfigSecret): string | undefined {
  if (!isLabel(namespace)) return `secret namespace ${JSON.stringify(namespace)} is not a valid namespace`;
  if (subdomainErrors(name).length > 0) return `secret name ${JSON.stringify(name)} is not a valid name`;
  return undefined;
}

const isLabel = (text: string): boolean => text.length <= maxLabelLength && labelPattern.test(text);

// kplane truncates these two names differently if they are longer than a label. The functions below do the same.

function kplaneNamespaceOf(name: string): string {
  const fullName = `kplane-cp-${name}`;
  return fullName.length <= maxLabelLength
    ? fullName
    : `kplane-cp-${name.slice(0, 40)}-${shortHash(name)}`.slice(0, maxLabelLength);
}

function kplaneSecretOf(name: string): string {
  const fullName = `controlplane-${name}-kubeconfig`;
  return fullName.length <= maxLabelLength
    ? fullName
    : `cp-${name.slice(0, 30)}-kubeconfig-${shortHash(name)}`.slice(0, maxLabelLength);
}

const shortHash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8);
