import { createHash } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import { subdomainProblems } from "@tmc/kube/selector.ts";

/** A secret in the cluster's own logical cluster, and which of its entries holds the kubeconfig. */
export type SecretPointer = Readonly<{ namespace: string; name: string; key: string }>;

/** A rule for the secret of every cluster; made by `parseSecretTemplate` only. */
export type SecretTemplate = Readonly<{ namespace: string; name: string; key: SecretKey }>;

/** The entries that kplane writes: for clients beside the control plane, and for those outside. */
export const secretKeys = ["kubeconfig", "kubeconfig-external"] as const;
export type SecretKey = (typeof secretKeys)[number];

const kplaneNamespace = "kplane-cp-{name}";
const kplaneName = "controlplane-{name}-kubeconfig";

/** Where kplane puts kubeconfigs. */
export const kplaneTemplate: SecretTemplate = { namespace: kplaneNamespace, name: kplaneName, key: "kubeconfig" };

/** The form of a template, for messages. */
export const templateForm = `[namespace/]name[:key] such as ${kplaneName}`;

const longestLabel = 63;
const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const placeholderPattern = /\{[^{}]*\}/g;

/**
 * Reads a template, `[namespace/]name[:key]`; throws with everything that is wrong with it.
 *
 * Each part holds at most one placeholder, and the cluster's name is in one of them: so two clusters never get the same
 * secret, as they would with `{namespace}-{name}` for a-b/c and a/b-c.
 */
export function parseSecretTemplate(text: string): SecretTemplate {
  const parts = /^(?:([^/:]*)\/)?([^/:]*)(?::([^/:]*))?$/.exec(text);
  if (parts === null) throw new ControllerError("invalid", `is not ${templateForm}`);
  const [, namespace = kplaneNamespace, name = "", keyText = "kubeconfig"] = parts;
  const key = secretKeys.find((known) => known === keyText);
  const problems = [
    ...partProblems("namespace", namespace, ["{name}", "{namespace}"]),
    ...partProblems("name", name, ["{name}"]),
  ];
  if (key === undefined) problems.push(`its key "${keyText}" is not one of ${secretKeys.join(", ")}`);
  if (!`${namespace}/${name}`.includes("{name}"))
    problems.push("{name} is missing: all clusters would share one secret");
  if (problems.length > 0 || key === undefined) throw new ControllerError("invalid", problems.join("; "));
  return { namespace, name, key };
}

function partProblems(part: string, text: string, known: readonly string[]): string[] {
  const placeholders = text.match(placeholderPattern) ?? [];
  const strange = placeholders.filter((placeholder) => !known.includes(placeholder));
  const problems = strange.map((placeholder) => `${placeholder} in its ${part} is not ${known.join(" or ")}`);
  if (placeholders.length > 1) problems.push(`its ${part} has more than one placeholder`);
  // With any name in its place it has to be one that a server takes.
  const example = text.replaceAll(placeholderPattern, "x");
  const isFitting = part === "namespace" ? isLabel(example) : subdomainProblems(example).length === 0;
  if (!isFitting) problems.push(`its ${part} "${text}" can be no name of a ${part === "name" ? "secret" : part}`);
  return problems;
}

/**
 * The secret of one cluster, or why there can be none. What the object is called is put in once and never read again as a
 * template, and what comes out is a name or is refused.
 */
export function renderSecret(
  template: SecretTemplate,
  { namespace, name }: Readonly<{ namespace: string; name: string }>,
): SecretPointer | Readonly<{ problem: string }> {
  if (template.namespace.includes("{namespace}") && namespace === "") {
    return { problem: "its secret would be in its own namespace, and it has none" };
  }
  const fill = (text: string): string =>
    text.replaceAll(placeholderPattern, (placeholder) => (placeholder === "{namespace}" ? namespace : name));
  const pointer: SecretPointer = {
    namespace: template.namespace === kplaneNamespace ? kplaneNamespaceOf(name) : fill(template.namespace),
    name: template.name === kplaneName ? kplaneSecretOf(name) : fill(template.name),
    key: template.key,
  };
  const problem = pointerProblem(pointer);
  return problem === undefined ? pointer : { problem };
}

/** Says why something cannot be the address of a secret; undefined when it can. */
export function pointerProblem({ namespace, name }: SecretPointer): string | undefined {
  if (!isLabel(namespace)) return `its secret would be in ${JSON.stringify(namespace)}, which is no namespace`;
  if (subdomainProblems(name).length > 0) return `its secret would be ${JSON.stringify(name)}, which is no name`;
  return undefined;
}

const isLabel = (text: string): boolean => text.length <= longestLabel && labelPattern.test(text);

// kplane cuts its own two names when they get longer than a label, each in its own way, and so must whoever looks for them.

function kplaneNamespaceOf(name: string): string {
  const whole = `kplane-cp-${name}`;
  return whole.length <= longestLabel
    ? whole
    : `kplane-cp-${name.slice(0, 40)}-${shortHash(name)}`.slice(0, longestLabel);
}

function kplaneSecretOf(name: string): string {
  const whole = `controlplane-${name}-kubeconfig`;
  return whole.length <= longestLabel
    ? whole
    : `cp-${name.slice(0, 30)}-kubeconfig-${shortHash(name)}`.slice(0, longestLabel);
}

const shortHash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8);
