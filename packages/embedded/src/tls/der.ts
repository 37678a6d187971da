/** The subset of DER that certificates need. */
const tagged = (tag: number, content: Uint8Array): Buffer => {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length]), bytes, content]);
};

/** A sequence of encoded values. */
export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, Buffer.concat(parts));
/** A set of one encoded value. */
export const setOf = (part: Uint8Array): Buffer => tagged(0x31, part);
/** A positive integer from its bytes. */
export function integer(bytes: Uint8Array): Buffer {
  return tagged(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}
export const derBoolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]));
export const octets = (content: Uint8Array): Buffer => tagged(0x04, content);
/** A bit string with `unused` bits at the end. */
export const bits = (content: Uint8Array, unused = 0): Buffer =>
  tagged(0x03, Buffer.concat([Buffer.from([unused]), content]));
export const utf8String = (value: string): Buffer => tagged(0x0c, Buffer.from(value));
/** A value with an explicit context tag. */
export const explicit = (tag: number, content: Uint8Array): Buffer => tagged(0xa0 | tag, content);
/** A primitive value with an implicit context tag. */
export const implicit = (tag: number, content: Uint8Array): Buffer => tagged(0x80 | tag, content);

/** UTCTime, for years before 2050. */
export const utcTime = (milliseconds: number): Buffer =>
  tagged(
    0x17,
    Buffer.from(
      `${new Date(milliseconds)
        .toISOString()
        .replaceAll(/[-:T]|\.\d+/g, "")
        .slice(2, 14)}Z`,
    ),
  );

/** An object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits: number[] = [];
    for (let value = part; value > 0 || digits.length === 0; value = Math.floor(value / 128))
      digits.unshift(value % 128);
    bytes.push(...digits.map((digit, index) => (index < digits.length - 1 ? digit | 0x80 : digit)));
  }
  return tagged(0x06, Buffer.from(bytes));
}
