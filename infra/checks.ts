import { Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";
import type { IConstruct } from "constructs";

/** Has every synth checked against the rules of AWS Solutions and of Serverless; what they find and nobody answered fails it. */
export function addChecks(app: IConstruct): void {
  Validations.of(app).addPlugins(
    new AwsSolutionsChecks(app, { verbose: true }),
    new ServerlessChecks(app, { verbose: true }),
  );
}

/**
 * Answers one finding about a construct with the reason why it stays.
 *
 * Never for a whole stack: a rule that is silenced there is silent for what comes later too.
 */
export function acknowledge(construct: IConstruct, finding: string, reason: string): void {
  Validations.of(construct).acknowledge({ id: finding, reason });
}
