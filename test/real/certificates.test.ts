import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createCertificateAuthority, createKeyPair } from "./certificates.ts";

describe("a certificate", () => {
  const authority = createCertificateAuthority("test-ca");
  const root = new X509Certificate(authority.certificate);

  it("of the authority is signed by itself and may sign others", () => {
    expect(root.verify(root.publicKey)).toBe(true);
    expect(root.ca).toBe(true);
  });

  it("of a server holds for loopback and the names asked for, and nothing else", () => {
    const server = new X509Certificate(authority.issueServer(["kubernetes.default.svc"]).certificate);
    expect(server.verify(root.publicKey)).toBe(true);
    expect(server.checkIssued(root)).toBe(true);
    expect(server.ca).toBe(false);
    expect(server.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(server.checkHost("localhost")).toBe("localhost");
    expect(server.checkHost("kubernetes.default.svc")).toBe("kubernetes.default.svc");
    expect(server.checkIP("127.0.0.2")).toBeUndefined();
    expect(server.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  });

  it("of a client names the user and each group, and belongs to its key", () => {
    const { certificate, key } = authority.issueClient({ user: "ann", groups: ["one", "two"] });
    const client = new X509Certificate(certificate);
    expect(client.subject).toBe("O=one\nO=two\nCN=ann");
    expect(client.issuer).toBe("CN=test-ca");
    expect(client.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(client.checkPrivateKey(createPrivateKey(createKeyPair().privateKey))).toBe(false);
    expect(client.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  });

  it("of another authority of the same name is not accepted", () => {
    const other = createCertificateAuthority("test-ca").issueServer();
    expect(new X509Certificate(other.certificate).verify(root.publicKey)).toBe(false);
  });

  it("holds from yesterday for a year", () => {
    const dayMs = 86_400_000;
    expect(Math.round((Date.now() - root.validFromDate.getTime()) / dayMs)).toBe(1);
    expect(Math.round((root.validToDate.getTime() - Date.now()) / dayMs)).toBe(365);
  });
});
