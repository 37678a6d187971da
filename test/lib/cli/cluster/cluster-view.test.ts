import { expect, test } from "vitest";
import { clusterTable, describeCluster } from "../../../../lib/cli/cluster/cluster-view.ts";
import { formatTable } from "../../../../lib/cli/output.ts";
import { aRegistration, aStatus } from "../../registration/registrations.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const surroundings = { placements: [], registrations: [], nowMs };

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
  const text = describeCluster(registration, { ...surroundings, registrations: [registration] });
  expect(text).toMatch(
    /^API bindings: +db \(connected\)\n +mail \(not connected: there is no such APIBinding\)\n +web \(unknown\)$/m,
  );
});

test("tmc cluster status shows the identity of the cluster, and the one that answers if it is another", () => {
  const status = aStatus({}, { clusterUID: "uid-a" });
  expect(describeCluster(aRegistration({ status }), surroundings)).toMatch(/^Identity: +uid-a$/m);
  const changed = aRegistration({ status: { ...status, observedClusterUID: "uid-b" } });
  expect(describeCluster(changed, surroundings)).toMatch(
    /^Identity: +uid-a \(registered\)\n +uid-b \(answers now; see .\/tmc cluster accept-identity east\)$/m,
  );
});

test("tmc cluster status and list show other registrations of the same cluster", () => {
  const status = aStatus({}, { clusterUID: "uid-a" });
  const registrations = [
    aRegistration({ status }),
    aRegistration({ name: "west", status }),
    aRegistration({ name: "north", status: aStatus({}, { clusterUID: "uid-b" }) }),
  ];
  const east = aRegistration({ status });
  expect(describeCluster(east, { ...surroundings, registrations })).toMatch(/^Same cluster: +west$/m);
  const { columns, rows } = clusterTable(registrations, { wide: true, nowMs });
  const table = formatTable(columns, rows);
  expect(table).toMatch(/^NAME .* SAME CLUSTER$/m);
  expect(table).toMatch(/^east .* west$/m);
  expect(table).toMatch(/^west .* east$/m);
  expect(table).not.toMatch(/^north .* (east|west)$/m);
});

test("tmc cluster status shows warnings beside Ready, and none where there are none", () => {
  const status = aStatus();
  const warning = {
    type: "CredentialsCurrent",
    status: "False",
    severity: "Warning",
    reason: "CredentialsExpiring",
    message: "renew them",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  } as const;
  const warned = { ...status, conditions: [...(status.conditions ?? []), warning] };
  expect(describeCluster(aRegistration({ status: warned }), surroundings)).toMatch(
    /^Warnings: +CredentialsExpiring: renew them$/m,
  );
  expect(describeCluster(aRegistration({ status }), surroundings)).not.toContain("Warnings");
});

test.each([
  [{ cpu: "1500m", memory: "2Gi" }, "1500m cpu, 2Gi memory requested"],
  [{ unknown: "Forbidden" as const }, "unknown: the credentials may not list pods"],
  [{ unknown: "TooMany" as const }, "unknown: too many pods"],
])("tmc cluster status shows what other pods request: %j", (otherPods, text) => {
  const registration = aRegistration({ status: aStatus({}, { otherPods }) });
  expect(describeCluster(registration, surroundings)).toContain(`Other pods:       ${text}\n`);
});
