import { expect, test } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { decideRegistration } from "../../../lib/registration/decide.ts";
import type { ProbeOutcome } from "../../../lib/registration/probe-outcome.ts";
import { connectedApis, type ObservedBinding } from "../../../lib/registration/served-apis.ts";
import { defaultRegistrationSettings as settings } from "../../../lib/registration/settings.ts";
import { faultsOf } from "../api/validate.ts";
import { aHealthyOutcome, aRegistration, aStatus } from "./registrations.ts";

const cases: Record<string, { observed: readonly ObservedBinding[]; expected: object }> = {
  "a bound APIBinding is connected": { observed: [{ name: "db", isBound: true }], expected: { connected: true } },
  "an APIBinding that is not bound is not connected and has the error": {
    observed: [{ name: "db", isBound: false, error: "there is no such APIBinding" }],
    expected: { connected: false, error: "there is no such APIBinding" },
  },
  "an APIBinding that TMC may not read is neither connected nor not": {
    observed: [{ name: "db", isBound: undefined, error: "TMC may not read APIBindings there" }],
    expected: { error: "TMC may not read APIBindings there" },
  },
  "an APIBinding that was not read is neither connected nor not": {
    observed: [],
    expected: { error: "TMC has not read the APIBinding" },
  },
};
test.each(Object.entries(cases))("%s", (_, { observed, expected }) => {
  expect(connectedApis(["db"], observed)).toEqual([{ apiBinding: "db", ...expected }]);
});

const nowMs = Date.parse("2026-01-01T00:00:30Z");
const healthy = aHealthyOutcome();
const withBinding = { spec: { apiBindings: [{ name: "db" }] } };
const unbound = [{ apiBinding: "db", connected: false, error: "it is being deleted" }];

test("an APIBinding that becomes bound is written with the next probe even if nothing else changed", () => {
  const registration = aRegistration({ ...withBinding, status: aStatus({}, { connectedAPIs: unbound }) });
  const { status } = decideRegistration({
    registration,
    outcome: healthy,
    bindings: [{ name: "db", isBound: true }],
    nowMs,
    settings,
  });
  expect(status?.connectedAPIs).toEqual([{ apiBinding: "db", connected: true }]);
  expect(faultsOf(clusterRegistration, { ...registration, status })).toEqual([]);
  const again = aRegistration({ ...withBinding, ...(status && { status }) });
  const bindings = [{ name: "db", isBound: true }];
  expect(
    decideRegistration({ registration: again, outcome: healthy, bindings, nowMs, settings }).status,
  ).toBeUndefined();
});
test("the APIBindings are written even if the probe of the cluster failed", () => {
  const registration = aRegistration({ ...withBinding, status: aStatus() });
  const outcome: ProbeOutcome = {
    kind: "failed",
    reason: "ClusterUnhealthy",
    message: "cluster east: connection refused",
  };
  const bindings = [{ name: "db", isBound: false, error: "it is being deleted" }];
  expect(decideRegistration({ registration, outcome, bindings, nowMs, settings }).status?.connectedAPIs).toEqual(
    unbound,
  );
});
test("connectedAPIs is removed when the registration names no APIBindings any more", () => {
  const registration = aRegistration({ status: aStatus({}, { connectedAPIs: unbound }) });
  expect(decideRegistration({ registration, outcome: healthy, nowMs, settings }).status).not.toHaveProperty(
    "connectedAPIs",
  );
});
