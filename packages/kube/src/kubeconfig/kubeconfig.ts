import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { load, YAMLException } from "js-yaml";
import { type Clock, systemClock } from "../clock.ts";
import { ControllerError } from "../fault.ts";
import { isRecord } from "../json.ts";
import type { Endpoint } from "../transport/transport.ts";
import { parseServerAddress } from "./server-address.ts";

export type KubeconfigOptions = Readonly<{
  /** @default the file's current-context */
  context?: string | undefined;
  /**
   * `data-only` for a kubeconfig from another party: it may neither refer to files nor disable the TLS check. `files` for
   * the user's own.
   */
  allow: "data-only" | "files";
  /** The base of relative paths: the folder of the kubeconfig. @default the working directory */
  directory?: string | undefined;
  clock?: Clock | undefined;
}>;

/** One context of a kubeconfig, resolved. */
export type ResolvedContext = Readonly<{ context: string; namespace: string | undefined; endpoint: Endpoint }>;

/** A mapping in a kubeconfig, or the whole document. */
export type KubeconfigEntry = Readonly<Record<string, unknown>>;

/** Token files are rotated: they are read again after this time. */
const tokenFileAgeMs = 10_000;

/**
 * Limits of the fields, because another party may have written them: names and addresses, and tokens. Certificates are
 * limited only by the length of the document.
 */
const maxTextLength = 2_048;
const maxCredentialLength = 64 * 1024;
/** How many names a message lists. */
const maxListedNames = 5;

/** Fields of a user that lead outside the kubeconfig or are not supported, and why each is rejected. */
const refusedUserFields: Readonly<Record<string, string>> = {
  exec: "runs a program",
  "auth-provider": "runs a login of its own",
  username: "password login is not supported",
  password: "password login is not supported",
  "as-uid": "is not supported",
  "as-user-extra": "is not supported",
};
const userFileFields = ["client-certificate", "client-key", "tokenFile"] as const;

/**
 * Reads one context of a kubeconfig, in YAML or JSON.
 *
 * One error names all rejected fields with the reasons, never with their values. Exec plugins and auth providers are
 * rejected in both modes; `loadCliKubeconfig` can run them.
 */
export function parseKubeconfig(text: string, options: KubeconfigOptions): ResolvedContext {
  return resolveContext(parseKubeconfigYaml(text), options);
}

/** Reads one context of a kubeconfig that `parseKubeconfigYaml` has parsed. */
export function resolveContext(file: KubeconfigEntry, options: KubeconfigOptions): ResolvedContext {
  const { contextName, context, clusterName, cluster, userName, user } = selectContext(file, options.context);

  const refusals = [...refusalsOfCluster(cluster, options.allow), ...refusalsOfUser(user, options.allow)];
  if (refusals.length > 0) throw invalid(`context ${quote(contextName)}: ${refusals.join("; ")}`);

  const server = stringOf(cluster, "server");
  if (!server) throw invalid(`cluster ${quote(clusterName)}: has no server`);
  const { origin, basePath, protocol } = parseServerAddress(server);
  if (options.allow === "data-only" && protocol !== "https:") {
    throw invalid(`cluster ${quote(clusterName)}: server is not https`);
  }
  const ca = pemOf(cluster, "certificate-authority", options);
  const certificate = pemOf(user, "client-certificate", options);
  const key = pemOf(user, "client-key", options);
  if ((certificate === undefined) !== (key === undefined)) {
    throw invalid(`user ${quote(userName ?? "")}: client certificate and key come only together`);
  }
  const impersonated = stringOf(user, "as");
  const endpoint: Endpoint = {
    server: origin + basePath,
    ca,
    certificate,
    key,
    token: tokenOf(user, options),
    insecureSkipTlsVerify: cluster["insecure-skip-tls-verify"] === true ? true : undefined,
    serverName: stringOf(cluster, "tls-server-name"),
    impersonate: impersonated === undefined ? undefined : { user: impersonated, groups: stringsOf(user, "as-groups") },
  };
  return { context: contextName, namespace: stringOf(context, "namespace"), endpoint };
}

/** A context of a kubeconfig with the entries that it names. */
export type SelectedContext = Readonly<{
  contextName: string;
  context: KubeconfigEntry;
  clusterName: string;
  cluster: KubeconfigEntry;
  userName: string | undefined;
  /** Empty for a context without a user. */
  user: KubeconfigEntry;
}>;

/** Returns a context, or else the current one, with its cluster and user; the error lists the names of which there are. */
export function selectContext(file: KubeconfigEntry, name: string | undefined): SelectedContext {
  const contextName = name ?? stringOf(file, "current-context");
  if (!contextName) throw invalid(`no context chosen; there are ${formatNames(file, "contexts")}`);
  const context = entryOf(file, { list: "contexts", field: "context", name: contextName });
  const clusterName = stringOf(context, "cluster");
  if (!clusterName) throw invalid(`context ${quote(contextName)}: names no cluster`);
  const cluster = entryOf(file, { list: "clusters", field: "cluster", name: clusterName });
  const userName = stringOf(context, "user");
  const user: KubeconfigEntry = userName ? entryOf(file, { list: "users", field: "user", name: userName }) : {};
  return { contextName, context, clusterName, cluster, userName, user };
}

function invalid(why: string): ControllerError {
  return new ControllerError("invalid", `kubeconfig: ${why}`);
}

/** Parses the YAML or JSON of a kubeconfig. Throws the fault "invalid" with a message that contains no values. */
export function parseKubeconfigYaml(text: string): KubeconfigEntry {
  let document: unknown;
  try {
    document = load(text);
  } catch (error) {
    // The exception quotes the lines around the error, which may contain a token: the message has the line number only.
    const line = error instanceof YAMLException && error.mark ? ` in line ${error.mark.line + 1}` : "";
    throw invalid(`is not yaml${line}`);
  }
  if (!isRecord(document)) throw invalid("is not a mapping");
  return document;
}

/** Quotes a name for a message; no real name needs more than this. */
export function quote(name: string): string {
  return name.length <= 100 ? `"${name}"` : `"${name.slice(0, 99)}…"`;
}

/** Returns a list of a kubeconfig; empty if it is missing. */
export function listOf(file: KubeconfigEntry, list: string): readonly KubeconfigEntry[] {
  const entries = file[list] ?? [];
  if (!Array.isArray(entries) || !entries.every(isRecord)) throw invalid(`${list}: is not a list of mappings`);
  return entries;
}

function formatNames(file: KubeconfigEntry, list: string): string {
  const entries = listOf(file, list);
  const names = entries.slice(0, maxListedNames).map(({ name }) => quote(String(name)));
  const rest = entries.length - names.length;
  if (rest > 0) names.push(`${rest} more`);
  return names.length === 0 ? `no ${list}` : names.join(", ");
}

function entryOf(
  file: KubeconfigEntry,
  { list, field, name }: Readonly<{ list: string; field: string; name: string }>,
): KubeconfigEntry {
  const found = listOf(file, list).find((entry) => entry.name === name);
  if (found === undefined) throw invalid(`${field} ${quote(name)}: not found; there are ${formatNames(file, list)}`);
  const value = found[field] ?? {};
  if (!isRecord(value)) throw invalid(`${field} ${quote(name)}: is not a mapping`);
  return value;
}

/** Returns a text field; undefined if it is missing or empty. */
export function stringOf(entry: KubeconfigEntry, field: string, maxLength = maxTextLength): string | undefined {
  const value = entry[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw invalid(`${field}: is not text`);
  if (value.length > maxLength) throw invalid(`${field}: is longer than ${maxLength} characters`);
  return value;
}

function stringsOf(entry: KubeconfigEntry, field: string): string[] {
  const value = entry[field] ?? [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) {
    throw invalid(`${field}: is not a list of texts`);
  }
  if (value.join("").length > maxTextLength) throw invalid(`${field}: is longer than ${maxTextLength} characters`);
  return value;
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== "" && value !== false;

function refusalsOfCluster(cluster: KubeconfigEntry, allow: KubeconfigOptions["allow"]): string[] {
  const refusals: string[] = [];
  if (isSet(cluster["proxy-url"])) refusals.push("proxy-url is not supported");
  if (allow === "files") return refusals;
  if (isSet(cluster["certificate-authority"])) refusals.push("certificate-authority names a file");
  if (isSet(cluster["insecure-skip-tls-verify"]))
    refusals.push("insecure-skip-tls-verify turns off the check of the server");
  return refusals;
}

function refusalsOfUser(user: KubeconfigEntry, allow: KubeconfigOptions["allow"]): string[] {
  const refusals = Object.entries(refusedUserFields)
    .filter(([field]) => isSet(user[field]))
    .map(([field, why]) => `${field} ${why}`);
  if (allow === "files") return refusals;
  return [...refusals, ...userFileFields.filter((field) => isSet(user[field])).map((field) => `${field} names a file`)];
}

/** PEM from the `-data` field or else from the file that the other field names: kubectl's order. */
function pemOf(entry: KubeconfigEntry, field: string, { directory }: KubeconfigOptions): string | undefined {
  const data = stringOf(entry, `${field}-data`, Number.POSITIVE_INFINITY);
  const path = stringOf(entry, field);
  const pem =
    data !== undefined
      ? Buffer.from(data, "base64").toString("utf8")
      : path !== undefined
        ? readPem(field, resolve(directory ?? ".", path))
        : undefined;
  if (pem !== undefined && !pem.includes("-----BEGIN ")) {
    throw invalid(`${data === undefined ? field : `${field}-data`}: is not pem`);
  }
  return pem;
}

function readPem(field: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ControllerError("invalid", `kubeconfig: ${field} "${path}": cannot be read`, { cause: error });
  }
}

/** Returns the function that gives the token of a user, from its file or else from the kubeconfig. */
export function tokenOf(
  user: KubeconfigEntry,
  { directory, clock = systemClock }: KubeconfigOptions,
): Endpoint["token"] {
  const path = stringOf(user, "tokenFile");
  const token = stringOf(user, "token", maxCredentialLength);
  // As in client-go, the file takes precedence: it is the one that is rotated.
  if (path === undefined) return token === undefined ? undefined : async () => token;
  const file = resolve(directory ?? ".", path);
  let read: Readonly<{ token: string; atMs: number }> | undefined;
  return async () => {
    if (read === undefined || clock.monotonicMs() - read.atMs > tokenFileAgeMs) {
      read = { token: (await readFile(file, "utf8")).trim(), atMs: clock.monotonicMs() };
    }
    return read.token;
  };
}
