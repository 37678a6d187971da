import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readSettings } from "../../infra/read-settings.ts";
import { settingFields } from "../../infra/setting-fields.ts";
import { type GivenSettings, parseSettings, settingPaths } from "../../infra/settings.ts";

const least = { workspaces: "root:org:team" };
const root = join(import.meta.dirname, "..", "..");

describe("parseSettings", () => {
  it("parseSettings requires only the workspaces", () => {
    expect(parseSettings(least)).toMatchObject({
      stage: "dev",
      hub: "kcp",
      kcpSecret: "tmc-dev-kcp",
      "relay.kcpSecret": "tmc-dev-kcp",
      workspaces: ["root:org:team"],
      "relay.mode": "fargate",
      "concurrency.reconcile": 20,
      heartbeatSeconds: 60,
      removal: "retain",
    });
  });

  const taken: Record<string, { given: GivenSettings; gives: GivenSettings }> = {
    "text from the command line": {
      given: { logLevel: "4", resyncMinutes: " 60 ", "concurrency.reserve": "true", workspaces: "root:a, root:b" },
      gives: { logLevel: 4, resyncMinutes: 60, "concurrency.reserve": true, workspaces: ["root:a", "root:b"] },
    },
    "numbers and lists from a file": {
      given: { logLevel: 4, workspaces: ["root:a", "root:b", "root:a"] },
      gives: { logLevel: 4, workspaces: ["root:a", "root:b"] },
    },
    "nested settings": {
      given: { relay: { mode: "external", tasks: 3 }, concurrency: { probe: 30 } },
      gives: { "relay.mode": "external", "relay.tasks": 3, "concurrency.probe": 30 },
    },
    "a secret next to those of tenants": { given: { kcpSecret: "tmc/kcp" }, gives: { kcpSecret: "tmc/kcp" } },
    "a secret of another name": { given: { kcpSecret: "hub/kubeconfig" }, gives: { kcpSecret: "hub/kubeconfig" } },
    "one secret for functions and relay by default": {
      given: { kcpSecret: "hub/kubeconfig" },
      gives: { "relay.kcpSecret": "hub/kubeconfig" },
    },
    "a separate secret for the relay": {
      given: { kcpSecret: "tmc/kcp", relay: { kcpSecret: "hub/relay" } },
      gives: { kcpSecret: "tmc/kcp", "relay.kcpSecret": "hub/relay" },
    },
    "an existing network": {
      given: { vpc: { id: "vpc-12345678", subnets: ["subnet-12345678"], availabilityZones: ["us-gov-west-1a"] } },
      gives: { "vpc.id": "vpc-12345678", "vpc.subnets": ["subnet-12345678"] },
    },
    "an image by digest": {
      given: { "relay.image": `ghcr.io/acme/relay@sha256:${"0".repeat(64)}` },
      gives: { "relay.image": `ghcr.io/acme/relay@sha256:${"0".repeat(64)}` },
    },
    "networks of both kinds": {
      given: { allowedEndpoints: "10.20.0.0/16,fd00:1::/64" },
      gives: { allowedEndpoints: ["10.20.0.0/16", "fd00:1::/64"] },
    },
  };
  it.each(Object.entries(taken))("parseSettings accepts %s", (_, { given, gives }) => {
    expect(parseSettings({ ...least, ...given })).toMatchObject(gives);
  });

  it("parseSettings prefers the context over the file for each setting", () => {
    const file = { ...least, stage: "prod", relay: { mode: "external", tasks: 4 } };
    expect(parseSettings(file, { stage: "try", "relay.tasks": "1" })).toMatchObject({
      stage: "try",
      "relay.mode": "external",
      "relay.tasks": 1,
      kcpSecret: "tmc-try-kcp",
    });
  });

  const refused: Record<string, { given: GivenSettings; says: string }> = {
    "a stage that is invalid in a queue name": {
      given: { stage: "Prod_1" },
      says: "stage must be 1 to 20 lower-case letters",
    },
    "a stage of 21 letters": { given: { stage: "a".repeat(21) }, says: "stage must be" },
    "an unknown setting, with a suggestion": {
      given: { stge: "prod", "relay.imge": "x" },
      says: "stge is not a setting (did you mean stage?); relay.imge is not a setting (did you mean relay.image?)",
    },
    "an object instead of a value": { given: { stage: { name: "prod" } }, says: "stage.name is not a setting" },
    "a secret under the prefix of tenants' secrets": { given: { kcpSecret: "tmc/root/kcp" }, says: "not tmc/…/…" },
    "the ARN of a secret under the prefix of tenants' secrets": {
      given: { kcpSecret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:tmc/root/kcp-AbCdEf" },
      says: "not tmc/…/…",
    },
    "an ARN without the six characters at its end": {
      given: { kcpSecret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:kcp" },
      says: "kcpSecret must be the name or full ARN of a secret",
    },
    "a relay secret that functions may read": {
      given: { "relay.kcpSecret": "tmc/relay" },
      says: "relay.kcpSecret must be the name or full ARN of a secret; not tmc/…, which functions may read",
    },
    "the ARN of a relay secret that functions may read": {
      given: { "relay.kcpSecret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:tmc/relay-AbCdEf" },
      says: "relay.kcpSecret must be",
    },
    "a wildcard for a secret": { given: { kcpSecret: "*" }, says: "kcpSecret must be" },
    "no workspaces": { given: { workspaces: [] }, says: "workspaces is empty" },
    "an invalid workspace path": {
      given: { workspaces: "root:,x" },
      says: "workspaces must be paths like root:org:team",
    },
    "an export and workspaces": {
      given: { apiExport: "root:tmc:tmc.kcp.io" },
      says: "apiExport replaces workspaces: set only one of them",
    },
    "an export of a plain cluster": {
      given: { apiExport: "root:tmc:tmc.kcp.io", hub: "kubernetes", workspaces: [] },
      says: "apiExport requires kcp",
    },
    "an export without a workspace": {
      given: { apiExport: "tmc.kcp.io", workspaces: [] },
      says: "apiExport must be a workspace and the export in it, like root:tmc:tmc.kcp.io",
    },
    "workspaces of a plain cluster": { given: { hub: "kubernetes" }, says: "workspaces requires kcp" },
    "no credential provider": { given: { credentialProviders: [] }, says: "credentialProviders is empty" },
    "an address that is not a network": { given: { allowedEndpoints: "10.0.0.1" }, says: "networks like 10.20.0.0/16" },
    "an image without a version": {
      given: { "relay.image": "registry.example/relay" },
      says: "relay.image must be an image",
    },
    "an image for a relay that runs elsewhere": {
      given: { "relay.mode": "external", "relay.image": "a/b:1" },
      says: "relay.image requires fargate",
    },
    "subnets without a network": { given: { "vpc.subnets": "subnet-12345678" }, says: "vpc.subnets requires vpc.id" },
    "a network without subnets": { given: { "vpc.id": "vpc-12345678" }, says: "vpc.id requires vpc.subnets" },
    "a network that is both new and existing": {
      given: {
        vpc: {
          id: "vpc-12345678",
          subnets: ["subnet-12345678"],
          availabilityZones: ["eu-west-1a"],
          cidr: "10.0.0.0/24",
        },
      },
      says: "vpc.cidr creates a network, vpc.id uses an existing one",
    },
    "a network too small for two subnets": { given: { "vpc.cidr": "10.0.0.0/28" }, says: "from /16 to /27" },
    "a concurrency that Lambda rejects": { given: { "concurrency.probe": 1 }, says: "a whole number from 2 to 1000" },
    "a retention that CloudWatch does not support": {
      given: { logRetentionDays: 31 },
      says: "logRetentionDays must be one of 1, 3, 5",
    },
    "an invalid e-mail address": { given: { alarmEmail: "ops" }, says: "alarmEmail must be an e-mail address" },
    "an unknown removal policy": { given: { removal: "keep" }, says: "removal must be retain, or destroy" },
    "a null value": { given: { stage: null }, says: "stage must be" },
  };
  it.each(Object.entries(refused))("parseSettings rejects %s", (_, { given, says }) => {
    expect(() => parseSettings({ ...least, ...given })).toThrow(says);
  });

  it("parseSettings reports all invalid settings in one error", () => {
    expect(() => parseSettings({ stage: "A", removal: "no", heartbeatSeconds: 5 })).toThrow(
      "settings: stage must be 1 to 20 lower-case letters, digits and -, starting with a letter; " +
        "heartbeatSeconds must be a whole number from 10 to 3600; " +
        "removal must be retain, or destroy for temporary stages; " +
        "workspaces is missing: paths like root:org:team, comma-separated or as a list; or apiExport",
    );
  });
});

describe("readSettings", () => {
  let folder = "";
  const write = (text: string): string => {
    const path = join(folder, "tmc.config.json");
    writeFileSync(path, text);
    return path;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "tmc-settings-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("readSettings reads the file, and the context overrides it", () => {
    const path = write(JSON.stringify({ ...least, stage: "prod" }));
    expect(readSettings(path, { logLevel: "4" })).toMatchObject({ stage: "prod", logLevel: 4 });
  });

  it("readSettings works without a file", () => {
    expect(readSettings(join(folder, "none.json"), least).stage).toBe("dev");
  });

  it("readSettings ignores the context keys of CDK", () => {
    const context = {
      "aws:cdk:bundling-stacks": [],
      "@aws-cdk/core:newStyleStackSynthesis": true,
      "cli-telemetry": false,
    };
    expect(readSettings(join(folder, "none.json"), { ...least, ...context }).stage).toBe("dev");
  });

  it("readSettings rejects an unknown context key", () => {
    expect(() => readSettings(join(folder, "none.json"), { ...least, stagee: "x" })).toThrow("did you mean stage?");
  });

  it.each([
    ["{", "is not JSON"],
    ["[]", "must be a JSON object"],
  ])("readSettings rejects the file %s", (text, says) => {
    expect(() => readSettings(write(text), least)).toThrow(says);
  });

  it("readSettings accepts the tmc.config.json of the project", () => {
    expect(() => readSettings(join(root, "tmc.config.json"), {})).not.toThrow();
  });
});

describe("docs/deploy.md", () => {
  const lines = readFileSync(join(root, "docs", "deploy.md"), "utf8").split("\n");
  it.each(settingPaths)("docs/deploy.md describes %s and its format", (path) => {
    const line = lines.find((each) => each.startsWith(`| \`${path}\` |`));
    expect(line).toContain(settingFields[path].description);
    expect(line).toContain(settingFields[path].format);
  });
});
