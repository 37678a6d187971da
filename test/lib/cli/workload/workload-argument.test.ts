import { describe, expect, it } from "vitest";
import { UsageError } from "../../../../lib/cli/cli-io.ts";
import {
  parseWorkloadArgument,
  parseWorkloadType,
  typeTitle,
  workloadTitle,
} from "../../../../lib/cli/workload/workload-argument.ts";

describe("workload types", () => {
  const rows: Record<string, readonly string[]> = {
    "apps/v1 Deployment": ["deploy", "deployment", "deployments", "Deployment", "deployments.apps", "deploy.v1.apps"],
    "apps/v1 StatefulSet": ["sts", "statefulset"],
    "batch/v1 CronJob": ["cj", "cronjobs.batch"],
    "v1 Service": ["svc", "services"],
    "v1 ConfigMap": ["cm"],
    "v1 Secret": ["secret", "secrets"],
    "example.com/v1 undefined": ["databases.v1.example.com"],
    "example.com/v1beta2 undefined": ["databases.v1beta2.example.com"],
  };
  it.each(Object.entries(rows))("parseWorkloadType finds %s by all names that kubectl accepts", (type, names) => {
    for (const name of names) {
      const { apiVersion, kind } = parseWorkloadType(name);
      expect(`${apiVersion} ${kind}`).toBe(type);
    }
  });

  it.each([
    ["dploy", "did you mean deploy?"],
    ["databases.example.com", "by its full name"],
    ["", "unknown workload type"],
  ])("parseWorkloadType rejects %j with a hint", (name, hint) => {
    expect(() => parseWorkloadType(name)).toThrow(UsageError);
    expect(() => parseWorkloadType(name)).toThrow(hint);
  });
});

describe("workload arguments", () => {
  it("parseWorkloadArgument accepts one argument or two", () => {
    expect(parseWorkloadArgument("deploy/web")).toEqual(parseWorkloadArgument("deploy", "web"));
  });

  it.each([
    [["deploy/web", "web"], "expected kind/name, or kind and name as two arguments"],
    [["deploy"], "name is required"],
    [["deploy/"], '""'],
    [["deploy/Web_1"], '"Web_1"'],
  ] as const)("parseWorkloadArgument rejects %j", ([first, second], hint) => {
    expect(() => parseWorkloadArgument(first, second)).toThrow(hint);
  });

  it("workloadTitle and typeTitle print names as kubectl does", () => {
    expect(workloadTitle({ apiVersion: "apps/v1", kind: "Deployment", name: "web" })).toBe("deployment.apps/web");
    expect(workloadTitle({ apiVersion: "v1", kind: "Secret", name: "keys" })).toBe("secret/keys");
    expect(typeTitle(parseWorkloadType("databases.v1.example.com"))).toBe("databases.example.com");
  });
});
