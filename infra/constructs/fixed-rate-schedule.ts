import { Stack } from "aws-cdk-lib";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { CfnSchedule } from "aws-cdk-lib/aws-scheduler";
import { Construct } from "constructs";

export interface FixedRateScheduleProps {
  readonly scheduleName: string;
  /** One line. */
  readonly description: string;
  /** Whole minutes between two invocations. */
  readonly minutes: number;
  readonly target: IFunction;
}

/**
 * Invokes a function at a fixed rate.
 *
 * Uses the CloudFormation resource directly: CDK's target construct would allow the schedule to invoke every version of the
 * function.
 */
export class FixedRateSchedule extends Construct {
  constructor(scope: Construct, id: string, props: FixedRateScheduleProps) {
    super(scope, id);
    const role = new Role(this, "Role", {
      // Only schedules of this account may assume the role.
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com", {
        conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
      }),
      description: `${props.scheduleName}: ${props.description}`,
      inlinePolicies: {
        call: new PolicyDocument({
          statements: [
            new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [props.target.functionArn] }),
          ],
        }),
      },
    });
    new CfnSchedule(this, "Schedule", {
      name: props.scheduleName,
      description: props.description,
      scheduleExpression: `rate(${props.minutes} ${props.minutes === 1 ? "minute" : "minutes"})`,
      flexibleTimeWindow: { mode: "OFF" },
      target: {
        arn: props.target.functionArn,
        roleArn: role.roleArn,
        // An invocation that is late by a whole interval would coincide with the next one.
        retryPolicy: { maximumEventAgeInSeconds: 60 * Math.min(props.minutes, 60), maximumRetryAttempts: 3 },
      },
    });
  }
}
