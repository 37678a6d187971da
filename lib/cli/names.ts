import { labelKeyErrors, labelValueErrors, subdomainErrors } from "@tmc/kube/selector.ts";
import { InvalidArgumentError } from "commander";
import { isWorkspaceAddress } from "../upstream/logical-cluster.ts";

/** Returns how a user of this copy of the command line calls it: `tmc` if it is installed, `./tmc` in a clone of the repository. */
export function commandName(isBundled = !import.meta.url.endsWith(".ts")): string {
  return isBundled ? "tmc" : "./tmc";
}

/** Validates an object name, for arguments and options. */
export function parseName(text: string): string {
  if (text.includes(":")) throw new InvalidArgumentError("expected a name, not a path; use --workspace for a path.");
  const errors = subdomainErrors(text);
  if (errors.length > 0) throw new InvalidArgumentError(`${errors.join("; ")}.`);
  return text;
}

/** Parses a label `key=value` and adds it to the previous ones, for a repeatable option. */
export function collectLabel(text: string, previous: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("expected key=value.");
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  const errors = [...labelKeyErrors(key), ...labelValueErrors(value)];
  if (errors.length > 0) throw new InvalidArgumentError(`${errors.join("; ")}.`);
  return { ...previous, [key]: value };
}

/** Adds one value, or several separated by commas, to the previous ones, for a repeatable option. */
export function collectList(text: string, previous: readonly string[] = []): readonly string[] {
  const values = text
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
  if (values.length === 0) throw new InvalidArgumentError("expected at least one value.");
  return [...new Set([...previous, ...values])];
}

/** Validates a workspace path, for an argument. */
export function parseWorkspaceArgument(text: string): string {
  const path = text.replace(/^:/, "");
  if (!isWorkspaceAddress(path)) throw new InvalidArgumentError("expected a workspace path such as root:org:team.");
  return path;
}
