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
  it("needs only the workspaces", () => {
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
    "text, as the command line gives it": {
      given: { logLevel: "4", resyncMinutes: " 60 ", "concurrency.reserve": "true", workspaces: "root:a, root:b" },
      gives: { logLevel: 4, resyncMinutes: 60, "concurrency.reserve": true, workspaces: ["root:a", "root:b"] },
    },
    "numbers and lists, as a file gives them": {
      given: { logLevel: 4, workspaces: ["root:a", "root:b", "root:a"] },
      gives: { logLevel: 4, workspaces: ["root:a", "root:b"] },
    },
    "settings within settings": {
      given: { relay: { mode: "external", tasks: 3 }, concurrency: { probe: 30 } },
      gives: { "relay.mode": "external", "relay.tasks": 3, "concurrency.probe": 30 },
    },
    "a secret beside those of tenants": { given: { kcpSecret: "tmc/kcp" }, gives: { kcpSecret: "tmc/kcp" } },
    "a secret of another name": { given: { kcpSecret: "hub/kubeconfig" }, gives: { kcpSecret: "hub/kubeconfig" } },
    "one secret for functions and relay, unless the relay has its own": {
      given: { kcpSecret: "hub/kubeconfig" },
      gives: { "relay.kcpSecret": "hub/kubeconfig" },
    },
    "a secret of the relay's own": {
      given: { kcpSecret: "tmc/kcp", relay: { kcpSecret: "hub/relay" } },
      gives: { kcpSecret: "tmc/kcp", "relay.kcpSecret": "hub/relay" },
    },
    "a network that exists": {
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
  it.each(Object.entries(taken))("takes %s", (_, { given, gives }) => {
    expect(parseSettings({ ...least, ...given })).toMatchObject(gives);
  });

  it("takes the context over the file, setting by setting", () => {
    const file = { ...least, stage: "prod", relay: { mode: "external", tasks: 4 } };
    expect(parseSettings(file, { stage: "try", "relay.tasks": "1" })).toMatchObject({
      stage: "try",
      "relay.mode": "external",
      "relay.tasks": 1,
      kcpSecret: "tmc-try-kcp",
    });
  });

  const refused: Record<string, { given: GivenSettings; says: string }> = {
    "a stage that no queue could be named after": {
      given: { stage: "Prod_1" },
      says: "stage has to be 1 to 20 small letters",
    },
    "a stage of 21 letters": { given: { stage: "a".repeat(21) }, says: "stage has to be" },
    "an unknown setting, with the one that may be meant": {
      given: { stge: "prod", "relay.imge": "x" },
      says: "stge is not a setting (did you mean stage?); relay.imge is not a setting (did you mean relay.image?)",
    },
    "a part where a value belongs": { given: { stage: { name: "prod" } }, says: "stage.name is not a setting" },
    "a secret where tenants' secrets are": { given: { kcpSecret: "tmc/root/kcp" }, says: "not tmc/…/…" },
    "an ARN of a secret where tenants' secrets are": {
      given: { kcpSecret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:tmc/root/kcp-AbCdEf" },
      says: "not tmc/…/…",
    },
    "an ARN without the six characters at its end": {
      given: { kcpSecret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:kcp" },
      says: "kcpSecret has to be the name of a secret, or its whole ARN",
    },
    "a secret of the relay's own where functions may read": {
      given: { "relay.kcpSecret": "tmc/relay" },
      says: "relay.kcpSecret has to be the name of a secret, or its whole ARN; not tmc/…, which functions may read",
    },
    "an ARN of such a secret": {
      given: { "relay.kcpSecret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:tmc/relay-AbCdEf" },
      says: "relay.kcpSecret has to be",
    },
    "a wildcard for a secret": { given: { kcpSecret: "*" }, says: "kcpSecret has to be" },
    "no workspaces": { given: { workspaces: [] }, says: "workspaces names none" },
    "a workspace that is no path": {
      given: { workspaces: "root:,x" },
      says: "workspaces has to be paths like root:org:team",
    },
    "an export and workspaces": {
      given: { apiExport: "root:tmc:tmc.kcp.io" },
      says: "apiExport takes the place of workspaces: leave one out",
    },
    "an export of a plain cluster": {
      given: { apiExport: "root:tmc:tmc.kcp.io", hub: "kubernetes", workspaces: [] },
      says: "apiExport is for kcp",
    },
    "an export without a workspace": {
      given: { apiExport: "tmc.kcp.io", workspaces: [] },
      says: "apiExport has to be a workspace and the export in it, like root:tmc:tmc.kcp.io",
    },
    "workspaces of a plain cluster": { given: { hub: "kubernetes" }, says: "workspaces is for kcp" },
    "no way to credentials": { given: { credentialProviders: [] }, says: "credentialProviders names none" },
    "an address that is no network": { given: { allowedEndpoints: "10.0.0.1" }, says: "networks like 10.20.0.0/16" },
    "an image without a version": {
      given: { "relay.image": "registry.example/relay" },
      says: "relay.image has to be an image",
    },
    "an image for a relay that runs elsewhere": {
      given: { "relay.mode": "external", "relay.image": "a/b:1" },
      says: "relay.image is for fargate",
    },
    "subnets of no network": { given: { "vpc.subnets": "subnet-12345678" }, says: "vpc.subnets without vpc.id" },
    "a network without subnets": { given: { "vpc.id": "vpc-12345678" }, says: "vpc.id needs vpc.subnets" },
    "a network that is both made and given": {
      given: {
        vpc: {
          id: "vpc-12345678",
          subnets: ["subnet-12345678"],
          availabilityZones: ["eu-west-1a"],
          cidr: "10.0.0.0/24",
        },
      },
      says: "vpc.cidr is for a network that is made here",
    },
    "a network too small for two subnets": { given: { "vpc.cidr": "10.0.0.0/28" }, says: "from /16 to /27" },
    "a concurrency that Lambda refuses": { given: { "concurrency.probe": 1 }, says: "a whole number from 2 to 1000" },
    "days that CloudWatch does not know": {
      given: { logRetentionDays: 31 },
      says: "logRetentionDays has to be of 1, 3, 5",
    },
    "an address that gets no mail": { given: { alarmEmail: "ops" }, says: "alarmEmail has to be an e-mail address" },
    "a removal that is neither": { given: { removal: "keep" }, says: "removal has to be retain, or destroy" },
    "no value at all": { given: { stage: null }, says: "stage has to be" },
  };
  it.each(Object.entries(refused))("refuses %s", (_, { given, says }) => {
    expect(() => parseSettings({ ...least, ...given })).toThrow(says);
  });

  it("names all that is wrong in one error", () => {
    expect(() => parseSettings({ stage: "A", removal: "no", heartbeatSeconds: 5 })).toThrow(
      "settings: stage has to be 1 to 20 small letters, digits and -, the first a letter; " +
        "heartbeatSeconds has to be a whole number from 10 to 3600; " +
        "removal has to be retain, or destroy for stages to be thrown away; " +
        "workspaces is missing: paths like root:org:team, with commas between or as a list; or apiExport",
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

  it("reads the file, and over it the context", () => {
    const path = write(JSON.stringify({ ...least, stage: "prod" }));
    expect(readSettings(path, { logLevel: "4" })).toMatchObject({ stage: "prod", logLevel: 4 });
  });

  it("does without a file", () => {
    expect(readSettings(join(folder, "none.json"), least).stage).toBe("dev");
  });

  it("leaves alone what of the context is CDK's", () => {
    const context = {
      "aws:cdk:bundling-stacks": [],
      "@aws-cdk/core:newStyleStackSynthesis": true,
      "cli-telemetry": false,
    };
    expect(readSettings(join(folder, "none.json"), { ...least, ...context }).stage).toBe("dev");
  });

  it("refuses a word of the context that it does not know", () => {
    expect(() => readSettings(join(folder, "none.json"), { ...least, stagee: "x" })).toThrow("did you mean stage?");
  });

  it.each([
    ["{", "is not JSON"],
    ["[]", "has to be an object of settings"],
  ])("refuses the file %s", (text, says) => {
    expect(() => readSettings(write(text), least)).toThrow(says);
  });

  it("takes the project's own file", () => {
    expect(() => readSettings(join(root, "tmc.config.json"), {})).not.toThrow();
  });
});

describe("docs/deploy.md", () => {
  const lines = readFileSync(join(root, "docs", "deploy.md"), "utf8").split("\n");
  it.each(settingPaths)("says what %s is for, and its form", (path) => {
    const line = lines.find((each) => each.startsWith(`| \`${path}\` |`));
    expect(line).toContain(settingFields[path].about);
    expect(line).toContain(settingFields[path].form);
  });
});
