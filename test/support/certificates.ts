import { createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";

/** A certificate with its key, both PEM. */
export type KeyPair = Readonly<{ certificate: string; key: string }>;

export type CertificateSubject = Readonly<{
  commonName: string;
  organizations?: readonly string[];
  /** DNS names and IPv4 addresses that the certificate is good for. */
  hosts?: readonly string[];
  notBefore?: Date;
  notAfter?: Date;
}>;

/** An authority made for one test file. */
export interface Authority {
  /** PEM. */
  readonly ca: string;
  issue(subject: CertificateSubject): KeyPair;
}

const dayMs = 24 * 60 * 60 * 1000;

/** One DER value: tag, length, content. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...contents: readonly Uint8Array[]): Buffer => der(0x30, ...contents);
const set = (...contents: readonly Uint8Array[]): Buffer => der(0x31, ...contents);
const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.from([0]), content);
const yes = der(0x01, Buffer.from([0xff]));
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));

const ids = {
  ecdsaWithSha256: objectId("2a8648ce3d040302"),
  commonName: objectId("550403"),
  organization: objectId("55040a"),
  basicConstraints: objectId("551d13"),
  subjectAltName: objectId("551d11"),
};

const time = (date: Date): Buffer => der(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]|\..*/g, "")}Z`));

function nameOf({ commonName, organizations = [] }: CertificateSubject): Buffer {
  const organizationParts = organizations.map((each) => set(sequence(ids.organization, utf8(each))));
  return sequence(...organizationParts, set(sequence(ids.commonName, utf8(commonName))));
}

function alternativeNames(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    /^[\d.]+$/.test(host) ? der(0x87, Buffer.from(host.split(".").map(Number))) : der(0x82, Buffer.from(host)),
  );
  return sequence(ids.subjectAltName, der(0x04, sequence(...names)));
}

const pem = (label: string, content: Buffer): string =>
  `-----BEGIN ${label}-----\n${content.toString("base64").replace(/.{64}/g, "$&\n").trimEnd()}\n-----END ${label}-----\n`;

type Signer = Readonly<{ name: Buffer; key: KeyObject }>;

function signCertificate(
  subject: CertificateSubject,
  { publicKey, isAuthority, signer }: Readonly<{ publicKey: KeyObject; isAuthority: boolean; signer: Signer }>,
): string {
  const { hosts = [], notBefore = new Date(Date.now() - dayMs), notAfter = new Date(Date.now() + dayMs) } = subject;
  const extensions = [
    ...(isAuthority ? [sequence(ids.basicConstraints, yes, der(0x04, sequence(yes)))] : []),
    ...(hosts.length === 0 ? [] : [alternativeNames(hosts)]),
  ];
  const serialNumber = Buffer.concat([Buffer.from([1]), randomBytes(15)]);
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serialNumber),
    sequence(ids.ecdsaWithSha256),
    signer.name,
    sequence(time(notBefore), time(notAfter)),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
  );
  const signature = createSign("sha256").update(content).sign(signer.key);
  return pem("CERTIFICATE", sequence(content, sequence(ids.ecdsaWithSha256), bits(signature)));
}

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

/** Creates an authority whose certificates are valid from yesterday to tomorrow, unless told otherwise. */
export function createAuthority(commonName = "test authority"): Authority {
  const own = newKeys();
  const signer: Signer = { name: nameOf({ commonName }), key: own.privateKey };
  return {
    ca: signCertificate({ commonName }, { publicKey: own.publicKey, isAuthority: true, signer }),
    issue: (subject) => {
      const { publicKey, privateKey } = newKeys();
      return {
        certificate: signCertificate(subject, { publicKey, isAuthority: false, signer }),
        key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      };
    },
  };
}
