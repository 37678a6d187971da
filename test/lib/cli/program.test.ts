import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { completedArguments, completedOptions, parseWords } from "../../../lib/cli/completion-names.ts";
import { allCommands, commandPath, createProgram } from "../../../lib/cli/program.ts";
import { commitOf } from "../../../lib/cli/version.ts";
import { cliPage } from "../../../scripts/docs/cli-page.ts";
import { kcpVersion, kubernetesVersion } from "../../real/components.ts";
import { tmc } from "./support.ts";

describe("tmc", () => {
  it.each<[string, string]>([
    ["clustr list", "tmc: unknown command 'clustr' (did you mean cluster?); see ./tmc --help"],
    ["cluster lisst", "tmc: unknown command 'lisst' (did you mean list?); see ./tmc cluster --help"],
    [
      "cluster list --contxt a",
      "tmc: unknown option '--contxt' (did you mean --context?); see ./tmc cluster list --help",
    ],
    [
      "cluster register x",
      "tmc: required option '--location <location>' not specified; see ./tmc cluster register --help",
    ],
    [
      "cluster register root:x --location y",
      "tmc: command-argument value 'root:x' is invalid for argument 'name'. expected a name, not a path; use --workspace for a path; see ./tmc cluster register --help",
    ],
    [
      "placement create a --strategy Best",
      "tmc: option '--strategy <strategy>' argument 'Best' is invalid. Allowed choices are RoundRobin, Spread, Affinity; see ./tmc placement create --help",
    ],
    [
      "explain a --with-taint nonsense",
      "tmc: option '--with-taint <[cluster:]key=value:effect>' argument 'nonsense' is invalid. expected key=value:effect, or cluster:key=value:effect for one cluster; the effects are NoSchedule, PreferNoSchedule and NoExecute; see ./tmc explain --help",
    ],
    [
      "cluster list -o jsn",
      "tmc: option '-o, --output <format>' argument 'jsn' is invalid. Allowed choices are table, wide, json, yaml; see ./tmc cluster list --help",
    ],
    ["placement list -l app=web,,", "found ','"],
    ["cluster register a --location b --timeout soon", "expected a duration like 30s, 5m or 1h30m"],
    ["cluster register a --location b --label =x", "expected key=value"],
    ["cluster register a --location b --kubeconfig-secret name", "expected namespace/name or namespace/name/key"],
    [
      "cluster register a --location b --taint foo",
      "expected key=value:effect or key:effect; the effects are NoSchedule, PreferNoSchedule and NoExecute",
    ],
    ["cluster register a --location b --taint x=y:NoSchedule@west", "expected key=value:effect or key:effect"],
    ["placement create a --clusters 0", "expected a whole number of at least 1"],
    ["placement create a --selector app=web,,", "found ','"],
    ["placement create a --selector size>3", "< and > are not supported"],
    ["placement create a --type deploymnt", '"deploymnt": unknown workload type (did you mean deployment?)'],
    ["placement create a --toleration x:Never", "expected key[=value][:effect[:duration]]"],
    ["placement create a --toleration x:NoSchedule:60s", "and a duration such as 60s for NoExecute"],
    ["placement create a --dry-run=none", "Allowed choices are client, server"],
    ["manifests --format helm", "Allowed choices are kcp, crd"],
    ["local --output xml", "Allowed choices are text, json"],
  ])("tmc rejects %j with one line and the exit code 2", async (command, message) => {
    const { code, out, err } = await tmc(command.split(" "));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
    expect(err).toMatch(/^tmc: [^\n]+ --help\n$/);
  });

  it.each<[string, string]>([
    ["--for deploy/web --type job --selector a=b", "--for selects one workload and excludes --selector and --type"],
    ["--for deploy/web -n a,b", "--for accepts only one --namespace"],
    ["--all-workloads -n shop", "--all-workloads excludes --namespace, --selector and --type"],
  ])("tmc placement create a %s is rejected, because the options contradict each other", async (options, message) => {
    const outcome = await tmc(["placement", "create", "a", ...options.split(" ")]);
    expect(outcome).toEqual({ code: 2, out: "", err: `tmc: ${message}\n` });
  });

  it("tmc placement create --dry-run=client prints a manifest without a server", async () => {
    const command =
      "placement create shop -n shop,api --selector app=web,tier!=test,canary --type deploy,sts --toleration upgrade " +
      "--toleration a=b:NoExecute:90s --spread-by region --replicas Divided --clusters 2 --dry-run=client -o yaml";
    expect(await tmc(command.split(" "))).toEqual({
      code: 0,
      err: "",
      out: `apiVersion: tmc.kcp.io/v1alpha1
kind: WorkloadPlacement
metadata:
  name: shop
spec:
  workloadSelector:
    labelSelector:
      matchLabels:
        app: web
      matchExpressions:
        - key: canary
          operator: Exists
        - key: tier
          operator: NotIn
          values:
            - test
    workloadTypes:
      - apiVersion: apps/v1
        kind: Deployment
      - apiVersion: apps/v1
        kind: StatefulSet
    namespaces:
      - shop
      - api
  numberOfClusters: 2
  spreadConstraints:
    - topologyKey: region
  tolerations:
    - key: upgrade
      operator: Exists
    - key: a
      operator: Equal
      value: b
      effect: NoExecute
      tolerationSeconds: 90
  replicas:
    mode: Divided
`,
    });
  });

  it("tmc without arguments prints its help and fails", async () => {
    const { code, out } = await tmc([]);
    expect(code).toBe(2);
    expect(out).toContain("Usage: tmc");
  });

  it.each(allCommands(createProgram()).map((command) => [commandPath(command), command] as const))(
    "%s --help prints a usage, and summaries and option descriptions that start with a capital letter",
    async (path, command) => {
      const { code, out } = await tmc([...path.split(" ").slice(1), "--help"]);
      expect(code).toBe(0);
      expect(out).toContain(`Usage: ${path}`);
      expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
      if (command.parent !== null) expect(command.summary()).toMatch(/^[A-Z][^.]+$/);
      for (const option of command.options) expect(option.description).toMatch(/^[A-Z]/);
    },
  );
});

describe("tmc version", () => {
  it("tmc version prints the version, the commit, and the servers that the end-to-end tests run", async () => {
    const { version } = JSON.parse(await readFile("package.json", "utf8"));
    const { out } = await tmc(["version", "-o", "json"]);
    const { commit, ...document } = JSON.parse(out);
    expect(document).toEqual({
      version,
      node: process.version,
      testedWith: { kcp: kcpVersion, kubernetes: kubernetesVersion },
    });
    expect(await tmc(["version"])).toEqual({
      code: 0,
      err: "",
      out: `Version:       ${version}
Commit:        ${commit ?? "unknown"}
Node:          ${process.version}
Tested with:   kcp ${kcpVersion}, Kubernetes ${kubernetesVersion}
`,
    });
  });

  it("reads the commit from git only in a clone of its own", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tmc-version-"));
    const git = (...args: readonly string[]): string =>
      execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...args], { encoding: "utf8" });
    expect(await commitOf(folder)).toBeUndefined();
    git("init", "--quiet");
    git("commit", "--quiet", "--allow-empty", "--message=first");
    await mkdir(join(folder, "tmc"));
    expect([await commitOf(folder), await commitOf(join(folder, "tmc"))]).toEqual([
      git("rev-parse", "HEAD").trim(),
      undefined,
    ]);
    await rm(folder, { recursive: true });
  });
});

describe("tmc completion", () => {
  /** Returns the completions of bash after a line. */
  const offered = (script: string, line: string): string[] => {
    const words = line.split(" ");
    const program = `${script}
tmc() { printf '%s\\n' "called:$1:$2:$4" east; }
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_tmc
printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", program], { encoding: "utf8" }).trim().split("\n");
  };

  it.each<[string, string[]]>([
    ["tmc clu", ["cluster"]],
    ["tmc cluster unr", ["unregister"]],
    ["tmc cluster un", ["unregister", "uncordon"]],
    ["tmc cluster register east --loc", ["--location"]],
    ["tmc completion ", ["bash", "zsh", "fish", "--help"]],
    ["tmc placement --help", ["--help"]],
    ["tmc cluster list -o ", ["table", "wide", "json", "yaml"]],
    ["tmc cluster list --output j", ["json"]],
    ["tmc placement create a --strategy S", ["Spread"]],
    ["tmc cluster drain ea", ["east"]],
    ["tmc diff deploy/web --workspace root:a --cluster ea", ["east"]],
    ["tmc cluster drain called", ["called:__names:clusters:drain"]],
    ["tmc cluster drain --no", ["--no-wait"]],
  ])("tmc completion bash completes %j", async (line, completions) => {
    const { out } = await tmc(["completion", "bash"]);
    expect(offered(out, line)).toEqual(completions);
  });

  it("tmc completion zsh prints the bash script with bashcompinit", async () => {
    const [bash, zsh] = [await tmc(["completion", "bash"]), await tmc(["completion", "zsh"])];
    expect(zsh.out).toBe(`autoload -U +X bashcompinit && bashcompinit\n${bash.out}`);
  });

  it("tmc completion fish prints a line for each command and option", async () => {
    const { out } = await tmc(["completion", "fish"]);
    expect(out).toContain("-a explain -d 'Explain which clusters a placement selects, and why'");
    expect(out).toContain("-l strategy -x -a 'RoundRobin Spread Affinity'");
    expect(out).toContain("-a '(tmc __names placements (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'");
  });
});

describe("names that complete a word", () => {
  const commands = allCommands(createProgram());

  it("completes arguments and options that exist", () => {
    const paths = commands.map((command) => commandPath(command).replace(/^tmc ?/, ""));
    expect(paths).toEqual(expect.arrayContaining([...completedArguments.keys()]));
    const options = commands.flatMap((command) => command.options.map(({ long }) => long));
    expect(options).toEqual(expect.arrayContaining([...completedOptions.keys()]));
  });

  it("are read with the connection options of the unfinished command line", () => {
    expect(parseWords(["diff", "--workspace=root:a", "deploy/", "-n", "shop", "--kubeconfig"])).toEqual({
      options: { workspace: "root:a", namespace: "shop" },
      others: ["diff", "deploy/"],
    });
  });
});

describe("docs/cli.md", () => {
  it("docs/cli.md contains every command with its options and examples", () => {
    const page = cliPage();
    for (const command of allCommands(createProgram())) {
      if (command.parent === null || command.commands.length > 0) continue;
      expect(page).toContain(`\n## ${commandPath(command)}\n`);
      for (const option of command.options) expect(page).toContain(`\`${option.flags}\``);
    }
    expect(page).toContain("tmc cluster register gpu-1 --location eu-central-1");
  });
});
