import { refuse } from "./patch.ts";

/** One place of images and what takes its place, both as `parsePlace` gives them; without `from`, for every image. */
export type HostRule = Readonly<{ from: string | undefined; to: string }>;

/** Reads a rule; refuses what is no place of images. */
export function parseHostRule(
  { from, to }: Readonly<{ from?: string | undefined; to: string }>,
  where: string,
): HostRule {
  const read = (text: string) =>
    parsePlace(text) ?? refuse(where, `${JSON.stringify(text)} is no host of images, nor a path on one`);
  return { from: from === undefined ? undefined : read(from), to: read(to) };
}

/**
 * The image with its host replaced by the rule that says most about it; as it was when none does.
 *
 * An image that was replaced is never replaced again, also where the new place is within the old one. Rules of which one
 * would take up what another has made are refused: what came out would depend on how often they were followed.
 */
export function rewriteImage(image: string, rules: readonly HostRule[], where: string): string {
  const once = rewrite(image, rules);
  if (once === undefined) return image;
  if (!once.includes("/")) refuse(where, `image ${JSON.stringify(image)} would be left without a name`);
  const twice = rewrite(once, rules);
  if (twice !== undefined) {
    refuse(
      where,
      `image ${JSON.stringify(image)} would be replaced by ${JSON.stringify(once)}, and that by ${JSON.stringify(twice)}`,
    );
  }
  return once;
}

function rewrite(image: string, rules: readonly HostRule[]): string | undefined {
  const { name, version } = parseImage(image);
  const [rule] = rules
    .filter((each) => isMeant(name, each, rules))
    .toSorted((one, other) => (other.from?.length ?? 0) - (one.from?.length ?? 0));
  return rule === undefined ? undefined : `${rule.to}${name.slice((rule.from ?? hostOf(name)).length)}${version}`;
}

function isMeant(name: string, { from, to }: HostRule, rules: readonly HostRule[]): boolean {
  if (from === undefined) return !rules.some((each) => isAt(name, each.to));
  const isDone = isAt(to, from) && isAt(name, to);
  return isAt(name, from) && !isDone;
}

/** An image's name as a container runtime reads it, with the host that was left out, and what comes after it. */
export type ImageName = Readonly<{
  /** `docker.io/library/nginx` for `nginx`. */
  name: string;
  /** `:1.29`, `@sha256:…`, or both. */
  version: string;
}>;

const defaultHost = "docker.io";
/** Where the default host keeps what has a name of one word. */
const defaultPath = "library";

/** Reads an image as it stands in a container. */
export function parseImage(image: string): ImageName {
  const at = image.indexOf("@");
  const named = at < 0 ? image : image.slice(0, at);
  const colon = named.lastIndexOf(":");
  // A colon before a slash is that of a port.
  const end = colon > named.lastIndexOf("/") ? colon : named.length;
  return { name: withHost(named.slice(0, end)), version: image.slice(end) };
}

/** The host of a name, with its port. */
export function hostOf(name: string): string {
  const slash = name.indexOf("/");
  return slash < 0 ? name : name.slice(0, slash);
}

const hostPattern = /^([A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:]+\])(:[0-9]+)?$/;
const pathPattern = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/;

/**
 * Reads where images are: a host, and maybe a part of the path; undefined for anything else. A first word that no runtime
 * takes for a host is a path on the default one.
 */
export function parsePlace(text: string): string | undefined {
  const [first = "", ...path] = text.replace(/\/+$/, "").split("/");
  if (!path.every((part) => pathPattern.test(part))) return undefined;
  if (isHost(first)) return hostPattern.test(first) ? [canonicalHost(first), ...path].join("/") : undefined;
  return pathPattern.test(first) ? [defaultHost, first, ...path].join("/") : undefined;
}

/** Tells whether a name, or another place, is at a place. */
export function isAt(name: string, place: string): boolean {
  return name === place || name.startsWith(`${place}/`);
}

function withHost(name: string): string {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(0, slash));
  if (!isHost(first)) return `${defaultHost}/${slash < 0 ? `${defaultPath}/` : ""}${name}`;
  const host = canonicalHost(first);
  const path = name.slice(slash + 1);
  return host === defaultHost && !path.includes("/") ? `${host}/${defaultPath}/${path}` : `${host}/${path}`;
}

/** The rule by which runtimes tell a host from the first word of a path. */
function isHost(word: string): boolean {
  return /[.:]/.test(word) || word === "localhost" || word !== word.toLowerCase();
}

const canonicalHost = (host: string): string => (host === "index.docker.io" ? defaultHost : host);
