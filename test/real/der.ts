/** Just enough DER, the encoding of certificates, to write one. */

/** One element: its tag, the length, the content. */
export function encodeElement(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const length: number[] = [];
  for (let rest = body.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  const header = body.length < 128 ? [tag, body.length] : [tag, 0x80 + length.length, ...length];
  return Buffer.concat([Buffer.from(header), body]);
}

export const encodeSequence = (...items: readonly Uint8Array[]): Buffer => encodeElement(0x30, ...items);
export const encodeSet = (...items: readonly Uint8Array[]): Buffer => encodeElement(0x31, ...items);
export const encodeOctets = (content: Uint8Array): Buffer => encodeElement(0x04, content);
export const encodeText = (text: string): Buffer => encodeElement(0x0c, Buffer.from(text));
export const encodeBoolean = (value: boolean): Buffer => encodeElement(0x01, Buffer.from([value ? 0xff : 0]));
/** Big-endian, and the caller sees to it that the top bit is clear: a set one would make it negative. */
export const encodeInteger = (bytes: Uint8Array): Buffer => encodeElement(0x02, bytes);
export const encodeBits = (bytes: Uint8Array, unusedBits = 0): Buffer =>
  encodeElement(0x03, Buffer.from([unusedBits]), bytes);
/** Element number `tag` of a structure that numbers its parts; `constructed` when it holds other elements. */
export const encodeTagged = (tag: number, content: Uint8Array, constructed: boolean): Buffer =>
  encodeElement((constructed ? 0xa0 : 0x80) + tag, content);

/** A moment up to the year 2049, to the second. */
export function encodeTime(time: Date): Buffer {
  const digits = time
    .toISOString()
    .replace(/\.\d+Z$/, "")
    .replaceAll(/[-:T]/g, "");
  return encodeElement(0x17, Buffer.from(`${digits.slice(2)}Z`));
}

/** An object identifier such as 2.5.4.3. */
export function encodeIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = rest.flatMap((part) => {
    const digits = [part % 128];
    for (let more = Math.floor(part / 128); more > 0; more = Math.floor(more / 128)) digits.unshift(128 + (more % 128));
    return digits;
  });
  return encodeElement(0x06, Buffer.from([first * 40 + second, ...bytes]));
}
