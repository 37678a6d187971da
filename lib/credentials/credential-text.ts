import { ControllerError } from "@tmc/kube/fault.ts";
import { parseKubeconfigYaml, resolveContext } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { parseServerAddress } from "@tmc/kube/kubeconfig/server-address.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";

/** A kubeconfig with certificates has about 10 KB. The limit bounds the cost of parsing untrusted input. */
export const maxKubeconfigLength = 256 * 1024;

const shortFormFields: ReadonlySet<string> = new Set(["server", "ca", "token"]);

/**
 * Parses credentials in YAML or JSON: a self-contained kubeconfig, or an object with `server`, `ca` and `token`. Throws the
 * fault "invalid" with a message that contains no values.
 */
export function parseCredentialText(text: string): Endpoint {
  if (text.length > maxKubeconfigLength) throw new ControllerError("invalid", "kubeconfig: too long");
  const document = parseKubeconfigYaml(text);
  const isShortForm = document.server !== undefined && document.clusters === undefined;
  return isShortForm ? endpointOfShortForm(document) : resolveContext(document, { allow: "data-only" }).endpoint;
}

function endpointOfShortForm(document: Readonly<Record<string, unknown>>): Endpoint {
  const errors = Object.keys(document)
    .filter((field) => !shortFormFields.has(field))
    .map(() => "fields other than server, ca and token are not allowed");
  const { server, ca, token } = document;
  if (typeof server !== "string") errors.push("server is not a string");
  if (typeof token !== "string" || token.trim() === "") errors.push("token is missing");
  if (ca !== undefined && (typeof ca !== "string" || !decodePem(ca).includes("-----BEGIN ")))
    errors.push("ca is not PEM");
  if (errors.length > 0 || typeof server !== "string" || typeof token !== "string") {
    throw new ControllerError("invalid", `credentials: ${[...new Set(errors)].join("; ")}`);
  }
  const { origin, basePath, protocol } = parseServerAddress(server);
  if (protocol !== "https:") throw new ControllerError("invalid", "credentials: server is not https");
  const trimmed = token.trim();
  return {
    server: origin + basePath,
    ca: typeof ca === "string" ? decodePem(ca) : undefined,
    token: async () => trimmed,
  };
}

/** Returns certificates as PEM; the input may be base64-encoded PEM, as in Kubernetes objects. */
export function decodePem(bundle: string): string {
  return bundle.includes("-----BEGIN ") ? bundle : Buffer.from(bundle, "base64").toString("utf8");
}
