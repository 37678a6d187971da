import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type AwsEndpoint, environmentOf } from "./endpoint.ts";

const command = fileURLToPath(new URL("../../bin/tmc.ts", import.meta.url));

/** Runs the command line as an operator would on an endpoint; answers what it printed, and fails when it does. */
export async function runTmc(endpoint: AwsEndpoint, args: readonly string[]): Promise<string> {
  const env = { ...process.env, ...environmentOf(endpoint) };
  const { stdout } = await promisify(execFile)(process.execPath, [command, ...args], { env, timeout: 60_000 });
  return stdout;
}
