import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { allCommands, createProgram, pathOf } from "../../../lib/cli/program.ts";
import { cliPage } from "../../../scripts/docs/cli-page.ts";
import { tmc } from "./support.ts";

describe("tmc", () => {
  it.each<[string, string]>([
    ["clustr list", "tmc: unknown command 'clustr' (did you mean cluster?); see tmc --help"],
    ["cluster lisst", "tmc: unknown command 'lisst' (did you mean list?); see tmc cluster --help"],
    [
      "cluster list --contxt a",
      "tmc: unknown option '--contxt' (did you mean --context?); see tmc cluster list --help",
    ],
    ["cluster register x", "tmc: required option '--location <place>' not specified; see tmc cluster register --help"],
    [
      "cluster register root:x --location y",
      "tmc: command-argument value 'root:x' is invalid for argument 'name'. a name is wanted, not a path; --workspace takes paths; see tmc cluster register --help",
    ],
    [
      "placement create a --strategy Best",
      "tmc: option '--strategy <strategy>' argument 'Best' is invalid. Allowed choices are RoundRobin, Spread, Affinity; see tmc placement create --help",
    ],
    [
      "explain a --with-taint nonsense",
      "tmc: option '--with-taint <[cluster:]key=value:effect>' argument 'nonsense' is invalid. write key=value:effect, or cluster:key=value:effect for one cluster; effects are NoSchedule, PreferNoSchedule, NoExecute; see tmc explain --help",
    ],
    [
      "cluster list -o jsn",
      "tmc: option '-o, --output <format>' argument 'jsn' is invalid. Allowed choices are table, wide, json, yaml; see tmc cluster list --help",
    ],
    ["reconcile thing a", "tmc: command-argument value 'thing' is invalid for argument 'kind'"],
    ["cluster register a --location b --timeout soon", "write a duration like 30s, 5m or 1h30m"],
    ["cluster register a --location b --label =x", "write key=value"],
    ["cluster register a --location b --kubeconfig-secret name", "write namespace/name or namespace/name/key"],
    ["cluster register a --location b --taint x@y:Z", "taint"],
    ["placement create a --number-of-clusters 0", "write a whole number from 1 on"],
    ["manifests --format helm", "Allowed choices are kcp, crd"],
    ["local --output xml", "Allowed choices are text, json"],
  ])("answers %j with one line and the exit code 2", async (command, words) => {
    const { code, out, err } = await tmc(command.split(" "));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(words);
    expect(err).toMatch(/^tmc: [^\n]+ --help\n$/);
  });

  it("shows its help and fails when it is not told what to do", async () => {
    const { code, out } = await tmc([]);
    expect(code).toBe(2);
    expect(out).toContain("Usage: tmc");
  });

  it.each(allCommands(createProgram()).map((command) => [pathOf(command), command] as const))(
    "%s explains itself",
    async (path, command) => {
      const { code, out } = await tmc([...path.split(" ").slice(1), "--help"]);
      expect(code).toBe(0);
      expect(out).toContain(`Usage: ${path}`);
      if (command.parent !== null) expect(command.summary()).toMatch(/^[a-z][^.]+$/);
      for (const option of command.options) expect(option.description).toMatch(/^[a-zA-Z0-9/]/);
    },
  );
});

describe("tmc completion", () => {
  /** What bash offers after a line. */
  const offered = (script: string, line: string): string[] => {
    const words = line.split(" ");
    const program = `${script}
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
  ])("offers in bash after %j what can follow", async (line, words) => {
    const { out } = await tmc(["completion", "bash"]);
    expect(offered(out, line)).toEqual(words);
  });

  it("gives zsh the same with what it needs for it", async () => {
    const [bash, zsh] = [await tmc(["completion", "bash"]), await tmc(["completion", "zsh"])];
    expect(zsh.out).toBe(`autoload -U +X bashcompinit && bashcompinit\n${bash.out}`);
  });

  it("gives fish a line for each command and option", async () => {
    const { out } = await tmc(["completion", "fish"]);
    expect(out).toContain("-a explain -d 'say why a placement is where it is, or where it would go'");
    expect(out).toContain("-l strategy -x -a 'RoundRobin Spread Affinity'");
  });
});

describe("the page about commands", () => {
  it("has every command with its options and examples", () => {
    const page = cliPage();
    for (const command of allCommands(createProgram())) {
      if (command.parent === null || command.commands.length > 0) continue;
      expect(page).toContain(`\n## ${pathOf(command)}\n`);
      for (const option of command.options) expect(page).toContain(`\`${option.flags}\``);
    }
    expect(page).toContain("tmc cluster register gpu-1 --location eu-central-1");
  });
});
