import { BlockList } from "node:net";

/** Networks of IPv6 whose addresses carry one of IPv4, and the bytes that it may be in. */
export const carriers: readonly Readonly<{
  network: string;
  prefix: number;
  at: readonly (readonly number[])[];
  /** Each bit is turned over. */
  isInverted?: boolean;
}>[] = [
  { network: "64:ff9b::", prefix: 96, at: [[12, 13, 14, 15]] }, // translators
  {
    network: "64:ff9b:1::", // translators of a network's own, whose prefix can be of any of four lengths
    prefix: 48,
    at: [
      [6, 7, 9, 10],
      [7, 9, 10, 11],
      [9, 10, 11, 12],
      [12, 13, 14, 15],
    ],
  },
  { network: "2002::", prefix: 16, at: [[2, 3, 4, 5]] }, // 6to4
  { network: "2001::", prefix: 32, at: [[12, 13, 14, 15]], isInverted: true }, // Teredo
  { network: "::", prefix: 96, at: [[12, 13, 14, 15]] }, // the first form of all, long given up
];

const networks = carriers.map((carrier) => {
  const list = new BlockList();
  list.addSubnet(carrier.network, carrier.prefix, "ipv6");
  return { ...carrier, list };
});

/** The addresses of IPv4 that one of IPv6 may lead to, by a translator or a tunnel; none for most. */
export function carriedAddresses(address: string): readonly string[] {
  const found = networks.filter(({ list }) => list.check(address, "ipv6"));
  if (found.length === 0) return [];
  const bytes = bytesOf(address);
  return found.flatMap(({ at, isInverted = false }) =>
    at.map((places) => places.map((place) => (bytes[place] ?? 0) ^ (isInverted ? 0xff : 0)).join(".")),
  );
}

/** The sixteen bytes of an address; a URL knows every way to write it, and has one of its own. */
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
