import { ControllerError } from "@tmc/kube/fault.ts";
import { closestMatch } from "../lib/model/text.ts";
import { type SettingField, settingFields } from "./setting-fields.ts";

type Fields = typeof settingFields;
/** Path of a setting, such as `relay.mode`. */
export type SettingPath = keyof Fields;
type ValueOf<Path extends SettingPath> = Fields[Path] extends SettingField<infer Value> ? Value : never;

/** Settings that are never without a value, for others say what it is when nothing is said. */
type DerivedPath = "kcpSecret" | "relay.kcpSecret";

/** What the operator decides about a deployment, checked, by path. */
export type Settings = Readonly<
  { [Path in Exclude<SettingPath, DerivedPath>]: ValueOf<Path> } & { [Path in DerivedPath]: string }
>;

/** Paths of all settings. */
export const settingPaths = Object.keys(settingFields).filter(isPath);

function isPath(path: string): path is SettingPath {
  return Object.hasOwn(settingFields, path);
}

/** Settings as they were given: nested, or by path. */
export type GivenSettings = Readonly<Record<string, unknown>>;

/**
 * Checks the settings of the file, over which those of the context go. All that is wrong is named in one error, each with
 * the form it should have.
 */
export function parseSettings(file: GivenSettings, context: GivenSettings = {}): Settings {
  const problems: string[] = [];
  const given = new Map([...pathsOf(file), ...pathsOf(context)]);
  for (const path of given.keys()) {
    if (isPath(path)) continue;
    const meant = closestMatch(path, settingPaths);
    problems.push(`${path} is not a setting${meant === undefined ? "" : ` (did you mean ${meant}?)`}`);
  }

  const values: Partial<Record<SettingPath, unknown>> = {};
  for (const path of settingPaths) {
    const { form, fallback, parse }: SettingField<unknown> = settingFields[path];
    const value = given.has(path) ? parse(given.get(path)) : fallback;
    if (given.has(path) && value === undefined) problems.push(`${path} has to be ${form}`);
    values[path] = value;
  }
  const kcpSecret = values.kcpSecret ?? `tmc-${String(values.stage)}-kcp`;
  const derived = { kcpSecret, "relay.kcpSecret": values["relay.kcpSecret"] ?? kcpSecret };
  // Each path has been given what its own field parsed.
  const settings = { ...values, ...derived } as Settings;
  problems.push(...misfitsOf(settings, given));
  if (problems.length > 0) throw new ControllerError("invalid", `settings: ${problems.join("; ")}`);
  return settings;
}

/** What is right by itself and does not go together. */
function* misfitsOf(settings: Settings, given: ReadonlyMap<string, unknown>): Generator<string> {
  const { hub, workspaces, "vpc.id": vpc, "vpc.subnets": subnets, "vpc.availabilityZones": zones } = settings;
  if (given.has("apiExport")) {
    if (hub === "kubernetes") yield "apiExport is for kcp: a plain cluster has no exports";
    else if ((workspaces?.length ?? 0) > 0) yield "apiExport takes the place of workspaces: leave one out";
  } else if (hub === "kcp" && !given.has("workspaces")) {
    yield `workspaces is missing: ${settingFields.workspaces.form}; or apiExport`;
  } else if (hub === "kcp" && workspaces?.length === 0) {
    yield "workspaces names none: kcp needs at least one";
  }
  if (hub === "kubernetes" && (workspaces?.length ?? 0) > 0) yield "workspaces is for kcp: a plain cluster has none";
  if (settings.credentialProviders?.length === 0) yield "credentialProviders names none: no cluster could be reached";
  if (vpc === undefined) {
    const alone = (["vpc.subnets", "vpc.availabilityZones", "vpc.public", "vpc.functions"] as const).filter((path) =>
      given.has(path),
    );
    if (alone.length > 0) yield `${alone.join(", ")} without vpc.id: say which network`;
  } else {
    if (subnets?.length === 0 || subnets?.length !== zones?.length) {
      yield "vpc.id needs vpc.subnets and vpc.availabilityZones, as many of the one as of the other";
    }
    if (given.has("vpc.cidr"))
      yield "vpc.cidr is for a network that is made here, vpc.id for one that exists: leave one out";
  }
  if (settings["relay.watchClusters"] && !settings.sync) {
    yield "relay.watchClusters is for sync: without it there is nothing on the clusters to watch";
  }
  if (settings["relay.mode"] === "external" && settings["relay.image"] !== undefined) {
    yield "relay.image is for fargate: an external relay is told its image in its manifest";
  }
}

/** Nested settings by path: `{relay: {mode}}` is `relay.mode`. */
function* pathsOf(given: GivenSettings, above = ""): Generator<[path: string, value: unknown]> {
  for (const [key, value] of Object.entries(given)) {
    const path = `${above}${key}`;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      yield* pathsOf(Object.fromEntries(Object.entries(value)), `${path}.`);
    } else {
      yield [path, value];
    }
  }
}
