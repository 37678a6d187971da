import { describe, expect, it } from "vitest";
import { UsageError } from "../../../lib/cli/cli-io.ts";
import { parseWorkloadType, parseWorkloadWords, typeTitle, workloadTitle } from "../../../lib/cli/workload-words.ts";

describe("the word for a type", () => {
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
  it.each(Object.entries(rows))("%s is found as kubectl would", (type, words) => {
    for (const word of words) {
      const { apiVersion, kind } = parseWorkloadType(word);
      expect(`${apiVersion} ${kind}`).toBe(type);
    }
  });

  it.each([
    ["dploy", "did you mean deploy?"],
    ["databases.example.com", "goes by its whole name"],
    ["", "is no type of workload"],
  ])("%j is refused, and says what would do", (word, hint) => {
    expect(() => parseWorkloadType(word)).toThrow(UsageError);
    expect(() => parseWorkloadType(word)).toThrow(hint);
  });
});

describe("the name of a workload", () => {
  it("is one word or two", () => {
    expect(parseWorkloadWords("deploy/web")).toEqual(parseWorkloadWords("deploy", "web"));
  });

  it.each([
    [["deploy/web", "web"], "write kind/name, or kind and name as two words"],
    [["deploy"], "which one?"],
    [["deploy/"], '""'],
    [["deploy/Web_1"], '"Web_1"'],
  ] as const)("%j is refused", ([first, second], hint) => {
    expect(() => parseWorkloadWords(first, second)).toThrow(hint);
  });

  it("is shown as kubectl does", () => {
    expect(workloadTitle({ apiVersion: "apps/v1", kind: "Deployment", name: "web" })).toBe("deployment.apps/web");
    expect(workloadTitle({ apiVersion: "v1", kind: "Secret", name: "keys" })).toBe("secret/keys");
    expect(typeTitle(parseWorkloadType("databases.v1.example.com"))).toBe("databases.example.com");
  });
});
