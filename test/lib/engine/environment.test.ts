import { describe, expect, test } from "vitest";
import { type EnvironmentName, readEnvironment } from "../../../lib/engine/environment.ts";

const all = {
  TMC_STAGE: "prod",
  TMC_LOG_LEVEL: "4",
  TMC_HUB: "kcp",
  TMC_KCP_SECRET: "tmc/kcp",
  TMC_WORKSPACES: "root:one, root:two",
  TMC_WORK_QUEUE_URL: "https://sqs.eu-west-1.amazonaws.com/1/work.fifo",
  TMC_DELAY_QUEUE_URL: "https://sqs.eu-west-1.amazonaws.com/1/delay",
  TMC_DEAD_LETTERS_URL: "https://sqs.eu-west-1.amazonaws.com/1/dead.fifo",
  TMC_HEARTBEAT_QUEUE_URL: "http://127.0.0.1:4566/1/heartbeat",
  TMC_HEARTBEAT_SECONDS: "30",
  TMC_RESYNC_SECONDS: "600",
  TMC_CREDENTIAL_PROVIDERS: "eks,kcp-secret",
  TMC_ALLOWED_ENDPOINTS: "10.0.0.0/8,fd00::/8",
};
const names: readonly EnvironmentName[] = [
  "stage",
  "logLevel",
  "hub",
  "kcpSecret",
  "workspaces",
  "apiExport",
  "workQueueUrl",
  "delayQueueUrl",
  "deadLettersUrl",
  "heartbeatQueueUrl",
  "heartbeatSeconds",
  "resyncSeconds",
  "credentialProviders",
  "allowedEndpoints",
];

test("readEnvironment parses all variables", () => {
  expect(readEnvironment(all, names)).toEqual({
    stage: "prod",
    logLevel: 4,
    hub: "kcp",
    kcpSecret: "tmc/kcp",
    workspaces: ["root:one", "root:two"],
    workQueueUrl: all.TMC_WORK_QUEUE_URL,
    delayQueueUrl: all.TMC_DELAY_QUEUE_URL,
    deadLettersUrl: all.TMC_DEAD_LETTERS_URL,
    heartbeatQueueUrl: all.TMC_HEARTBEAT_QUEUE_URL,
    heartbeatSeconds: 30,
    resyncSeconds: 600,
    credentialProviders: ["eks", "kcp-secret"],
    allowedEndpoints: ["10.0.0.0/8", "fd00::/8"],
  });
});

test("readEnvironment has defaults for optional variables, and treats empty ones as unset", () => {
  const { TMC_STAGE, TMC_KCP_SECRET, TMC_WORKSPACES } = all;
  const few = { TMC_STAGE, TMC_KCP_SECRET, TMC_WORKSPACES, TMC_LOG_LEVEL: " ", TMC_ALLOWED_ENDPOINTS: "" };
  expect(
    readEnvironment(few, [
      "stage",
      "logLevel",
      "hub",
      "workspaces",
      "heartbeatSeconds",
      "resyncSeconds",
      "credentialProviders",
      "allowedEndpoints",
    ]),
  ).toMatchObject({
    logLevel: 2,
    hub: "kcp",
    heartbeatSeconds: 60,
    resyncSeconds: 1800,
    credentialProviders: ["eks", "secretsmanager", "kcp-secret"],
    allowedEndpoints: [],
  });
});

test("TMC_API_EXPORT replaces TMC_WORKSPACES", () => {
  const variables = { TMC_API_EXPORT: "root:org:tmc:tmc.kcp.io" };
  expect(readEnvironment(variables, ["hub", "workspaces", "apiExport"])).toEqual({
    hub: "kcp",
    workspaces: [],
    apiExport: { path: "root:org:tmc", name: "tmc.kcp.io" },
  });
});

test("readEnvironment does not check variables that were not requested", () => {
  expect(readEnvironment({ TMC_STAGE: "a", TMC_HUB: "moon" }, ["stage"])).toEqual({ stage: "a" });
});

describe("invalid environment variables", () => {
  const invalidValues: Record<string, readonly [variables: Record<string, string>, words: string]> = {
    stage: [{ TMC_STAGE: "a b" }, "TMC_STAGE must be letters, digits, - and _, at most 63"],
    level: [{ TMC_LOG_LEVEL: "11" }, "TMC_LOG_LEVEL must be a whole number from 0 to 10"],
    hub: [{ TMC_HUB: "moon" }, "TMC_HUB must be one of kcp, kubernetes"],
    "no workspaces": [{ TMC_WORKSPACES: "" }, "TMC_WORKSPACES is not set"],
    "only commas": [{ TMC_WORKSPACES: " , " }, "TMC_WORKSPACES is not set"],
    workspace: [{ TMC_WORKSPACES: "root:one,Root" }, "TMC_WORKSPACES must be comma-separated paths like root:org:team"],
    url: [{ TMC_DELAY_QUEUE_URL: "delay" }, "TMC_DELAY_QUEUE_URL must be the URL of a queue"],
    "no seconds": [{ TMC_RESYNC_SECONDS: "0" }, "TMC_RESYNC_SECONDS must be whole seconds from 1 to 86400"],
    fraction: [{ TMC_HEARTBEAT_SECONDS: "1.5" }, "TMC_HEARTBEAT_SECONDS must be whole seconds from 1 to 86400"],
    provider: [{ TMC_CREDENTIAL_PROVIDERS: "eks,gke" }, "must be one of eks, secretsmanager, kcp-secret"],
    network: [
      { TMC_ALLOWED_ENDPOINTS: "10.0.0.0/33" },
      "TMC_ALLOWED_ENDPOINTS must be comma-separated networks like 10.0.0.0/8",
    ],
  };
  test.each(Object.entries(invalidValues))(
    "readEnvironment rejects an invalid value: %s",
    (_what, [variables, words]) => {
      expect(() => readEnvironment({ ...all, ...variables }, names)).toThrow(words);
    },
  );

  /** Each of these variables is valid on its own. */
  const invalidCombinations: typeof invalidValues = {
    export: [
      { TMC_WORKSPACES: "", TMC_API_EXPORT: "tmc.kcp.io" },
      "TMC_API_EXPORT must be a workspace and the export in it, like root:tmc:tmc.kcp.io",
    ],
    "export and workspaces": [
      { TMC_API_EXPORT: "root:tmc:tmc.kcp.io" },
      "TMC_API_EXPORT replaces TMC_WORKSPACES: set only one of them",
    ],
    "export of a plain cluster": [
      { TMC_HUB: "kubernetes", TMC_WORKSPACES: "", TMC_API_EXPORT: "root:tmc:tmc.kcp.io" },
      "TMC_API_EXPORT is for kcp",
    ],
  };
  test.each(Object.entries(invalidCombinations))(
    "readEnvironment rejects an invalid combination: %s",
    (_what, [variables, words]) => {
      expect(() => readEnvironment({ ...all, ...variables }, names)).toThrow(words);
    },
  );

  test("readEnvironment reports all invalid variables in one error without their values", () => {
    const wrong = Object.assign({}, ...Object.values(invalidValues).map(([variables]) => variables)) as object;
    const variables = { ...all, ...wrong, TMC_KCP_SECRET: "", TMC_WORK_QUEUE_URL: "apiVersion: v1 token: sesame" };
    const failure = (): unknown => {
      try {
        return readEnvironment(variables, names);
      } catch (error) {
        return error;
      }
    };
    const text = String(failure());
    expect(text.split("; ")).toHaveLength(11);
    expect(text).not.toContain("sesame");
    expect(failure()).toMatchObject({ fault: "invalid" });
  });
});

test("a plain Kubernetes upstream needs no workspaces", () => {
  expect(readEnvironment({ TMC_HUB: "kubernetes" }, ["hub", "workspaces"])).toEqual({
    hub: "kubernetes",
    workspaces: [],
  });
});
