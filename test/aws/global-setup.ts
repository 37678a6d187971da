import type { TestProject } from "vitest/node";
import { type AwsEndpoint, environmentOf, startEndpoint } from "./endpoint.ts";

declare module "vitest" {
  interface ProvidedContext {
    awsEndpoint: AwsEndpoint;
  }
}

/** Starts one endpoint for the whole run and stops it after it; its logs stay when a test has failed. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const running = await startEndpoint();
  project.provide("awsEndpoint", running.endpoint);
  // The processes of the tests start after this, and read some of it at their own start.
  Object.assign(process.env, environmentOf(running.endpoint));
  return () => running.stop(project.vitest.state.getCountOfFailedTests() > 0 ? { keepLogs: true } : {});
}
