const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
/** Maximum length of the prefix of a generated name. */
const maxBaseLength = 63 - suffixLength;

/** Generates a name from `generateName`, as a real server does. */
export function generatedName(base: string, random: () => number): string {
  let suffix = "";
  for (let index = 0; index < suffixLength; index += 1) suffix += alphabet[Math.floor(random() * alphabet.length)];
  return `${base.slice(0, maxBaseLength)}${suffix}`;
}

/** Generates a version 4 UUID. */
export function generatedUid(random: () => number): string {
  let hex = "";
  while (hex.length < 32) {
    hex += Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, "0");
  }
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
