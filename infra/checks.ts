import { Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";
import type { IConstruct } from "constructs";

/** Checks every synth against the rules of AWS Solutions and Serverless; a finding that is not acknowledged fails it. */
export function addChecks(app: IConstruct): void {
  Validations.of(app).addPlugins(
    new AwsSolutionsChecks(app, { verbose: true }),
    new ServerlessChecks(app, { verbose: true }),
  );
}

/** Acknowledges a finding on one construct. Never on a stack: that would also hide findings on constructs added later. */
export function acknowledge(construct: IConstruct, finding: string, reason: string): void {
  Validations.of(construct).acknowledge({ id: finding, reason });
}
