import { labelKeyProblems, labelValueProblems, subdomainProblems } from "@tmc/kube/selector.ts";
import { InvalidArgumentError } from "commander";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";

/** Checks the name of an object, for an argument. */
export function parseName(text: string): string {
  if (text.includes(":")) throw new InvalidArgumentError("a name is wanted, not a path; --workspace takes paths.");
  const problems = subdomainProblems(text);
  if (problems.length > 0) throw new InvalidArgumentError(`${problems.join("; ")}.`);
  return text;
}

/** Reads `key=value` of a label and adds it to those before it, for an option that may be given several times. */
export function collectLabel(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("write key=value.");
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  const problems = [...labelKeyProblems(key), ...labelValueProblems(value)];
  if (problems.length > 0) throw new InvalidArgumentError(`${problems.join("; ")}.`);
  return { ...before, [key]: value };
}

/** Adds a word, or several with commas between, to those before it. */
export function collectWords(text: string, before: readonly string[] = []): readonly string[] {
  const words = text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
  if (words.length === 0) throw new InvalidArgumentError("it is empty.");
  return [...new Set([...before, ...words])];
}

/** Checks the path of a workspace, for an argument. */
export function parseWorkspaceArgument(text: string): string {
  const path = text.replace(/^:/, "");
  if (!isWorkspaceAddress(path)) throw new InvalidArgumentError("it is not a path like root:org:team.");
  return path;
}
