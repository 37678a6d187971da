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
  "as it comes": {},
  "with mails, and an image in ECR": { alarmEmail: "ops@example.com", "relay.image": image },
  "with a relay elsewhere, to be thrown away": { "relay.mode": "external", removal: "destroy" },
  "in a network that exists": {
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

it.each(Object.entries(deployments))("a deployment %s leaves no finding unanswered, not even a warning", (_, given) => {
  expect(synthesize(given, { checks: true }).findings).toEqual([]);
});

it("a finding that nobody has answered fails the synth", () => {
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
