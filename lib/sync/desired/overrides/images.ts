import { trimTrailingSlashes } from "@tmc/kube/kubeconfig/server-address.ts";
import { rejectOverride } from "./patch.ts";

/** Replaces one registry path of images with another, both as `parseRegistryPath` returns them; without `from`, every host. */
export type HostRule = Readonly<{ from: string | undefined; to: string }>;

/** Parses a rule; rejects what is not a registry path. */
export function parseHostRule(
  { from, to }: Readonly<{ from?: string | undefined; to: string }>,
  location: string,
): HostRule {
  const parse = (text: string) =>
    parseRegistryPath(text) ??
    rejectOverride(location, `${JSON.stringify(text)} is not an image registry host or a path on one`);
  return { from: from === undefined ? undefined : parse(from), to: parse(to) };
}

/**
 * Replaces the host of an image by the most specific rule; an image that no rule matches is unchanged.
 *
 * A replaced image is never replaced again, also where the new path is below the old one. Rules of which one would replace
 * the result of another are rejected: the result would depend on how often they are applied.
 */
export function rewriteImage(image: string, rules: readonly HostRule[], location: string): string {
  const once = rewrite(image, rules);
  if (once === undefined) return image;
  if (!once.includes("/")) rejectOverride(location, `image ${JSON.stringify(image)} would have no name`);
  const twice = rewrite(once, rules);
  if (twice !== undefined) {
    const chain = `${JSON.stringify(once)}, and that by ${JSON.stringify(twice)}`;
    rejectOverride(location, `image ${JSON.stringify(image)} would be replaced by ${chain}`);
  }
  return once;
}

function rewrite(image: string, rules: readonly HostRule[]): string | undefined {
  const { name, version } = parseImage(image);
  const [rule] = rules
    .filter((each) => matches(name, each, rules))
    .toSorted((one, other) => (other.from?.length ?? 0) - (one.from?.length ?? 0));
  return rule === undefined ? undefined : `${rule.to}${name.slice((rule.from ?? hostOf(name)).length)}${version}`;
}

function matches(name: string, { from, to }: HostRule, rules: readonly HostRule[]): boolean {
  if (from === undefined) return !rules.some((each) => isUnderPath(name, each.to));
  const isReplaced = isUnderPath(to, from) && isUnderPath(name, to);
  return isUnderPath(name, from) && !isReplaced;
}

/** An image reference as container runtimes parse it. */
type ImageName = Readonly<{
  /** With the default host: `docker.io/library/nginx` for `nginx`. */
  name: string;
  /** `:1.29`, `@sha256:…`, or both. */
  version: string;
}>;

const defaultHost = "docker.io";
/** The path of images on the default host whose name has one part. */
const defaultPath = "library";

function parseImage(image: string): ImageName {
  const at = image.indexOf("@");
  const tagged = at < 0 ? image : image.slice(0, at);
  const colon = tagged.lastIndexOf(":");
  // A colon before a slash belongs to a port.
  const end = colon > tagged.lastIndexOf("/") ? colon : tagged.length;
  return { name: withHost(tagged.slice(0, end)), version: image.slice(end) };
}

/** The host of a name, with its port. */
function hostOf(name: string): string {
  const slash = name.indexOf("/");
  return slash < 0 ? name : name.slice(0, slash);
}

const hostPattern = /^([A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:]+\])(:[0-9]+)?$/;
const pathPattern = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/;

/**
 * Parses a registry host with an optional path; undefined for any other text. If container runtimes would not read the first
 * part as a host, it is a path on the default host.
 */
function parseRegistryPath(text: string): string | undefined {
  const [first = "", ...path] = trimTrailingSlashes(text).split("/");
  if (!path.every((part) => pathPattern.test(part))) return undefined;
  if (isHost(first)) return hostPattern.test(first) ? [canonicalHost(first), ...path].join("/") : undefined;
  return pathPattern.test(first) ? [defaultHost, first, ...path].join("/") : undefined;
}

/** Whether a name or a registry path is below a registry path. */
function isUnderPath(name: string, path: string): boolean {
  return name === path || name.startsWith(`${path}/`);
}

function withHost(name: string): string {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(0, slash));
  if (!isHost(first)) return `${defaultHost}/${slash < 0 ? `${defaultPath}/` : ""}${name}`;
  const host = canonicalHost(first);
  const path = name.slice(slash + 1);
  return host === defaultHost && !path.includes("/") ? `${host}/${defaultPath}/${path}` : `${host}/${path}`;
}

/** The rule of container runtimes for whether the first part of a reference is a host. */
function isHost(part: string): boolean {
  return /[.:]/.test(part) || part === "localhost" || part !== part.toLowerCase();
}

const canonicalHost = (host: string): string => (host === "index.docker.io" ? defaultHost : host);
