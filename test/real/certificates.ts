import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import {
  encodeBits,
  encodeBoolean,
  encodeIdentifier,
  encodeInteger,
  encodeOctets,
  encodeSequence,
  encodeSet,
  encodeTagged,
  encodeText,
  encodeTime,
} from "./der.ts";

const dayMs = 24 * 60 * 60 * 1000;
const identifiers = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAlternativeName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

/** A certificate and its private key, both PEM. */
export type Identity = Readonly<{ certificate: string; key: string }>;
/** Who a client certificate speaks for: user name and groups. */
export type Subject = Readonly<{ user: string; groups?: readonly string[] }>;

/** A certificate authority that lives as long as one test cluster. */
export interface CertificateAuthority {
  /** PEM. */
  readonly certificate: string;
  /** For a server on loopback: 127.0.0.1 and localhost, and what else is named. */
  issueServer(names?: readonly string[]): Identity;
  issueClient(subject: Subject): Identity;
}

type KeyPair = Readonly<{ publicKey: KeyObject; privateKey: KeyObject }>;
const createKeys = (): KeyPair => generateKeyPairSync("ec", { namedCurve: "P-256" });

/** A key pair, both halves PEM; signs service account tokens. */
export function createKeyPair(): Readonly<{ publicKey: string; privateKey: string }> {
  const { publicKey, privateKey } = createKeys();
  return {
    publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(),
    privateKey: formatPrivateKey(privateKey),
  };
}

/** Creates an authority (EC P-256) that is trusted by nobody but whom its certificate is handed to. */
export function createCertificateAuthority(name: string): CertificateAuthority {
  const keys = createKeys();
  const subject: Subject = { user: name };
  const authority = { subject, keys };
  const issue = (holder: Subject, extensions: readonly Buffer[]): Identity => {
    const holderKeys = createKeys();
    return {
      certificate: formatCertificate(authority, holder, holderKeys.publicKey, [
        formatExtension(identifiers.basicConstraints, encodeSequence(), true),
        formatExtension(identifiers.keyUsage, encodeBits(Buffer.from([0b1000_0000]), 7), true), // digital signature
        formatExtension(
          identifiers.authorityKeyIdentifier,
          encodeSequence(encodeTagged(0, keyIdentifier(keys.publicKey), false)),
        ),
        ...extensions,
      ]),
      key: formatPrivateKey(holderKeys.privateKey),
    };
  };
  const usage = (identifier: string) =>
    formatExtension(identifiers.extendedKeyUsage, encodeSequence(encodeIdentifier(identifier)));

  return {
    certificate: formatCertificate(authority, subject, keys.publicKey, [
      formatExtension(identifiers.basicConstraints, encodeSequence(encodeBoolean(true)), true),
      // Digital signature, signing of certificates and of revocation lists.
      formatExtension(identifiers.keyUsage, encodeBits(Buffer.from([0b1000_0110]), 1), true),
      formatExtension(identifiers.subjectKeyIdentifier, encodeOctets(keyIdentifier(keys.publicKey))),
    ]),
    issueServer: (names = []) =>
      issue({ user: `${name}-server` }, [
        usage(identifiers.serverAuth),
        formatExtension(
          identifiers.subjectAlternativeName,
          encodeSequence(...["127.0.0.1", "localhost", ...names].map(formatAlternativeName)),
        ),
      ]),
    issueClient: (holder) => issue(holder, [usage(identifiers.clientAuth)]),
  };
}

function formatCertificate(
  authority: Readonly<{ subject: Subject; keys: KeyPair }>,
  holder: Subject,
  publicKey: KeyObject,
  extensions: readonly Buffer[],
): string {
  const algorithm = encodeSequence(encodeIdentifier(identifiers.ecdsaWithSha256));
  const now = Date.now();
  const body = encodeSequence(
    encodeTagged(0, encodeInteger(Buffer.from([2])), true), // version 3
    encodeInteger(Buffer.concat([Buffer.from([0x40]), randomBytes(8)])),
    algorithm,
    formatName(authority.subject),
    // From yesterday on, for clocks that are not quite right.
    encodeSequence(encodeTime(new Date(now - dayMs)), encodeTime(new Date(now + 365 * dayMs))),
    formatName(holder),
    publicKey.export({ type: "spki", format: "der" }),
    encodeTagged(3, encodeSequence(...extensions), true),
  );
  const signature = sign("sha256", body, authority.keys.privateKey);
  return formatPem("CERTIFICATE", encodeSequence(body, algorithm, encodeBits(signature)));
}

function formatName({ user, groups = [] }: Subject): Buffer {
  const part = (identifier: string, value: string) =>
    encodeSet(encodeSequence(encodeIdentifier(identifier), encodeText(value)));
  return encodeSequence(
    ...groups.map((group) => part(identifiers.organization, group)),
    part(identifiers.commonName, user),
  );
}

function formatExtension(identifier: string, value: Buffer, critical = false): Buffer {
  const flag = critical ? [encodeBoolean(true)] : [];
  return encodeSequence(encodeIdentifier(identifier), ...flag, encodeOctets(value));
}

function formatAlternativeName(name: string): Buffer {
  return isIPv4(name)
    ? encodeTagged(7, Buffer.from(name.split(".").map(Number)), false)
    : encodeTagged(2, Buffer.from(name), false);
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

function formatPrivateKey(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function formatPem(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
