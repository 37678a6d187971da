import { ControllerError } from "@tmc/kube/fault.ts";
import { closestMatch } from "../lib/model/text.ts";
import { type SettingField, settingFields } from "./setting-fields.ts";

type Fields = typeof settingFields;
/** Path of a setting, such as `relay.mode`. */
export type SettingPath = keyof Fields;
type ValueOf<Path extends SettingPath> = Fields[Path] extends SettingField<infer Value> ? Value : never;

/** Optional settings whose default is derived from other settings. */
type DerivedPath = "kcpSecret" | "relay.kcpSecret";

/** The validated settings of a deployment, by path. */
export type Settings = Readonly<
  { [Path in Exclude<SettingPath, DerivedPath>]: ValueOf<Path> } & { [Path in DerivedPath]: string }
>;

export const settingPaths = Object.keys(settingFields).filter(isPath);

function isPath(path: string): path is SettingPath {
  return Object.hasOwn(settingFields, path);
}

/** Settings before validation: nested, or by path. */
export type GivenSettings = Readonly<Record<string, unknown>>;

/** Validates the settings of the file, overridden by those of the context. One error lists everything that is wrong, with the expected formats. */
export function parseSettings(file: GivenSettings, context: GivenSettings = {}): Settings {
  const errors: string[] = [];
  const given = new Map([...pathsOf(file), ...pathsOf(context)]);
  for (const path of given.keys()) {
    if (isPath(path)) continue;
    const suggestion = closestMatch(path, settingPaths);
    errors.push(`${path} is not a setting${suggestion === undefined ? "" : ` (did you mean ${suggestion}?)`}`);
  }

  const values: Partial<Record<SettingPath, unknown>> = {};
  for (const path of settingPaths) {
    const { format, defaultValue, parse }: SettingField<unknown> = settingFields[path];
    const value = given.has(path) ? parse(given.get(path)) : defaultValue;
    if (given.has(path) && value === undefined) errors.push(`${path} must be ${format}`);
    values[path] = value;
  }
  const kcpSecret = values.kcpSecret ?? `tmc-${String(values.stage)}-kcp`;
  const derived = { kcpSecret, "relay.kcpSecret": values["relay.kcpSecret"] ?? kcpSecret };
  // Each value was parsed by the field of its path.
  const settings = { ...values, ...derived } as Settings;
  errors.push(...conflictsOf(settings, given));
  if (errors.length > 0) throw new ControllerError("invalid", `settings: ${errors.join("; ")}`);
  return settings;
}

/** Settings that are valid by themselves but conflict. */
function* conflictsOf(settings: Settings, given: ReadonlyMap<string, unknown>): Generator<string> {
  const { hub, workspaces, "vpc.id": vpc, "vpc.subnets": subnets, "vpc.availabilityZones": zones } = settings;
  if (given.has("apiExport")) {
    if (hub === "kubernetes") yield "apiExport requires kcp: a plain cluster has no exports";
    else if ((workspaces?.length ?? 0) > 0) yield "apiExport replaces workspaces: set only one of them";
  } else if (hub === "kcp" && !given.has("workspaces")) {
    yield `workspaces is missing: ${settingFields.workspaces.format}; or apiExport`;
  } else if (hub === "kcp" && workspaces?.length === 0) {
    yield "workspaces is empty: kcp needs at least one";
  }
  if (hub === "kubernetes" && (workspaces?.length ?? 0) > 0) yield "workspaces requires kcp: a plain cluster has none";
  if (settings.credentialProviders?.length === 0) yield "credentialProviders is empty: no cluster could be reached";
  if (vpc === undefined) {
    const orphaned = (["vpc.subnets", "vpc.availabilityZones", "vpc.public", "vpc.functions"] as const).filter((path) =>
      given.has(path),
    );
    if (orphaned.length > 0) yield `${orphaned.join(", ")} requires vpc.id`;
  } else {
    if (subnets?.length === 0 || subnets?.length !== zones?.length) {
      yield "vpc.id requires vpc.subnets and vpc.availabilityZones, with the same number of entries";
    }
    if (given.has("vpc.cidr")) yield "vpc.cidr creates a network, vpc.id uses an existing one: set only one of them";
  }
  if (settings["relay.watchClusters"] && !settings.sync) {
    yield "relay.watchClusters requires sync: without it there is nothing to watch on the clusters";
  }
  if (settings["relay.mode"] === "external" && settings["relay.image"] !== undefined) {
    yield "relay.image requires fargate: the image of an external relay is in its manifest";
  }
}

/** Flattens nested settings: `{relay: {mode}}` becomes `relay.mode`. */
function* pathsOf(given: GivenSettings, prefix = ""): Generator<[path: string, value: unknown]> {
  for (const [key, value] of Object.entries(given)) {
    const path = `${prefix}${key}`;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      yield* pathsOf(Object.fromEntries(Object.entries(value)), `${path}.`);
    } else {
      yield [path, value];
    }
  }
}
