import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import {
  bits,
  derBoolean,
  explicit,
  implicit,
  integer,
  octets,
  oid,
  sequence,
  setOf,
  utcTime,
  utf8String,
} from "./der.ts";

/** A certificate and its key, in PEM. */
export type Credentials = Readonly<{ certificate: string; key: string }>;

/** Validity of a certificate in milliseconds since the epoch; defaults are relative to the authority's `now`. */
export type Validity = Readonly<{ notBefore?: number; notAfter?: number }>;

export type AuthorityOptions = Readonly<{
  /** Common name of the CA. @default "embedded-ca" */
  name?: string;
  /** Milliseconds since the epoch. @default now */
  now?: number;
}>;

/** Issues certificates for servers and users. */
export interface CertificateAuthority {
  /** PEM. */
  readonly certificate: string;
  /** Issues a serving certificate for these host names and addresses. */
  issueServing(hosts: readonly string[], validity?: Validity): Credentials;
  /** Issues a client certificate: the user name is the CN, the groups are the O. */
  issueClient(user: Readonly<{ name: string; groups?: readonly string[] }>, validity?: Validity): Credentials;
}

const dayMs = 24 * 60 * 60 * 1000;
/** Tolerates clock skew. */
const skewMs = dayMs;
const validMs = 365 * dayMs;

const ecdsaWithSha256 = sequence(oid("1.2.840.10045.4.3.2"));
const objectIds = {
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
 * Creates a certificate authority with its own key (EC P-256). Implemented here, because these two hundred lines start
 * in a few milliseconds and need no dependency.
 */
export function createCertificateAuthority(options: AuthorityOptions = {}): CertificateAuthority {
  const now = options.now ?? Date.now();
  const defaultValidity = { notBefore: now - skewMs, notAfter: now + validMs };
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = distinguishedName(options.name ?? "embedded-ca", []);
  const keyId = keyIdOf(keys.publicKey);
  const issue = (subject: Buffer, publicKey: KeyObject, extensions: readonly Buffer[], validity: Validity = {}) =>
    signCertificate({
      issuer: name,
      subject,
      publicKey,
      signer: keys.privateKey,
      extensions,
      ...defaultValidity,
      ...validity,
    });
  const authority = extension(objectIds.authorityKey, false, sequence(implicit(0, keyId)));

  const issueLeaf = (
    subject: Buffer,
    usage: string,
    extensions: readonly Buffer[],
    validity?: Validity,
  ): Credentials => {
    const leaf = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const all = [
      extension(objectIds.basicConstraints, true, sequence()),
      // digitalSignature
      extension(objectIds.keyUsage, true, bits(Buffer.from([0x80]), 7)),
      extension(objectIds.extendedKeyUsage, false, sequence(oid(usage))),
      authority,
      ...extensions,
    ];
    const certificate = issue(subject, leaf.publicKey, all, validity);
    return { certificate, key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
  };

  return {
    certificate: issue(name, keys.publicKey, [
      extension(objectIds.basicConstraints, true, sequence(derBoolean(true))),
      // keyCertSign and cRLSign
      extension(objectIds.keyUsage, true, bits(Buffer.from([0x06]), 1)),
      extension(objectIds.subjectKey, false, octets(keyId)),
    ]),
    issueServing: (hosts, validity) => {
      const names = extension(objectIds.alternativeNames, false, sequence(...hosts.map(alternativeName)));
      return issueLeaf(distinguishedName(hosts[0] ?? "embedded", []), objectIds.serverAuth, [names], validity);
    },
    issueClient: ({ name: user, groups = [] }, validity) =>
      issueLeaf(distinguishedName(user, groups), objectIds.clientAuth, [], validity),
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

function signCertificate({ issuer, subject, publicKey, signer, extensions, notBefore, notAfter }: Certificate): string {
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
  sequence(oid(id), ...(critical ? [derBoolean(true)] : []), octets(value));

const attribute = (id: string, value: string): Buffer => setOf(sequence(oid(id), utf8String(value)));

const distinguishedName = (commonName: string, organizations: readonly string[]): Buffer =>
  sequence(
    ...organizations.map((name) => attribute(objectIds.organization, name)),
    attribute(objectIds.commonName, commonName),
  );

const keyIdOf = (key: KeyObject): Buffer =>
  createHash("sha1")
    .update(key.export({ type: "spki", format: "der" }))
    .digest();

const alternativeName = (host: string): Buffer =>
  isIP(host) === 4 ? implicit(7, Buffer.from(host.split(".").map(Number))) : implicit(2, Buffer.from(host));
