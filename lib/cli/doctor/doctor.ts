import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { Command, Option } from "commander";
import { type CliIo, CommandExit, UsageError } from "../cli-io.ts";
import { formatDocument, formatTable, type Output, outputOption } from "../output.ts";
import { type DoctorCheck, decideAwsChecks, parseDoctorSettings } from "./aws-checks.ts";
import type { DoctorTools } from "./aws-facts.ts";

type DoctorOptions = Readonly<{ config: string; region?: string | undefined; output: Output }>;

/** Opens the access to AWS for a region. Tests pass their own. */
export type OpenDoctorTools = (io: CliIo, region: string) => Promise<DoctorTools>;

/** Creates the `doctor` command group. */
export function doctorCommand(io: CliIo, openTools: OpenDoctorTools = openDoctorTools): Command {
  return new Command("doctor")
    .summary("Check what a deployment depends on: aws")
    .description("Check what a deployment depends on, before it is created. Changes nothing.")
    .addCommand(awsCommand(io, openTools));
}

function awsCommand(io: CliIo, openTools: OpenDoctorTools): Command {
  return new Command("aws")
    .summary("Check the AWS account before a deployment")
    .description(
      "Check the AWS account before a deployment: the quota of concurrent executions, the CDK bootstrap stack, the secrets with kubeconfigs, whether the upstream responds to this machine, and Docker. Uses the credentials of the AWS CLI and changes nothing. The exit code is 1 if a check failed.",
    )
    .addOption(new Option("--config <file>", "Settings of the deployment").default("tmc.config.json"))
    .addOption(new Option("--region <region>", "AWS region (default: $AWS_REGION)"))
    .addOption(outputOption(["table", "json", "yaml"]))
    .addHelpText("after", "\nExamples:\n  # Check the account before npm run deploy\n  tmc doctor aws\n")
    .action(async ({ config, region: chosen, output }: DoctorOptions) => {
      const region = chosen ?? io.env.AWS_REGION ?? io.env.AWS_DEFAULT_REGION;
      if (region === undefined || region === "") throw new UsageError("--region is required, or AWS_REGION");
      const text = await readFile(config, "utf8").catch((error: unknown) => {
        throw new UsageError(`${config} cannot be read`, { cause: error });
      });
      const settings = parseDoctorSettings(text, config);
      // Imported on demand, because loading the AWS SDK would slow the start of every other command.
      const { readAwsFacts } = await import("./aws-facts.ts");
      const checks = decideAwsChecks(await readAwsFacts(settings, await openTools(io, region)));
      if (output === "json" || output === "yaml") io.out(formatDocument({ checks }, output));
      else io.out(formatChecks(checks));
      const failed = checks.filter(({ result }) => result === "failed").length;
      if (failed > 0) throw new CommandExit(1, `${failed} of ${checks.length} checks failed`);
    });
}

function formatChecks(checks: readonly DoctorCheck[]): string {
  return formatTable(
    ["CHECK", "RESULT", "DETAIL"],
    checks.map(({ name, result, detail }) => [name, result, detail]),
  );
}

async function openDoctorTools({ clock }: CliIo, region: string): Promise<DoctorTools> {
  const [{ SecretsManagerClient }, { defaultProvider }, { createCallAws }] = await Promise.all([
    import("@aws-sdk/client-secrets-manager"),
    import("@aws-sdk/credential-provider-node"),
    import("../../credentials/aws-call.ts"),
  ]);
  return {
    clock,
    region,
    credentials: defaultProvider(),
    callAws: createCallAws({ clock }),
    secretsManager: new SecretsManagerClient({ region }),
    dockerVersion: async () => {
      const { stdout } = await promisify(execFile)("docker", ["version", "--format", "{{.Server.Version}}"], {
        timeout: 10_000,
      });
      return stdout.trim();
    },
  };
}
