import { createPrivateKey, X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { createCertificateAuthority } from "../../../lib/embedded/certificates.ts";

const authority = createCertificateAuthority();
const ca = new X509Certificate(authority.certificate);

it("makes an authority that signs itself and others", () => {
  expect(ca.ca).toBe(true);
  expect(ca.verify(ca.publicKey)).toBe(true);
  expect(ca.subject).toBe("CN=embedded-ca");
});

it("issues certificates for the names and addresses of a server", () => {
  const { certificate, key } = authority.issueServing(["127.0.0.1", "localhost"]);
  const serving = new X509Certificate(certificate);
  expect(serving.checkIssued(ca)).toBe(true);
  expect(serving.verify(ca.publicKey)).toBe(true);
  expect(serving.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(serving.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(serving.checkHost("localhost")).toBe("localhost");
  expect(serving.checkHost("example.com")).toBeUndefined();
  expect(serving.ca).toBe(false);
});

it("issues certificates for users, with their groups", () => {
  const { certificate } = authority.issueClient({ name: "ann", groups: ["devs", "ops"] });
  const client = new X509Certificate(certificate);
  expect(client.subject).toBe("O=devs\nO=ops\nCN=ann");
  expect(client.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  expect(client.verify(ca.publicKey)).toBe(true);
});

it("is valid now, and never twice with one serial number", () => {
  const one = new X509Certificate(authority.issueClient({ name: "a" }).certificate);
  const two = new X509Certificate(authority.issueClient({ name: "a" }).certificate);
  expect(one.validFromDate.getTime()).toBeLessThan(Date.now());
  expect(one.validToDate.getTime()).toBeGreaterThan(Date.now());
  expect(one.serialNumber).not.toBe(two.serialNumber);
});
