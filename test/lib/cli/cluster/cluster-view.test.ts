import { expect, test } from "vitest";
import { describeCluster } from "../../../../lib/cli/cluster/cluster-view.ts";
import { aRegistration, aStatus } from "../../registration/registrations.ts";

test("tmc cluster status shows for each requested APIBinding whether it is bound", () => {
  const registration = aRegistration({
    spec: { apiBindings: [{ name: "db" }, { name: "mail" }, { name: "web" }] },
    status: aStatus(
      {},
      {
        connectedAPIs: [
          { apiBinding: "db", connected: true },
          { apiBinding: "mail", connected: false, error: "there is no such APIBinding" },
        ],
      },
    ),
  });
  const text = describeCluster(registration, [], Date.parse("2026-01-01T00:00:00Z"));
  expect(text).toMatch(
    /^API bindings: +db \(connected\)\n +mail \(not connected: there is no such APIBinding\)\n +web \(unknown\)$/m,
  );
});
