import { spawn } from "node:child_process";
import { once } from "node:events";
import type { KubeClient } from "@tmc/kube/client.ts";
import { expect } from "vitest";
import { type KubectlResult, runKubectl } from "../../real/kubectl.ts";
import { eventually } from "../resources.ts";

/** What kubectl reads from standard input: manifests, or text as it is. */
export type Input = string | object | readonly object[];

/** The words of a command, or the command as one text where no word has a space in it. */
export type Command = string | readonly string[];

export type CommandOptions = Readonly<{ input?: Input; env?: Readonly<Record<string, string>> }>;

/** A kubectl that runs until it is stopped, such as one that watches. */
export interface RunningKubectl {
  /** Waits until its output is as it should be. */
  saw(missing: (stdout: string) => string | undefined): Promise<void>;
  /** What it has printed so far. */
  output(): string;
  /** Its exit code, when it ends by itself. */
  readonly ended: Promise<number | null>;
  stop(): Promise<void>;
}

/** Where a case about kubectl works: a server that has our kinds, and a namespace of the case's own. */
export interface KubectlRoom {
  readonly kind: "kcp" | "cluster";
  /** Our own client at the same place, to see what kubectl has done; kubectl itself is what a case tries. */
  readonly client: KubeClient;
  readonly namespace: string;
  /** Runs a command in the namespace and takes the outcome as it comes. */
  run(command: Command, options?: CommandOptions): Promise<KubectlResult>;
  /** What a command prints that succeeds. */
  ok(command: Command, options?: CommandOptions): Promise<string>;
  /** What a command complains about that fails, without warnings. */
  refused(command: Command, options?: CommandOptions): Promise<string>;
  start(command: Command): RunningKubectl;
}

/** Gives each case its room; the namespace is new. */
export type MakeKubectlRoom = () => Promise<KubectlRoom>;

/** What all rooms of a server share. */
export type Place = Readonly<{
  kind: "kcp" | "cluster";
  client: KubeClient;
  kubectl: string;
  kubeconfig: string;
  /** For the caches and temporary files of kubectl. */
  folder: string;
}>;

const formatInput = (input: Input): string => {
  if (typeof input === "string") return input;
  const manifests: readonly unknown[] = Array.isArray(input) ? input : [input];
  return manifests.map((manifest) => JSON.stringify(manifest)).join("\n---\n");
};

/** The lines that are no warnings: a type of our export warns with every answer. */
const complaints = (stderr: string): string =>
  stderr
    .split("\n")
    .filter((line) => !line.startsWith("Warning: "))
    .join("\n");

/** The commands of one namespace. */
export function kubectlRoom(place: Place, namespace: string): KubectlRoom {
  const { kind, client, kubectl, kubeconfig, folder } = place;
  const words = (command: Command) => [
    "--namespace",
    namespace,
    ...(typeof command === "string" ? command.split(" ") : command),
  ];
  const env = { KUBECACHEDIR: `${folder}/cache`, TMPDIR: folder, HOME: folder, SHELL: "/bin/sh" };

  const run: KubectlRoom["run"] = (command, options = {}) =>
    runKubectl(words(command), {
      kubectl,
      kubeconfig,
      env: { ...env, ...options.env },
      ...(options.input === undefined ? {} : { input: formatInput(options.input) }),
    });

  return {
    kind,
    client,
    namespace,
    run,
    ok: async (command, options) => {
      const { code, stdout, stderr } = await run(command, options);
      expect({ command, code, complaints: complaints(stderr) }).toEqual({ command, code: 0, complaints: "" });
      return stdout;
    },
    refused: async (command, options) => {
      const { code, stdout, stderr } = await run(command, options);
      expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: expect.any(String) });
      return complaints(stderr);
    },
    start: (command) => {
      const child = spawn(kubectl, words(command), {
        stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: process.env.PATH, KUBECONFIG: kubeconfig, ...env },
      });
      const ended = once(child, "close").then(([code]) => (typeof code === "number" ? code : null));
      let output = "";
      let failure = "";
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => (failure += chunk));
      return {
        ended,
        output: () => output,
        saw: (missing) =>
          eventually(async () => {
            const answer = missing(output);
            return answer === undefined ? undefined : `${answer}, in: ${output}${failure}`;
          }),
        stop: async () => {
          child.kill();
          await ended;
        },
      };
    },
  };
}

/** The rows of a printed table by the names of its columns; a column begins where its name does. */
export function table(printed: string): Readonly<Record<string, string>>[] {
  const [header = "", ...lines] = printed.trimEnd().split("\n");
  const columns = [...header.matchAll(/\S+(?: \S+)*/g)].map(({ 0: name, index }) => ({ name, index }));
  return lines.map((line) =>
    Object.fromEntries(columns.map(({ name, index }, i) => [name, line.slice(index, columns[i + 1]?.index).trim()])),
  );
}

/** The names of a printed table's columns, in their order. */
export const header = (printed: string): string[] => printed.split("\n", 1)[0]?.trim().split(/ {2,}/) ?? [];

/** An age as tables have it. */
export const anAge: unknown = expect.stringMatching(/^\d+s$/);
