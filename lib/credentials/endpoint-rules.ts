import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { ControllerError } from "@tmc/kube/fault.ts";
import { embeddedIpv4Addresses, embeddingNetworks } from "./embedded-ipv4.ts";

export type EndpointRules = Readonly<{
  /**
   * Allows servers that tenants provide to be in private networks and on this machine: for trials, and for operators whose
   * clusters are there. Link-local and metadata addresses stay forbidden, because no API server has one. @default false
   */
  allowPrivateEndpoints?: boolean | undefined;
  /**
   * CIDRs that are allowed for tenants' servers in addition to public addresses (see `parseRanges`). Link-local and metadata
   * addresses stay forbidden. @default none
   */
  allowedRanges?: readonly string[] | undefined;
}>;

type Range = readonly [network: string, prefix: number];

/** Addresses at which clouds serve instance metadata and the credentials of the machine. */
const credentialRanges: readonly Range[] = [
  ["169.254.0.0", 16], // link-local, and the metadata services of most clouds
  ["100.100.100.200", 32], // metadata of Alibaba Cloud
  ["168.63.129.16", 32], // the host's own service on Azure
  ["192.0.0.192", 32], // metadata of Oracle Cloud
  ["fe80::", 10],
  ["fd00:ec2::254", 128], // metadata of AWS over IPv6
  ["fd00:ec2::23", 128], // EKS Pod Identity, which serves credentials of the pod's role; over IPv4 it is link-local
  ["fd20:ce::254", 128], // metadata of Google Cloud over IPv6
];
/** Addresses that no server can have. */
const unroutableRanges: readonly Range[] = [
  ["0.0.0.0", 8],
  ["224.0.0.0", 3], // multicast, reserved, broadcast
  ["::", 128],
  ["ff00::", 8],
];
const privateRanges: readonly Range[] = [
  ["127.0.0.0", 8],
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["100.64.0.0", 10],
  ["192.0.0.0", 24],
  ["198.18.0.0", 15],
  ["::1", 128],
  ["fc00::", 7],
  ["fec0::", 10],
];
const metadataNames: ReadonlySet<string> = new Set(["metadata", "metadata.google.internal", "instance-data"]);

/** Parses comma-separated CIDRs, `10.0.0.0/8,fd00::/8`; throws an error that names every invalid one. */
export function parseRanges(text: string): readonly string[] {
  const ranges = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const invalid = ranges.filter((range) => parseRange(range) === undefined).map((range) => `"${range}"`);
  if (invalid.length === 0) return ranges;
  throw new ControllerError("invalid", `${invalid.join(", ")}: not a CIDR like 10.0.0.0/8`);
}

function parseRange(text: string): Range | undefined {
  const [, network = "", prefix = ""] = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const family = isIP(network);
  return family !== 0 && Number(prefix) <= (family === 6 ? 128 : 32) ? [network, Number(prefix)] : undefined;
}

const blockListOf = (ranges: readonly Range[]): BlockList => {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, isIP(network) === 6 ? "ipv6" : "ipv4");
  return list;
};
const alwaysForbidden = blockListOf([...credentialRanges, ...unroutableRanges]);
const metadataNetworks = blockListOf(credentialRanges);
const privateNetworks = blockListOf(privateRanges);
const embeddingNetworkList = blockListOf(embeddingNetworks.map(({ network, prefix }) => [network, prefix]));

/** Returns why TMC must not connect to an address for a tenant; undefined if it may. */
export function addressRejection(
  address: string,
  { allowPrivateEndpoints = false, allowedRanges = [] }: EndpointRules,
): string | undefined {
  const family = isIP(address);
  if (family === 0) return "its address is not an IP address";
  const kind = family === 6 ? "ipv6" : "ipv4";
  const embedded = kind === "ipv6" ? embeddedIpv4Addresses(address) : [];
  if (alwaysForbidden.check(address, kind) || embedded.some((each) => metadataNetworks.check(each, "ipv4"))) {
    return "its address is link-local or belongs to a metadata service";
  }
  if (allowPrivateEndpoints) return undefined;
  const allowed = allowedRanges.map(parseRange).filter((range) => range !== undefined);
  if (allowed.length > 0 && blockListOf(allowed).check(address, kind)) return undefined;
  if (privateNetworks.check(address, kind)) return "its address is in a private network";
  if (kind === "ipv6" && embeddingNetworkList.check(address, kind)) return "its IPv6 address embeds an IPv4 address";
  return undefined;
}

/**
 * Returns why TMC must not connect to a server URL that a tenant provides; undefined if the URL itself is allowed. The
 * addresses that its host name resolves to are checked on every connection (`createCheckedLookup`), because they can change
 * at any time.
 */
export function serverRejection(server: string, rules: EndpointRules): string | undefined {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined) return "the server is not a valid URL";
  if (url.protocol !== "https:") return "the server URL is not https";
  if (url.username !== "" || url.password !== "") return "the server URL contains credentials";
  if (url.search !== "" || url.hash !== "") return "the server URL has a query or fragment";
  const host = url.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  if (isIP(host) !== 0) {
    const rejection = addressRejection(host, rules);
    return rejection === undefined ? undefined : `the server is not allowed: ${rejection}`;
  }
  if (metadataNames.has(host)) return "the server is not allowed: its name belongs to a metadata service";
  const isLocalhost = host === "localhost" || host.endsWith(".localhost");
  if (isLocalhost && ["127.0.0.1", "::1"].every((address) => addressRejection(address, rules) !== undefined)) {
    return "the server is not allowed: its name is localhost";
  }
  return undefined;
}

/**
 * Creates a DNS lookup for connections to servers that tenants provide. It fails with the fault "forbidden" if any of the
 * addresses is not allowed. The connection uses exactly the addresses that were checked.
 */
export function createCheckedLookup(rules: EndpointRules, lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, address, family) => {
      if (error !== null) {
        callback(error, address, family);
        return;
      }
      const addresses = Array.isArray(address) ? address.map((each) => each.address) : [address];
      const rejection = addresses.map((each) => addressRejection(each, rules)).find((each) => each !== undefined);
      if (rejection === undefined) callback(null, address, family);
      else callback(new ControllerError("forbidden", `the server is not allowed: ${rejection}`), [], undefined);
    });
  };
}
