import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createCertificateAuthority } from "../../src/tls/certificates.ts";

const dayMs = 24 * 60 * 60 * 1000;

describe("a certificate", () => {
  const authority = createCertificateAuthority();
  const ca = new X509Certificate(authority.certificate);

  it("of the authority is self-signed and may sign others", () => {
    expect(ca.ca).toBe(true);
    expect(ca.verify(ca.publicKey)).toBe(true);
    expect(ca.subject).toBe("CN=embedded-ca");
  });

  it("of a server is valid for the requested names and addresses only", () => {
    const { certificate, key } = authority.issueServing(["127.0.0.1", "localhost", "kubernetes.default.svc"]);
    const serving = new X509Certificate(certificate);
    expect(serving.checkIssued(ca)).toBe(true);
    expect(serving.verify(ca.publicKey)).toBe(true);
    expect(serving.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(serving.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(serving.checkIP("127.0.0.2")).toBeUndefined();
    expect(serving.checkHost("localhost")).toBe("localhost");
    expect(serving.checkHost("kubernetes.default.svc")).toBe("kubernetes.default.svc");
    expect(serving.checkHost("example.com")).toBeUndefined();
    expect(serving.ca).toBe(false);
    expect(serving.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  });

  it("of a client contains the user and each group, and matches its key", () => {
    const { certificate, key } = authority.issueClient({ name: "ann", groups: ["devs", "ops"] });
    const client = new X509Certificate(certificate);
    expect(client.subject).toBe("O=devs\nO=ops\nCN=ann");
    expect(client.issuer).toBe("CN=embedded-ca");
    expect(client.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(client.verify(ca.publicKey)).toBe(true);
    expect(client.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(client.checkPrivateKey(createPrivateKey(authority.issueClient({ name: "ann" }).key))).toBe(false);
  });

  it("of another authority of the same name is not accepted", () => {
    const other = createCertificateAuthority().issueServing(["127.0.0.1"]);
    expect(new X509Certificate(other.certificate).verify(ca.publicKey)).toBe(false);
  });

  it("contains the name of its authority", () => {
    const named = createCertificateAuthority({ name: "east-ca" });
    expect(new X509Certificate(named.certificate).subject).toBe("CN=east-ca");
    expect(new X509Certificate(named.issueClient({ name: "ann" }).certificate).issuer).toBe("CN=east-ca");
  });

  it("has a unique serial number", () => {
    const [one, two] = [1, 2].map(() => new X509Certificate(authority.issueClient({ name: "a" }).certificate));
    expect(one?.serialNumber).not.toBe(two?.serialNumber);
  });

  it.each([
    ["a year from the day before it was issued", {}, [-dayMs, 365 * dayMs]],
    ["the time from notBefore", { notBefore: 5_000 }, [5_000, 365 * dayMs]],
    ["the time until notAfter", { notAfter: -5_000 }, [-dayMs, -5_000]],
  ])("is valid for %s", (_when, asked: { notBefore?: number; notAfter?: number }, wanted) => {
    const now = Date.parse("2026-03-04T05:06:07Z");
    const { certificate } = createCertificateAuthority({ now }).issueServing(
      ["localhost"],
      Object.fromEntries(Object.entries(asked).map(([bound, afterMs]) => [bound, now + afterMs])),
    );
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    expect([validFromDate.getTime() - now, validToDate.getTime() - now]).toEqual(wanted);
  });
});
