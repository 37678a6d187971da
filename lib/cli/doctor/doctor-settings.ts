import { isRecord } from "@tmc/kube/json.ts";
import { defaultConcurrency, type FunctionConcurrency } from "../../engine/settings.ts";
import { UsageError } from "../cli-io.ts";

/** The settings of a deployment that `tmc doctor aws` needs. */
export type DoctorSettings = Readonly<{
  kcpSecret: string;
  relaySecret: string;
  concurrency: FunctionConcurrency;
  isReserved: boolean;
  /** Whether the deployment builds the image of the relay, with Docker. */
  buildsImage: boolean;
}>;

/** Reads the settings from the text of tmc.config.json. The deployment itself validates them; here only types are checked. */
export function parseDoctorSettings(text: string, path: string): DoctorSettings {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new UsageError(`${path} is not JSON`);
  }
  if (!isRecord(given)) throw new UsageError(`${path} must be a JSON object`);
  // Settings are nested, or have paths like relay.mode.
  const value = (group: string, name: string): unknown => {
    const nested = given[group];
    return given[`${group}.${name}`] ?? (isRecord(nested) ? nested[name] : undefined);
  };
  const concurrencyOf = (name: keyof FunctionConcurrency): number => {
    const number = Number(value("concurrency", name) ?? defaultConcurrency[name]);
    if (!Number.isSafeInteger(number)) throw new UsageError(`${path}: concurrency.${name} must be a whole number`);
    return number;
  };
  const stage = typeof given.stage === "string" ? given.stage : "dev";
  const kcpSecret = typeof given.kcpSecret === "string" ? given.kcpSecret : `tmc-${stage}-kcp`;
  const relaySecret = value("relay", "kcpSecret");
  return {
    kcpSecret,
    relaySecret: typeof relaySecret === "string" ? relaySecret : kcpSecret,
    concurrency: {
      reconcile: concurrencyOf("reconcile"),
      forward: concurrencyOf("forward"),
      probe: concurrencyOf("probe"),
    },
    isReserved: String(value("concurrency", "reserve")) === "true",
    buildsImage: value("relay", "mode") !== "external" && value("relay", "image") === undefined,
  };
}
