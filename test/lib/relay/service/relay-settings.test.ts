import { describe, expect, it } from "vitest";
import { readRelaySettings } from "../../../../lib/relay/service/relay-settings.ts";

const url = "https://sqs.eu-central-1.amazonaws.com/123456789012/tmc-work.fifo";
const all = {
  TMC_STAGE: "prod",
  TMC_KCP_SECRET: "tmc/kcp",
  TMC_WORKSPACES: "root:a, root:b",
  TMC_WORK_QUEUE_URL: url,
};

describe("relay settings", () => {
  it("are read from the environment, with defaults", () => {
    expect(readRelaySettings(all)).toEqual({
      stage: "prod",
      logLevel: 2,
      kubeconfig: { secret: "tmc/kcp" },
      workspaces: ["root:a", "root:b"],
      workQueueUrl: url,
      tenantEventsPerSecond: 100,
      sync: true,
      watchClusters: false,
      credentialProviders: ["eks", "secretsmanager", "kcp-secret"],
      allowedEndpoints: [],
      metricsPort: 8080,
      healthPort: 8081,
      cloudWatch: { by: "none" },
    });
  });
  it("report metrics by the log in ECS, and elsewhere as the operator chooses", () => {
    const read = (more: Readonly<Record<string, string>>) => readRelaySettings({ ...all, ...more }).cloudWatch;
    const ecs = { ECS_CONTAINER_METADATA_URI_V4: "http://169.254.170.2/v4" };
    expect(read(ecs)).toEqual({ by: "log" });
    expect(read({ ...ecs, TMC_CLOUDWATCH_METRICS: "none" })).toEqual({ by: "none" });
    expect(read({ TMC_CLOUDWATCH_METRICS: "api", AWS_REGION: "eu-west-1" })).toEqual({
      by: "api",
      region: "eu-west-1",
    });
    expect(() => read({ TMC_CLOUDWATCH_METRICS: "api" })).toThrow("TMC_CLOUDWATCH_METRICS=api requires AWS_REGION");
    expect(() => read({ TMC_CLOUDWATCH_METRICS: "x" })).toThrow("TMC_CLOUDWATCH_METRICS must be one of log, api, none");
  });
  it("accept a kubeconfig file instead of a secret", () => {
    const { TMC_KCP_SECRET: _, ...rest } = all;
    expect(readRelaySettings({ ...rest, TMC_KCP_KUBECONFIG: "/etc/tmc/kubeconfig" }).kubeconfig).toEqual({
      path: "/etc/tmc/kubeconfig",
    });
    expect(readRelaySettings({ ...all, TMC_KCP_KUBECONFIG: "/a" }).kubeconfig).toEqual({ path: "/a" });
  });
  it("have no workspaces for a plain Kubernetes cluster upstream", () => {
    const { TMC_WORKSPACES: _, ...rest } = all;
    expect(readRelaySettings({ ...rest, TMC_HUB: "kubernetes" }).workspaces).toBeUndefined();
  });
  it("accept any ports, but not the same for metrics and health", () => {
    expect(readRelaySettings({ ...all, TMC_METRICS_PORT: "0", TMC_HEALTH_PORT: "0" })).toMatchObject({
      metricsPort: 0,
      healthPort: 0,
    });
    expect(() => readRelaySettings({ ...all, TMC_METRICS_PORT: "8081" })).toThrow(
      "environment: TMC_HEALTH_PORT is the same as TMC_METRICS_PORT",
    );
  });
  it("can turn off sync", () => {
    const read = (text: string) => readRelaySettings({ ...all, TMC_SYNC: text }).sync;
    expect(["false", "true", ""].map(read)).toEqual([false, true, true]);
    expect(() => read("no")).toThrow("TMC_SYNC must be one of true, false");
  });
  it("can change the rate limit per tenant, or turn it off", () => {
    const read = (text: string) =>
      readRelaySettings({ ...all, TMC_TENANT_EVENTS_PER_SECOND: text }).tenantEventsPerSecond;
    expect(["0", "7"].map(read)).toEqual([0, 7]);
    expect(() => read("-1")).toThrow("TMC_TENANT_EVENTS_PER_SECOND must be a whole number from 0 to 100000");
  });
  it("report everything that is invalid in one error", () => {
    expect(() => readRelaySettings({ TMC_METRICS_PORT: "many", TMC_HEALTH_PORT: "70000" })).toThrow(
      /^environment: TMC_METRICS_PORT .*; TMC_HEALTH_PORT .*; TMC_STAGE is not set; .*TMC_WORK_QUEUE_URL is not set.*; TMC_KCP_SECRET is not set$/,
    );
  });
});
