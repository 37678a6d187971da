import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { bits, boolean, explicit, implicit, integer, octets, oid, sequence, setOf, text, utcTime } from "./der.ts";

/** A certificate and its key, in PEM. */
export type Credentials = Readonly<{ certificate: string; key: string }>;

/** When a certificate holds, in milliseconds since the epoch; what is left out follows from the authority's time. */
export type Validity = Readonly<{ notBefore?: number; notAfter?: number }>;

/** What can be asked of an authority when it is made. */
export type AuthorityOptions = Readonly<{
  /** The CN it signs under. @default "embedded-ca" */
  name?: string;
  /** Milliseconds since the epoch. @default now */
  now?: number;
}>;

/** Signs certificates for one or more servers and their users. */
export interface CertificateAuthority {
  /** PEM. */
  readonly certificate: string;
  /** For a server that is reached under these names and addresses. */
  issueServing(hosts: readonly string[], validity?: Validity): Credentials;
  /** For a user: the name is the subject's CN, the groups are its O. */
  issueClient(user: Readonly<{ name: string; groups?: readonly string[] }>, validity?: Validity): Credentials;
}

const day = 24 * 60 * 60 * 1000;
/** Clocks differ; a certificate is valid a while before it was made. */
const skewMs = day;
const validMs = 365 * day;

const ecdsaWithSha256 = sequence(oid("1.2.840.10045.4.3.2"));
const ids = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  subjectKey: "2.5.29.14",
  keyUsage: "2.5.29.15",
  alternativeNames: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKey: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
};

/**
 * Makes a certificate authority with keys of its own (EC P-256). It is written here and not taken from a library because
 * two hundred lines start in a few milliseconds, and an embedded server has to start in a blink.
 */
export function createCertificateAuthority(options: AuthorityOptions = {}): CertificateAuthority {
  const now = options.now ?? Date.now();
  const usual = { notBefore: now - skewMs, notAfter: now + validMs };
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = nameOf(options.name ?? "embedded-ca", []);
  const keyId = keyIdOf(keys.publicKey);
  const issue = (subject: Buffer, publicKey: KeyObject, extensions: readonly Buffer[], validity: Validity = {}) =>
    signed({ issuer: name, subject, publicKey, signer: keys.privateKey, extensions, ...usual, ...validity });
  const authority = extension(ids.authorityKey, false, sequence(implicit(0, keyId)));

  const issueLeaf = (
    subject: Buffer,
    usage: string,
    extensions: readonly Buffer[],
    validity?: Validity,
  ): Credentials => {
    const leaf = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const all = [
      extension(ids.basicConstraints, true, sequence()),
      // digitalSignature
      extension(ids.keyUsage, true, bits(Buffer.from([0x80]), 7)),
      extension(ids.extendedKeyUsage, false, sequence(oid(usage))),
      authority,
      ...extensions,
    ];
    const certificate = issue(subject, leaf.publicKey, all, validity);
    return { certificate, key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
  };

  return {
    certificate: issue(name, keys.publicKey, [
      extension(ids.basicConstraints, true, sequence(boolean(true))),
      // keyCertSign and cRLSign
      extension(ids.keyUsage, true, bits(Buffer.from([0x06]), 1)),
      extension(ids.subjectKey, false, octets(keyId)),
    ]),
    issueServing: (hosts, validity) => {
      const names = extension(ids.alternativeNames, false, sequence(...hosts.map(alternativeName)));
      return issueLeaf(nameOf(hosts[0] ?? "embedded", []), ids.serverAuth, [names], validity);
    },
    issueClient: ({ name: user, groups = [] }, validity) =>
      issueLeaf(nameOf(user, groups), ids.clientAuth, [], validity),
  };
}

type Certificate = Readonly<{
  issuer: Buffer;
  subject: Buffer;
  publicKey: KeyObject;
  signer: KeyObject;
  extensions: readonly Buffer[];
}> &
  Required<Validity>;

function signed({ issuer, subject, publicKey, signer, extensions, notBefore, notAfter }: Certificate): string {
  const serial = randomBytes(16);
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([0x01]), serial])),
    ecdsaWithSha256,
    issuer,
    sequence(utcTime(notBefore), utcTime(notAfter)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...extensions)),
  );
  const certificate = sequence(body, ecdsaWithSha256, bits(sign("sha256", body, signer)));
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));

const attribute = (id: string, value: string): Buffer => setOf(sequence(oid(id), text(value)));

const nameOf = (commonName: string, organizations: readonly string[]): Buffer =>
  sequence(...organizations.map((name) => attribute(ids.organization, name)), attribute(ids.commonName, commonName));

const keyIdOf = (key: KeyObject): Buffer =>
  createHash("sha1")
    .update(key.export({ type: "spki", format: "der" }))
    .digest();

const alternativeName = (host: string): Buffer =>
  isIP(host) === 4 ? implicit(7, Buffer.from(host.split(".").map(Number))) : implicit(2, Buffer.from(host));
