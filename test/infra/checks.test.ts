import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { afterEach, expect, it, vi } from "vitest";
import { addChecks } from "../../infra/checks.ts";
import type { GivenSettings } from "../../infra/settings.ts";
import { findingsIn, synthesize } from "./synthesized.ts";

// The rules take seconds to load, more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/tmc/relay:1.2.3";
const deployments: Readonly<Record<string, GivenSettings>> = {
  "with defaults": {},
  "with e-mail alarms and an image in ECR": { alarmEmail: "ops@example.com", "relay.image": image },
  "with an external relay and removal=destroy": { "relay.mode": "external", removal: "destroy" },
  "with customer managed keys and an existing topic": {
    kmsKeyArns: "arn:aws:kms:eu-west-1:123456789012:key/1b2f0c9e-0000-4000-8000-000000000000",
    alarmTopicArn: "arn:aws:sns:eu-west-1:123456789012:paging",
  },
  "in an existing network": {
    "vpc.id": "vpc-0123456789abcdef0",
    "vpc.subnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
    "vpc.availabilityZones": "eu-west-1a,eu-west-1b",
    "vpc.functions": true,
  },
};

const code = process.exitCode;
afterEach(() => {
  process.exitCode = code; // a synth with findings sets it
});

it.each(Object.entries(deployments))("a deployment %s has no unsuppressed findings, including warnings", (_, given) => {
  expect(synthesize(given, { checks: true }).findings).toEqual([]);
});

it("an unsuppressed finding fails the synth", () => {
  const folder = mkdtempSync(join(tmpdir(), "tmc-infra-"));
  try {
    const app = new App({ outdir: folder, autoSynth: false });
    new Queue(new Stack(app, "Bare"), "Queue");
    addChecks(app);
    expect(() => app.synth()).toThrow();
    expect(findingsIn(folder)).toContain("AwsSolutions-SQS3");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
