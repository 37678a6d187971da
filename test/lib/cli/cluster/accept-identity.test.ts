import { describe, expect, it } from "vitest";
import { uidToAccept } from "../../../../lib/cli/cluster/accept-identity.ts";
import { aRegistration, aStatus } from "../../registration/registrations.ts";

describe("the uid that tmc cluster accept-identity accepts", () => {
  const changed = aRegistration({
    status: aStatus({ status: "False" }, { clusterUID: "uid-a", observedClusterUID: "uid-b" }),
  });
  const unchanged = aRegistration({ status: aStatus({}, { clusterUID: "uid-a" }) });
  const unknown = aRegistration({
    status: aStatus({ status: "False", reason: "ClusterIdentityUnknown" }, { clusterUID: "uid-a" }),
  });

  it("is that of the cluster that answers", () => {
    expect(uidToAccept(changed, undefined)).toBe("uid-b");
    expect(uidToAccept(changed, "uid-b")).toBe("uid-b");
  });
  it("is no other than that of the cluster that answers", () => {
    expect(() => uidToAccept(changed, "uid-c")).toThrow("the uid of the cluster that answers is uid-b");
  });
  it("is none while the registered cluster answers, unless one is accepted in advance", () => {
    expect(uidToAccept(unchanged, undefined)).toBeUndefined();
    expect(uidToAccept(unchanged, "uid-b")).toBe("uid-b");
  });
  it("is unknown where TMC may no longer read it", () => {
    expect(uidToAccept(unknown, undefined)).toBe("unknown");
  });
});
