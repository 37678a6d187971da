import { isFields } from "@tmc/kube/json.ts";
import { badRequest, invalidOptions } from "../machinery/api-errors.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "../machinery/field-error.ts";
import type { DeleteRequest, ObjectSelection, WriteContext } from "../storage/operations.ts";
import { isTrueParameter } from "./request-info.ts";

export type ParsedWriteOptions = Readonly<{
  dryRun: boolean;
  fieldManager: string;
  fieldValidation: NonNullable<WriteContext["fieldValidation"]>;
  force: boolean;
}>;

const maxFieldManagerLength = 128;

/** Parses the parameters of a create, update or patch; throws 422 for invalid ones, as a real server does. */
export function parseWriteOptions(
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  query: URLSearchParams,
  userAgent: string | undefined,
  isApply = false,
): ParsedWriteOptions {
  const errors: FieldError[] = [];
  const dryRun = query.getAll("dryRun").filter((value) => value !== "");
  const fieldValidation = query.get("fieldValidation") ?? "";
  const manager = query.get("fieldManager") ?? "";
  if (kind === "PatchOptions") {
    if (!isApply && query.has("force")) errors.push(forbidden("force", "may not be specified for non-apply patch"));
    if (isApply && manager === "") errors.push(required("fieldManager", "is required for apply patch"));
  }
  if (manager.length > maxFieldManagerLength) {
    errors.push(invalid("fieldManager", manager, `may not be more than ${maxFieldManagerLength} bytes`));
  }
  errors.push(...dryRunErrors(dryRun));
  const validation = validations.find((value) => value === fieldValidation);
  if (fieldValidation !== "" && validation === undefined) {
    errors.push(notSupported("fieldValidation", fieldValidation, ["", "Ignore", "Strict", "Warn"]));
  }
  if (errors.length > 0) throw invalidOptions(kind, errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: manager === "" ? managerOf(userAgent) : manager,
    fieldValidation: validation ?? "Warn",
    force: isTrueParameter(query.get("force")),
  };
}

const validations = ["Ignore", "Warn", "Strict"] as const;

const dryRunErrors = (values: readonly string[]): FieldError[] =>
  values.every((value) => value === "All") && new Set(values).size === values.length
    ? []
    : [notSupported("dryRun", values, ["All"])];

/** The default field manager is the beginning of the user agent. */
function managerOf(userAgent = ""): string {
  const name = userAgent.split("/")[0] ?? "";
  return name.replaceAll(/[^\P{C}]/gu, "").slice(0, maxFieldManagerLength) || "unknown";
}

export type ParsedListOptions = ObjectSelection &
  Readonly<{
    allowWatchBookmarks: boolean;
    sendInitialEvents: boolean | undefined;
    timeoutSeconds: number | undefined;
  }>;

/** Parses the parameters of a list, watch or deletecollection. */
export function parseListOptions(query: URLSearchParams, isWatch: boolean): ParsedListOptions {
  const text = (name: string): string | undefined => query.get(name) ?? undefined;
  const limit = integer(query, "limit");
  const timeoutSeconds = integer(query, "timeoutSeconds");
  const resourceVersion = text("resourceVersion");
  let resourceVersionMatch = text("resourceVersionMatch");
  let sendInitialEvents = query.has("sendInitialEvents") ? isTrueParameter(query.get("sendInitialEvents")) : undefined;
  const isUnset = resourceVersion === undefined || resourceVersion === "" || resourceVersion === "0";
  if (isWatch && sendInitialEvents === undefined && (resourceVersionMatch ?? "") === "" && isUnset) {
    sendInitialEvents = true;
    resourceVersionMatch = "NotOlderThan";
  }
  const errors = resourceVersionMatchErrors({
    isWatch,
    sendInitialEvents,
    resourceVersion: resourceVersion ?? "",
    match: resourceVersionMatch ?? "",
    hasContinue: (text("continue") ?? "") !== "",
  });
  if (errors.length > 0) throw invalidOptions("ListOptions", errors);
  return {
    labelSelector: text("labelSelector"),
    fieldSelector: text("fieldSelector"),
    limit,
    continue: text("continue"),
    resourceVersion,
    resourceVersionMatch,
    allowWatchBookmarks: isTrueParameter(query.get("allowWatchBookmarks")),
    sendInitialEvents,
    timeoutSeconds,
  };
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}

function resourceVersionMatchErrors(options: {
  isWatch: boolean;
  sendInitialEvents: boolean | undefined;
  resourceVersion: string;
  match: string;
  hasContinue: boolean;
}): FieldError[] {
  const { isWatch, sendInitialEvents, resourceVersion, match, hasContinue } = options;
  if (isWatch) {
    if (sendInitialEvents === undefined) {
      return match === ""
        ? []
        : [
            forbidden(
              "resourceVersionMatch",
              "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ),
          ];
    }
    const errors: FieldError[] = [];
    if (match !== "NotOlderThan") {
      errors.push(
        forbidden("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
      );
    }
    if (match !== "" && match !== "NotOlderThan") {
      errors.push(notSupported("resourceVersionMatch", match, ["NotOlderThan"]));
    }
    return errors;
  }
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined) {
    errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  if (match === "") return errors;
  if (resourceVersion === "") {
    errors.push(
      forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"),
    );
  }
  if (hasContinue)
    errors.push(forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
  if (match !== "Exact" && match !== "NotOlderThan") {
    errors.push(notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]));
  }
  if (match === "Exact" && resourceVersion === "0") {
    errors.push(forbidden("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  return errors;
}

export type ParsedDeleteOptions = Readonly<{
  request: DeleteRequest;
  dryRun: boolean;
  orphanDependents: boolean | undefined;
}>;

/** Parses the options of a deletion, from the body or else from the query. */
export function parseDeleteOptions(query: URLSearchParams, body: unknown): ParsedDeleteOptions {
  const given = isFields(body) ? body : optionsOf(query);
  const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
  if (isFields(body) && text(body.kind) !== undefined && body.kind !== "DeleteOptions") {
    const version = text(body.apiVersion) ?? "meta.k8s.io/v1";
    const scheme = 'in scheme "pkg/runtime/scheme.go:111"';
    throw badRequest(`no kind "${String(body.kind)}" is registered for version "${version}" ${scheme}`);
  }
  const preconditions = isFields(given.preconditions) ? given.preconditions : {};
  const policy = text(given.propagationPolicy);
  const orphan = typeof given.orphanDependents === "boolean" ? given.orphanDependents : undefined;
  const grace = given.gracePeriodSeconds;
  const dryRun = Array.isArray(given.dryRun) ? given.dryRun.map(String) : [];
  const errors: FieldError[] = [];
  if (policy !== undefined && orphan !== undefined) {
    errors.push(invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"));
  }
  const known = policies.find((name) => name === policy);
  if (policy !== undefined && known === undefined) {
    errors.push(notSupported("propagationPolicy", policy, ["Foreground", "Background", "Orphan", "nil"]));
  }
  errors.push(...dryRunErrors(dryRun));
  if (errors.length > 0) throw invalidOptions("DeleteOptions", errors);
  return {
    request: {
      uid: text(preconditions.uid),
      resourceVersion: text(preconditions.resourceVersion),
      propagationPolicy: known ?? (orphan === undefined ? undefined : orphan ? "Orphan" : "Background"),
      gracePeriodSeconds: typeof grace === "number" ? grace : undefined,
    },
    dryRun: dryRun.length > 0,
    orphanDependents: orphan,
  };
}

const policies = ["Foreground", "Background", "Orphan"] as const;

function optionsOf(query: URLSearchParams): Readonly<Record<string, unknown>> {
  const grace = integer(query, "gracePeriodSeconds");
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(query.has("propagationPolicy") ? { propagationPolicy: query.get("propagationPolicy") } : {}),
    ...(query.has("orphanDependents") ? { orphanDependents: isTrueParameter(query.get("orphanDependents")) } : {}),
    ...(query.has("dryRun") ? { dryRun: query.getAll("dryRun").filter((value) => value !== "") } : {}),
  };
}
