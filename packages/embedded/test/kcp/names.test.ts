import { describe, expect, it } from "vitest";
import {
  claimValue,
  defaultBindingName,
  exportHash,
  generateLogicalClusterName,
  identityHash,
  reflexiveClaimValue,
} from "../../src/kcp/names.ts";

// The expected values were read from a real kcp 0.31.2.
describe("names that kcp derives", () => {
  it("computes the label value of an export like a real kcp", () => {
    expect(exportHash("root", "tenancy.kcp.io")).toBe("bmCdly9xXiUpEHe3ypvDwvXMTfoVZUE92mqAQf");
  });

  it("computes the label value of a claim like a real kcp, independent of its verbs", () => {
    const claim = { group: "", resource: "configmaps", identityHash: "", verbs: ["get"] };
    expect(claimValue(claim)).toBe("3QVjs6pfBjMpLEVYYhysJnroYGsQGlWm05E4qe");
    expect(claimValue({ ...claim, verbs: ["*"] })).toBe(claimValue(claim));
    expect(claimValue({ ...claim, resource: "secrets" })).toBe("ctwrJRvMX7cX8wwk40Lz00UjJhYxPWE3TpN1lu");
  });

  it("computes the label of a binding's own export like a real kcp", () => {
    expect(reflexiveClaimValue).toBe("LstvmbbzVDDOn90ZbhzSQO5U3DMCf88h1pZ");
  });

  it("computes the names of default bindings like a real kcp", () => {
    expect(defaultBindingName("1mvder9vvofeabwy", "root", "tenancy.kcp.io")).toBe("tenancy.kcp.io-4ojnd");
    expect(defaultBindingName("1mvder9vvofeabwy", "root", "topology.kcp.io")).toBe("topology.kcp.io-8dqac");
  });

  it("hashes an identity with SHA-256", () => {
    expect(identityHash("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });

  it("generates logical cluster names of 16 characters from the given random numbers", () => {
    const draw = () => generateLogicalClusterName(() => 0.5);
    expect(draw()).toMatch(/^[0-9a-z]{16}$/);
    expect(draw()).toBe(draw());
  });
});
