import { describe, expect, it } from "vitest";
import { comparable, isShown, onlyReads, parsePage } from "./page.ts";

const page = (...lines: readonly string[]): string => lines.join("\n");
const kinds = (text: string): readonly string[] =>
  parsePage(text).steps.map((step) => (step.kind === "command" ? step.text : step.kind));

describe("a page", () => {
  it.each([
    ["without a mark", page("```bash", "ls", "```")],
    ["with a reason that is one word", page("<!-- not run: later -->", "```console", "$ ls", "```")],
    ["with an environment that does not exist", page("<!-- run: cloud -->", "text")],
    ["with a file and no environment", page("<!-- file: a.yaml -->", "```yaml", "a: b", "```")],
  ])("has a fault if it has a block %s", (_, text) => {
    expect(parsePage(text).faults).toHaveLength(1);
  });

  it("runs its blocks in the last environment, and counts a reason before a block for this block only", () => {
    const text = page(
      "<!-- run: clone -->",
      "Text.",
      "<!-- not run: it takes an hour -->",
      "```bash",
      "make world",
      "```",
      "```bash",
      "ls",
      "```",
    );
    expect(parsePage(text).faults).toEqual([]);
    expect(kinds(text)).toEqual(["environment", "ls"]);
  });

  it("counts a reason that text follows for all blocks up to the next environment", () => {
    const block = ["```bash", "ls", "```"];
    const text = page(
      "<!-- not run: needs an account -->",
      "",
      "Text.",
      ...block,
      ...block,
      "<!-- run: kcp -->",
      ...block,
    );
    expect(parsePage(text).faults).toEqual([]);
    expect(kinds(text)).toEqual(["environment", "ls"]);
  });

  it("reads commands of several lines, and the output that is shown below them", () => {
    const text = page(
      "<!-- run: clone -->",
      "```console",
      "$ cat <<EOF",
      "$ text",
      "EOF",
      "$ text",
      "$ for i in 1 2",
      "do echo $i; done",
      "1",
      "2",
      "$ echo a \\",
      "  b",
      "a b",
      "```",
    );
    const commands = parsePage(text).steps.filter((step) => step.kind === "command");
    expect(commands.map(({ line, text: command, shown }) => ({ line, command, shown }))).toEqual([
      { line: 3, command: "cat <<EOF\n$ text\nEOF", shown: "" },
      { line: 6, command: "text", shown: "" },
      { line: 7, command: "for i in 1 2\ndo echo $i; done", shown: "1\n2" },
      { line: 11, command: "echo a \\\n  b", shown: "a b" },
    ]);
  });

  it("leaves out comments and empty lines of a bash block, writes files and checks manifests", () => {
    const text = page(
      "<!-- run: clone -->",
      "```bash",
      "# a comment",
      "",
      "ls",
      "```",
      "<!-- file: a.yaml -->",
      "```yaml",
      "a: b",
      "```",
      "```yaml",
      "c: d",
      "```",
    );
    expect(parsePage(text).steps.slice(1)).toEqual([
      { kind: "command", text: "ls", shown: undefined, keepsRunning: undefined, line: 5 },
      { kind: "file", path: "a.yaml", text: "a: b\n", line: 8 },
      { kind: "manifest", text: "c: d\n", line: 11 },
    ]);
  });

  it("names the output after which the page goes on beside a command that keeps running", () => {
    const text = page("<!-- run: clone -->", '<!-- keeps running: "are running" -->', "```bash", "npm start", "```");
    expect(parsePage(text).steps[1]).toMatchObject({ text: "npm start", keepsRunning: "are running" });
  });
});

describe("the output that a page shows", () => {
  it.each([
    ["is the output", "a  b\nc", "a b\nc", false],
    ["may have other widths of columns", "NAME   AGE\nweb    5s", "NAME     AGE\nweb      12m5s\n", true],
    ["may have other ages, ports, times and hashes", "127.0.0.1:44469 0.33 s 2m", "127.0.0.1:39999 0.33 s 14s", true],
    [
      "has other downstream namespaces",
      "tmc-shop-b447vi2k80ytku5myxklwhz0k",
      "tmc-shop-cq11vh92k80ytku5myxklwhz0",
      true,
    ],
    ["has … for any text", "waiting: …, at last", "waiting: for east, at last", true],
    ["has a line of … for any lines", "a\n…\nz", "a\nb\nc\nz", true],
    ["has a line of … for no line", "a\n…\nz", "a\nz", true],
    ["must have every other line", "a\nz", "a\nb\nz", false],
    ["must have the same numbers", "3/3", "2/3", false],
    [
      "omits the warning about server-side apply",
      "a",
      'Warning: use "kubectl apply --server-side" to change lists\na',
      true,
    ],
    ["does not read patterns", "a.c (1|2)", "abc (1|2)", false],
    ["may be nothing", "", "", true],
    ["is not nothing", "", "error", false],
  ])("%s", (_, shown, printed, expected) => {
    expect(isShown(shown, printed)).toBe(expected);
  });

  it("keeps quantities of words and versions", () => {
    expect(comparable("v1.36.3 web-5s x5m 10Gi")).toBe("v1.36.3 web-<age> x5m 10Gi");
  });
});

describe("a command", () => {
  it.each([
    ["kubectl get deploy", true],
    ["kubectl --kubeconfig east.kubeconfig get deploy -A", true],
    ["tmc workload status deploy/web", true],
    ["./tmc cluster list", true],
    ["curl -s localhost:8081/readyz", true],
    ["kubectl apply -f get.yaml", false],
    ["kubectl delete deploy web", false],
    ["tmc confirm", true],
    ["tmc confirm --all --yes", false],
    ["tmc cluster drain east", false],
    ["tmc orphans --delete", false],
  ])("%s: repeated until it shows the expected state: %s", (command, expected) => {
    expect(onlyReads(command)).toBe(expected);
  });
});
