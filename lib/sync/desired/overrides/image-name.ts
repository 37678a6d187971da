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
