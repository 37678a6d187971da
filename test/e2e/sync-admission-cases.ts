import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { SyncBench } from "./sync-environment.ts";
import { aDeployment, aRoom, clear, workTypes } from "./tenant-work.ts";

const policies = { group: "admissionregistration.k8s.io", version: "v1", plural: "validatingadmissionpolicies" };
const bindings = { ...policies, plural: "validatingadmissionpolicybindings" };
const quotas = { group: "", version: "v1", plural: "resourcequotas" };

const words = "images of the old registry are not let in";
const policy: KubeObject = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "no-old-registry" },
  spec: {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["deployments"] },
      ],
    },
    validations: [
      {
        expression: "object.spec.template.spec.containers.all(c, !c.image.startsWith('old.example/'))",
        message: words,
      },
    ],
  },
};
const binding: KubeObject = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: "no-old-registry" },
  spec: { policyName: "no-old-registry", validationActions: ["Deny"] },
};

/** What a cluster's own rules refuse; only a real one has such rules. */
export function syncAdmissionCases({ begin, waitMs }: SyncBench): void {
  it("reports what an admission policy rejects, and syncs once the workload is fixed", async () => {
    const { world, work } = await begin();
    const east = world.clusterClient("us-east");
    await east.create({ type: policies }, policy);
    await east.create({ type: bindings }, binding);
    const trial = aDeployment("default", "trial", { image: "old.example/nginx:1" });
    await eventually(async () => {
      const answer = await east
        .create({ type: workTypes.Deployment, namespace: "default" }, trial, { dryRun: true })
        .then(String, String);
      return answer.includes(words) ? undefined : `the policy does not hold yet: ${answer}`;
    }, waitMs);

    await work.apply(...aRoom("port"), aDeployment("port", "ship", { image: "old.example/nginx:1" }));
    const refused = await work.untilState("port", "ship", "us-east", "Failed Rejected");
    expect(refused?.message).toContain(words);
    await work.untilState("port", "ship", "us-west", "Ready");
    await work.apply(aDeployment("port", "ship", { image: "new.example/nginx:1" }));
    await work.untilRuns("port", "ship", { "us-east": 1, "us-west": 1 });
    await east.delete({ type: bindings, name: "no-old-registry" });
    await east.delete({ type: policies, name: "no-old-registry" });

    // A quota, in the namespace that is there by now.
    const namespace = work.namespaceOn("port");
    const quota: KubeObject = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "one-ship" },
      spec: { hard: { "count/deployments.apps": "1" } },
    };
    await east.create({ type: quotas, namespace }, quota);
    await eventually(async () => {
      const { status } = await east.get<KubeObject>({ type: quotas, namespace, name: "one-ship" });
      const used = JSON.stringify(status);
      return used?.includes('"used":{"count/deployments.apps":"1"}') === true ? undefined : `quota: ${used}`;
    }, waitMs);
    await work.apply(aDeployment("port", "second"));
    const over = await work.untilState("port", "second", "us-east", "Failed Rejected");
    expect(over?.message).toContain("exceeded quota: one-ship");
    await work.untilState("port", "second", "us-west", "Ready");
    await east.delete({ type: quotas, namespace, name: "one-ship" });
    await work.apply(aDeployment("port", "second", { replicas: 2 }));
    await work.untilRuns("port", "second", { "us-east": 2, "us-west": 2 });
    await clear(work, "port", ["ship", "second"]);
  });
}
