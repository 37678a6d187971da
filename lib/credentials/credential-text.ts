import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig.ts";
import { parseServerAddress } from "@tmc/kube/server-address.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import { load } from "js-yaml";

/** A kubeconfig with certificates takes some ten kilobytes; parsing what somebody else wrote must stay cheap. */
export const longestKubeconfig = 256 * 1024;

const simpleFields: ReadonlySet<string> = new Set(["server", "ca", "token"]);

/**
 * Reads credentials that are kept as one text: a kubeconfig that holds all it needs, or `server`, `ca` and `token`; either
 * in YAML or JSON. What is wrong is the fault "invalid", in words that hold no value.
 */
export function parseCredentialText(text: string): Endpoint {
  if (text.length > longestKubeconfig) throw new ControllerError("invalid", "kubeconfig: is too long");
  const simple = simpleForm(text);
  return simple === undefined ? parseKubeconfig(text, { allow: "data-only" }).endpoint : simple;
}

/** The short form, or undefined for anything that had better be told what is wrong with it as a kubeconfig. */
function simpleForm(text: string): Endpoint | undefined {
  let document: unknown;
  try {
    document = load(text);
  } catch {
    return undefined;
  }
  if (!isRecord(document) || document.server === undefined || document.clusters !== undefined) return undefined;
  const problems = Object.keys(document)
    .filter((field) => !simpleFields.has(field))
    .map(() => "there is more in it than server, ca and token");
  const { server, ca, token } = document;
  if (typeof server !== "string") problems.push("server is not text");
  if (typeof token !== "string" || token.trim() === "") problems.push("token is missing");
  if (ca !== undefined && (typeof ca !== "string" || !pemOf(ca).includes("-----BEGIN ")))
    problems.push("ca is not pem");
  if (problems.length > 0 || typeof server !== "string" || typeof token !== "string") {
    throw new ControllerError("invalid", `credentials: ${[...new Set(problems)].join("; ")}`);
  }
  const { origin, basePath, protocol } = parseServerAddress(server);
  if (protocol !== "https:") throw new ControllerError("invalid", "credentials: server is not https");
  const trimmed = token.trim();
  return {
    server: origin + basePath,
    ca: typeof ca === "string" ? pemOf(ca) : undefined,
    token: async () => trimmed,
  };
}

/** Certificates as PEM, or as the base64 of it that Kubernetes' own objects carry. */
export function pemOf(bundle: string): string {
  return bundle.includes("-----BEGIN ") ? bundle : Buffer.from(bundle, "base64").toString("utf8");
}
