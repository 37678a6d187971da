import { type Credentials, createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";

/** The subject of a certificate: a server if hosts are given, otherwise a client. */
export type CertificateSubject = Readonly<{
  commonName: string;
  organizations?: readonly string[];
  /** DNS names and IPv4 addresses that the certificate is valid for. */
  hosts?: readonly string[];
  notBefore?: Date;
  notAfter?: Date;
}>;

/** A certificate authority for one test file. */
export interface Authority {
  /** PEM. */
  readonly ca: string;
  issue(subject: CertificateSubject): Credentials;
}

/** Creates an authority that issues certificates for servers and clients. */
export function createAuthority(name = "test authority"): Authority {
  const authority = createCertificateAuthority({ name });
  return {
    ca: authority.certificate,
    issue: ({ commonName, organizations = [], hosts, notBefore, notAfter }) => {
      const validity = {
        ...(notBefore === undefined ? {} : { notBefore: notBefore.getTime() }),
        ...(notAfter === undefined ? {} : { notAfter: notAfter.getTime() }),
      };
      return hosts === undefined
        ? authority.issueClient({ name: commonName, groups: organizations }, validity)
        : authority.issueServing(hosts, validity);
    },
  };
}
