import { readFileSync } from "node:fs";
import { ControllerError } from "@tmc/kube/fault.ts";
import { type GivenSettings, parseSettings, type Settings } from "./settings.ts";

/** Reads the settings file, if it exists, and overrides it with the CDK context. */
export function readSettings(path: string, context: GivenSettings): Settings {
  return parseSettings(readFile(path), settingsOf(context));
}

function readFile(path: string): GivenSettings {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
  try {
    const content: unknown = JSON.parse(text);
    if (typeof content === "object" && content !== null && !Array.isArray(content)) return { ...content };
  } catch (error) {
    throw new ControllerError(
      "invalid",
      `settings: ${path} is not JSON: ${error instanceof Error ? error.message : error}`,
    );
  }
  throw new ControllerError("invalid", `settings: ${path} must be a JSON object`);
}

/** The settings in the CDK context: keys of CDK itself contain a colon, an at sign or a hyphen, settings do not. */
function settingsOf(context: GivenSettings): GivenSettings {
  return Object.fromEntries(Object.entries(context).filter(([key]) => /^[A-Za-z.]+$/.test(key)));
}
