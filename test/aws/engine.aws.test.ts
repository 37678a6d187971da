import { describe } from "vitest";
import { engineCases } from "../e2e/engine-cases.ts";
import { useDeployedEnvironment } from "./deployed-environment.ts";

/** What a killed function held comes back after six of its time-outs, which are 20 seconds each. */
const waitMs = 180_000;

describe("the engine as it is deployed", { timeout: 420_000 }, () => {
  // As often as a deployment allows it: a cluster is taken for dead after three rounds.
  const stage = useDeployedEnvironment({ stage: "engine", settings: { heartbeatSeconds: "10" }, waitMs });
  engineCases(() => stage, waitMs);
});
