import { ControllerError } from "../fault.ts";

/** The parts of an API server's URL. */
export type ServerAddress = Readonly<{
  /** Scheme, host and port: `https://kcp.example.com:6443`. */
  origin: string;
  protocol: "https:" | "http:";
  /** Without the brackets of an IPv6 address. */
  hostname: string;
  port: number;
  /** Empty, or a path with a leading and no trailing slash, as it was written: `/clusters/root:demo`. */
  basePath: string;
}>;

/** The limit that browsers and proxies have for URLs; no API server needs more. It bounds the cost of an address that a tenant wrote. */
export const maxServerLength = 2_048;

/** Returns whether a host is this machine, by its name or address alone. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Removes the slashes at the end. A loop, because `/\/+$/` takes quadratic time for slashes that are not at the end. */
export function trimTrailingSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "/") end -= 1;
  return text.slice(0, end);
}

/** Normalizes a path so that others can be appended: a leading slash, no trailing one, empty for the root. */
export function normalizeBasePath(path: string): string {
  let start = 0;
  while (path[start] === "/") start += 1;
  const trimmed = trimTrailingSlashes(path.slice(start));
  if (/[?#\s]/.test(trimmed)) throw new ControllerError("invalid", `server path "${path}": has a query or a space`);
  if (trimmed.split("/").some((segment) => segment === "." || segment === "..")) {
    throw new ControllerError("invalid", `server path "${path}": has a relative segment`);
  }
  return trimmed === "" ? "" : `/${trimmed}`;
}

/**
 * Parses an API server's URL.
 *
 * Only https is accepted, and http for this machine: a token must not cross a network unencrypted. Error messages never
 * repeat a URL that contains credentials.
 */
export function parseServerAddress(server: string): ServerAddress {
  if (server.length > maxServerLength) {
    throw new ControllerError("invalid", `server: is longer than ${maxServerLength} characters`);
  }
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined) throw new ControllerError("invalid", "server: is not a URL");
  if (url.username !== "" || url.password !== "") {
    throw new ControllerError("invalid", `server ${url.host}: has credentials in its URL`);
  }
  if (url.search !== "" || url.hash !== "") throw new ControllerError("invalid", `server ${url.host}: has a query`);

  const protocol = url.protocol;
  if (protocol !== "https:" && protocol !== "http:") {
    throw new ControllerError("invalid", `server ${url.host}: scheme is ${protocol.slice(0, -1)}, not https`);
  }
  if (protocol === "http:" && !isLoopbackHost(url.hostname)) {
    throw new ControllerError("invalid", `server ${url.host}: plain http is accepted for this machine only`);
  }
  return {
    origin: url.origin,
    protocol,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (protocol === "https:" ? 443 : 80) : Number(url.port),
    basePath: normalizeBasePath(url.pathname),
  };
}
