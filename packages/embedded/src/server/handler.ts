import type { Clock } from "@tmc/kube/clock.ts";
import type { Catalog } from "../definitions/definition.ts";
import { respondDiscovery } from "../definitions/discovery.ts";
import { respondOpenApi } from "../definitions/openapi.ts";
import { ApiFailure, resourceNotFound } from "../machinery/api-errors.ts";
import type { Operations } from "../storage/operations.ts";
import type { Store } from "../storage/store.ts";
import type { Faults } from "./faults.ts";
import type { ApiRoot, Frontend } from "./frontend.ts";
import { type HealthCheck, respondHealth } from "./health.ts";
import { type ApiRequest, type ApiResponse, ConnectionReset, type Handler, type User } from "./http.ts";
import { failureResponse, pageNotFound, textResponse } from "./representations.ts";
import { maxBodyBytes, tooLargeBody } from "./request-body.ts";
import { attributesOf, parseRequestInfo, type RequestInfo } from "./request-info.ts";
import { respondResource } from "./resource-handler.ts";

/** The response of `/version`. */
export type ServerVersion = Readonly<Record<string, string>>;

export type HandlerOptions = Readonly<{
  frontend: Frontend;
  operations: Operations;
  store: Store;
  clock: Clock;
  faults: Faults;
  version: ServerVersion;
  /** Health checks of `/readyz`, `/livez` and `/healthz`. @default none: always healthy */
  health?: (() => readonly HealthCheck[]) | undefined;
  /** Responds to further paths that are neither resources nor discovery nor OpenAPI. */
  respondPath?: ((apiRoot: ApiRoot, request: ApiRequest, user: User) => ApiResponse | undefined) | undefined;
  /** @default Math.random */
  random?: (() => number) | undefined;
}>;

/** Creates the request handler of one embedded server. */
export function createHandler(options: HandlerOptions): Handler {
  const { frontend, faults, random = Math.random } = options;
  const parts = { ...options, random };

  const handle = async (request: ApiRequest, warnings: string[]): Promise<ApiResponse> => {
    const user = frontend.authenticate(request);
    const apiRoot = frontend.resolve(request.path, user);
    const info = parseRequestInfo(request.method, apiRoot.path, request.query);
    const subject = { ...subjectOf(info), logicalCluster: apiRoot.logicalCluster, user: user.name };
    const plan = faults.plan(subject);
    await faults.enforce(subject, plan, request.signal);
    if (Buffer.byteLength(request.body) > maxBodyBytes) throw tooLargeBody();

    apiRoot.authorize(user, attributesOf(info));
    const response = info.isResource
      ? respondResourcePath(apiRoot, info, (definition) => {
          if (definition.deprecationWarning !== undefined) warnings.push(definition.deprecationWarning);
          return respondResource(parts, { request, info, apiRoot, user, definition, plan, subject, warnings });
        })
      : respondPath(options, apiRoot, request, user);
    if (plan.reset === "after") throw new ConnectionReset("injected reset after the request was handled");
    return response;
  };

  return async (request) => {
    const warnings: string[] = [];
    try {
      return await handle(request, warnings);
    } catch (error) {
      if (error instanceof ConnectionReset) throw error;
      if (error instanceof ApiFailure) return failureResponse(error, warnings);
      const message = error instanceof Error ? error.message : String(error);
      return failureResponse(
        new ApiFailure(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] }),
      );
    }
  };
}

const subjectOf = ({ verb, group, resource, subresource, namespace, name }: RequestInfo) => ({
  verb,
  group,
  resource,
  subresource,
  namespace,
  name,
});

const isBuiltin = ({ flavor, group }: Definition, groupName: string): boolean =>
  flavor === "builtin" && group === groupName;

type Definition = NonNullable<ReturnType<Catalog["find"]>>;

function respondResourcePath(
  apiRoot: ApiRoot,
  info: RequestInfo,
  respond: (definition: Definition) => ApiResponse,
): ApiResponse {
  const definition = apiRoot.catalog.find(info.group, info.version, info.resource);
  if (definition !== undefined) return respond(definition);
  // For an unknown type in a built-in group the server returns a Status, otherwise "404 page not found".
  const isKnown = info.group === "" || apiRoot.catalog.definitions().some((one) => isBuiltin(one, info.group));
  if (!isKnown) return pageNotFound();
  throw resourceNotFound();
}

function respondPath(options: HandlerOptions, apiRoot: ApiRoot, request: ApiRequest, user: User): ApiResponse {
  const { path } = apiRoot;
  if (request.method !== "GET" && request.method !== "HEAD")
    return options.respondPath?.(apiRoot, request, user) ?? pageNotFound();
  if (path === "/version" || path === "/version/")
    return textResponse(200, JSON.stringify(options.version), "application/json");
  const health = respondHealth(path, request.query, options.health?.() ?? []);
  if (health !== undefined) return health;
  const discovered = respondDiscovery(apiRoot.catalog, path, request.headers.accept ?? "");
  if (discovered !== undefined) {
    const { contentType, body } = discovered;
    return textResponse(200, JSON.stringify(body), "application/json", { "content-type": contentType });
  }
  const described = respondOpenApi(apiRoot.catalog, path, request.headers.accept);
  if (described !== undefined) {
    return textResponse(200, described.body, "application/json", { "content-type": described.contentType });
  }
  const other = options.respondPath?.(apiRoot, request, user);
  if (other !== undefined) return other;
  if (path === "/" || path === "")
    return textResponse(200, JSON.stringify({ paths: pathsOf(apiRoot.catalog) }), "application/json");
  // Below a built-in group the server returns a Status for an unknown path.
  const [root, group] = path.split("/").filter((part) => part !== "");
  const isServed =
    root === "api" ||
    (root === "apis" && group !== undefined && apiRoot.catalog.definitions().some((one) => isBuiltin(one, group)));
  if (isServed) throw resourceNotFound();
  return pageNotFound();
}

function pathsOf(catalog: Catalog): string[] {
  const paths = new Set(["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]);
  for (const { group, version } of catalog.definitions()) {
    if (group === "") paths.add(`/api/${version}`);
    else paths.add(`/apis/${group}`).add(`/apis/${group}/${version}`);
  }
  return [...paths].toSorted();
}
