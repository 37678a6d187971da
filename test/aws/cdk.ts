import { randomUUID } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { readTail, startSupervised } from "../real/supervised-process.ts";
import { type AwsEndpoint, clientConfig, environmentOf } from "./endpoint.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const command = join(root, "node_modules", "aws-cdk", "bin", "cdk");

/** The app to deploy, its context, and a folder for its output. */
export type CdkApp = Readonly<{
  /** The command that synthesises it, run from the project's root. */
  app: string;
  context: Readonly<Record<string, string>>;
  folder: string;
}>;

/** The values that stacks give out, by stack and name. */
export type Outputs = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The deployment tool as people call it, on an endpoint. */
export interface Cdk {
  bootstrap(): Promise<void>;
  /** Synthesises the app into a folder, which is answered. */
  synth(app: CdkApp): Promise<string>;
  /** Deploys every stack of a synthesised app. */
  deploy(assembly: string): Promise<Outputs>;
  /** Removes every stack of a synthesised app. */
  destroy(assembly: string): Promise<void>;
}

/** The project's own deployment tool, pointed at an endpoint; its logs go into a folder. */
export function createCdk(endpoint: AwsEndpoint, logs: string): Cdk {
  const path = [dirname(process.execPath), process.env.PATH ?? ""].join(delimiter);
  const run = async (name: string, args: readonly string[], cwd = root): Promise<void> => {
    await mkdir(logs, { recursive: true });
    const logFile = join(logs, `cdk-${name}-${randomUUID()}.log`);
    const flags = ["--no-notices", "--no-color", "--ci"];
    const running = startSupervised({
      name: `cdk ${name}`,
      command: process.execPath,
      args: [command, name, ...args, ...flags],
      cwd,
      env: { ...environmentOf(endpoint), PATH: path, CDK_DISABLE_CLI_TELEMETRY: "true" },
      logFile,
    });
    const code = await running.exit;
    if (code !== 0) throw new Error(`cdk ${name}: ${running.ended()}\n${await readTail(logFile, 40)}`);
  };
  return {
    // From elsewhere: beside our own cdk.json it would synthesise the app first, whose settings it is not given.
    bootstrap: async () => run("bootstrap", [`aws://${await readAccount(endpoint)}/${endpoint.region}`], logs),
    synth: async ({ app, context, folder }) => {
      const assembly = join(folder, `assembly-${randomUUID()}`);
      const values = Object.entries(context).flatMap(([key, value]) => ["--context", `${key}=${value}`]);
      await run("synth", ["--all", "--quiet", "--app", app, "--output", assembly, ...values]);
      return assembly;
    },
    deploy: async (assembly) => {
      const outputs = `${assembly}.outputs.json`;
      const flags = ["--require-approval", "never", "--outputs-file", outputs];
      await run("deploy", ["--all", "--app", assembly, ...flags]);
      return JSON.parse(await readFile(outputs, "utf8")) as Outputs; // the tool's own form
    },
    destroy: (assembly) => run("destroy", ["--all", "--force", "--app", assembly]),
  };
}

async function readAccount(endpoint: AwsEndpoint): Promise<string> {
  const sts = new STSClient(clientConfig(endpoint));
  try {
    const { Account } = await sts.send(new GetCallerIdentityCommand({}));
    if (Account === undefined) throw new Error("aws: the endpoint does not say which account it is");
    return Account;
  } finally {
    sts.destroy();
  }
}
