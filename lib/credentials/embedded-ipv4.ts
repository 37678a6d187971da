import { BlockList } from "node:net";

/** IPv6 networks whose addresses embed an IPv4 address, and the byte offsets at which it can be. */
export const embeddingNetworks: readonly Readonly<{
  network: string;
  prefix: number;
  byteOffsets: readonly (readonly number[])[];
  /** Whether the embedded address is stored with all bits inverted. */
  isInverted?: boolean;
}>[] = [
  { network: "64:ff9b::", prefix: 96, byteOffsets: [[12, 13, 14, 15]] }, // NAT64
  {
    network: "64:ff9b:1::", // local-use NAT64, with one of four prefix lengths
    prefix: 48,
    byteOffsets: [
      [6, 7, 9, 10],
      [7, 9, 10, 11],
      [9, 10, 11, 12],
      [12, 13, 14, 15],
    ],
  },
  { network: "2002::", prefix: 16, byteOffsets: [[2, 3, 4, 5]] }, // 6to4
  { network: "2001::", prefix: 32, byteOffsets: [[12, 13, 14, 15]], isInverted: true }, // Teredo
  { network: "::ffff:0:0:0", prefix: 96, byteOffsets: [[12, 13, 14, 15]] }, // IPv4-translated addresses, deprecated
  { network: "::", prefix: 96, byteOffsets: [[12, 13, 14, 15]] }, // IPv4-compatible addresses, deprecated
];

const networks = embeddingNetworks.map((carrier) => {
  const list = new BlockList();
  list.addSubnet(carrier.network, carrier.prefix, "ipv6");
  return { ...carrier, list };
});

/** Returns the IPv4 addresses that an IPv6 address may be translated or tunneled to; empty for most addresses. */
export function embeddedIpv4Addresses(address: string): readonly string[] {
  const found = networks.filter(({ list }) => list.check(address, "ipv6"));
  if (found.length === 0) return [];
  const bytes = bytesOf(address);
  return found.flatMap(({ byteOffsets, isInverted = false }) =>
    byteOffsets.map((offsets) => offsets.map((offset) => (bytes[offset] ?? 0) ^ (isInverted ? 0xff : 0)).join(".")),
  );
}

/** Returns the 16 bytes of an IPv6 address. The URL parser accepts every notation and normalizes it. */
function bytesOf(address: string): readonly number[] {
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, "")}]`);
  const [head = "", tail] = hostname.slice(1, -1).split("::");
  const groupsOf = (text: string): string[] => text.split(":").filter((group) => group !== "");
  const [first, last] = [groupsOf(head), groupsOf(tail ?? "")];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return [...first, ...zeros, ...last].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
