import { type Credentials, createCertificateAuthority } from "@tmc/embedded/certificates.ts";

/** For whom a certificate is: a server where hosts are given, otherwise a client. */
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
  issue(subject: CertificateSubject): Credentials;
}

/** Creates an authority that issues servers' and clients' certificates alike. */
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
