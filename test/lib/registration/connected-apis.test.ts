import { expect, test } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { connectedApis, type SeenBinding } from "../../../lib/registration/connected-apis.ts";
import { decide } from "../../../lib/registration/decide.ts";
import type { Look } from "../../../lib/registration/probe-outcome.ts";
import { defaultRegistrationSettings as settings } from "../../../lib/registration/settings.ts";
import { faultsOf } from "../api/validate.ts";
import { aRegistration, aStatus } from "./registrations.ts";

const cases: Record<string, { seen: readonly SeenBinding[]; gives: object }> = {
  "one that is bound is connected": { seen: [{ name: "db", isBound: true }], gives: { connected: true } },
  "one that is not bound is not, with the reason": {
    seen: [{ name: "db", isBound: false, why: "there is no such APIBinding" }],
    gives: { connected: false, error: "there is no such APIBinding" },
  },
  "of one that cannot be seen neither is said": {
    seen: [{ name: "db", isBound: undefined, why: "TMC may not read APIBindings there" }],
    gives: { error: "TMC may not read APIBindings there" },
  },
  "of one that nobody looked at neither is said": { seen: [], gives: { error: "nobody has looked" } },
};
test.each(Object.entries(cases))("%s", (_, { seen, gives }) => {
  expect(connectedApis(["db"], seen)).toEqual([{ apiBinding: "db", ...gives }]);
});

const nowMs = Date.parse("2026-01-01T00:00:30Z");
const healthy: Look = { kind: "healthy" };
const asking = { spec: { apiBindings: [{ name: "db" }] } };
const unbound = [{ apiBinding: "db", connected: false, error: "it is being deleted" }];

test("a binding that turns bound is written with the next look, though all else is as it was", () => {
  const registration = aRegistration({ ...asking, status: aStatus({}, { connectedAPIs: unbound }) });
  const { status } = decide({
    registration,
    look: healthy,
    bindings: [{ name: "db", isBound: true }],
    nowMs,
    settings,
  });
  expect(status?.connectedAPIs).toEqual([{ apiBinding: "db", connected: true }]);
  expect(faultsOf(clusterRegistration, { ...registration, status })).toEqual([]);
  const again = aRegistration({ ...asking, ...(status && { status }) });
  const bindings = [{ name: "db", isBound: true }];
  expect(decide({ registration: again, look: healthy, bindings, nowMs, settings }).status).toBeUndefined();
});
test("a cluster that does not answer says as much of its bindings", () => {
  const registration = aRegistration({ ...asking, status: aStatus() });
  const look: Look = { kind: "failed", reason: "ClusterUnhealthy", message: "cluster east: connection refused" };
  const bindings = [{ name: "db", isBound: false, why: "it is being deleted" }];
  expect(decide({ registration, look, bindings, nowMs, settings }).status?.connectedAPIs).toEqual(unbound);
});
test("a registration that asks for none any more shows none", () => {
  const registration = aRegistration({ status: aStatus({}, { connectedAPIs: unbound }) });
  expect(decide({ registration, look: healthy, nowMs, settings }).status).not.toHaveProperty("connectedAPIs");
});
