import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { ControllerError } from "@tmc/kube/fault.ts";
import { carriedAddresses, carriers } from "./embedded-ipv4.ts";

export type EndpointRules = Readonly<{
  /**
   * Lets tenants name servers in private networks and on this machine; for trying things out, and for operators whose
   * clusters live there. Link-local and metadata addresses stay refused: no API server is there. @default false
   */
  allowPrivateEndpoints?: boolean | undefined;
  /**
   * Networks that tenants' servers may be in besides public addresses, as CIDRs (`parseRanges`); the same addresses as above
   * stay refused. @default none
   */
  allowedRanges?: readonly string[] | undefined;
}>;

type Range = readonly [network: string, prefix: number];

/** Where credentials of the machine itself are handed out. */
const credentialRanges: readonly Range[] = [
  ["169.254.0.0", 16], // link-local, and the metadata services of most clouds
  ["100.100.100.200", 32], // metadata of Alibaba Cloud
  ["168.63.129.16", 32], // the host's own service on Azure
  ["192.0.0.192", 32], // metadata of Oracle Cloud
  ["fe80::", 10],
  ["fd00:ec2::254", 128], // metadata of AWS over IPv6
  ["fd20:ce::254", 128], // metadata of Google Cloud over IPv6
];
/** Where no server can be. */
const nowhereRanges: readonly Range[] = [
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

/** Reads networks with commas between, `10.0.0.0/8,fd00::/8`; throws with everything that is wrong with them. */
export function parseRanges(text: string): readonly string[] {
  const ranges = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const wrong = ranges.filter((range) => rangeOf(range) === undefined).map((range) => `"${range}"`);
  if (wrong.length === 0) return ranges;
  throw new ControllerError("invalid", `${wrong.join(", ")}: not a network like 10.0.0.0/8`);
}

function rangeOf(text: string): Range | undefined {
  const [, network = "", prefix = ""] = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const family = isIP(network);
  return family !== 0 && Number(prefix) <= (family === 6 ? 128 : 32) ? [network, Number(prefix)] : undefined;
}

const listOf = (ranges: readonly Range[]): BlockList => {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, isIP(network) === 6 ? "ipv6" : "ipv4");
  return list;
};
const never = listOf([...credentialRanges, ...nowhereRanges]);
const credentialed = listOf(credentialRanges);
const nearby = listOf(privateRanges);
const carrying = listOf(carriers.map(({ network, prefix }) => [network, prefix]));

/** Says why a tenant may not have us connect to an address; undefined when it may. */
export function addressRefusal(
  address: string,
  { allowPrivateEndpoints = false, allowedRanges = [] }: EndpointRules,
): string | undefined {
  const family = isIP(address);
  if (family === 0) return "its address is not an IP address";
  const kind = family === 6 ? "ipv6" : "ipv4";
  const carried = kind === "ipv6" ? carriedAddresses(address) : [];
  if (never.check(address, kind) || carried.some((each) => credentialed.check(each, "ipv4"))) {
    return "its address is link-local or a metadata service's";
  }
  if (allowPrivateEndpoints) return undefined;
  const allowed = allowedRanges.map(rangeOf).filter((range) => range !== undefined);
  if (allowed.length > 0 && listOf(allowed).check(address, kind)) return undefined;
  if (nearby.check(address, kind)) return "its address is in a private network";
  if (kind === "ipv6" && carrying.check(address, kind)) return "its address leads into another network";
  return undefined;
}

/**
 * Says why a server that a tenant names is not connected to; undefined when nothing in its URL speaks against it. What its
 * name resolves to is looked at when a connection is made (`createCheckedLookup`), for that may change at any time.
 */
export function serverRefusal(server: string, rules: EndpointRules): string | undefined {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined) return "the server is not a URL";
  if (url.protocol !== "https:") return "the server is not https";
  if (url.username !== "" || url.password !== "") return "the server carries credentials in its URL";
  if (url.search !== "" || url.hash !== "") return "the server has a query";
  const host = url.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  if (isIP(host) !== 0) {
    const refusal = addressRefusal(host, rules);
    return refusal === undefined ? undefined : `the server is refused: ${refusal}`;
  }
  if (metadataNames.has(host)) return "the server is refused: its name is a metadata service's";
  const isThisMachine = host === "localhost" || host.endsWith(".localhost");
  if (isThisMachine && ["127.0.0.1", "::1"].every((address) => addressRefusal(address, rules) !== undefined)) {
    return "the server is refused: its name is this machine's";
  }
  return undefined;
}

/**
 * A name lookup for connections to servers that tenants name: it fails with the fault "forbidden" as soon as one of the
 * addresses is refused, and what was checked is what is connected to.
 */
export function createCheckedLookup(rules: EndpointRules, lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, address, family) => {
      if (error !== null) {
        callback(error, address, family);
        return;
      }
      const addresses = Array.isArray(address) ? address.map((each) => each.address) : [address];
      const refusal = addresses.map((each) => addressRefusal(each, rules)).find((each) => each !== undefined);
      if (refusal === undefined) callback(null, address, family);
      else callback(new ControllerError("forbidden", `the server is refused: ${refusal}`), [], undefined);
    });
  };
}
