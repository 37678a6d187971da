import type { Clock } from "@tmc/kube/clock.ts";
import { resourceNotFound } from "./api-errors.ts";
import { ApiFailure } from "./api-failure.ts";
import type { Catalog } from "./definition.ts";
import { respondDiscovery } from "./discovery.ts";
import type { Faults } from "./faults.ts";
import type { Frontend, Place } from "./frontend.ts";
import { type HealthCheck, respondHealth } from "./health.ts";
import { type ApiRequest, type ApiResponse, ConnectionReset, type Handler, type User } from "./http.ts";
import { respondOpenApi } from "./openapi.ts";
import type { Operations } from "./operations.ts";
import { failureResponse, pageNotFound, textResponse } from "./representations.ts";
import { maxBodyBytes, tooLargeBody } from "./request-body.ts";
import { attributesOf, parseRequestInfo, type RequestInfo } from "./request-info.ts";
import { respondResource } from "./resource-requests.ts";
import type { Store } from "./store.ts";

/** What `/version` answers. */
export type ServerVersion = Readonly<Record<string, string>>;

export type HandlerOptions = Readonly<{
  frontend: Frontend;
  operations: Operations;
  store: Store;
  clock: Clock;
  faults: Faults;
  version: ServerVersion;
  /** What `/readyz` and its like look at. @default nothing, and always well */
  health?: (() => readonly HealthCheck[]) | undefined;
  /** Answers paths that are neither resources nor discovery nor OpenAPI: whatever a server has of its own. */
  respondPath?: ((place: Place, request: ApiRequest, user: User) => ApiResponse | undefined) | undefined;
  /** @default Math.random */
  random?: (() => number) | undefined;
}>;

/** Makes the function that answers every request of one embedded server. */
export function createHandler(options: HandlerOptions): Handler {
  const { frontend, faults, random = Math.random } = options;
  const parts = { ...options, random };

  const act = async (request: ApiRequest, warnings: string[]): Promise<ApiResponse> => {
    const user = frontend.authenticate(request);
    const place = frontend.resolve(request.path, user);
    const info = parseRequestInfo(request.method, place.path, request.query);
    const subject = { ...subjectOf(info), cluster: place.cluster, user: user.name };
    const plan = faults.plan(subject);
    await faults.pass(subject, plan, request.signal);
    if (Buffer.byteLength(request.body) > maxBodyBytes) throw tooLargeBody();

    place.authorize(user, attributesOf(info));
    const response = info.isResource
      ? respondFor(place, info, (definition) => {
          if (definition.deprecationWarning !== undefined) warnings.push(definition.deprecationWarning);
          return respondResource(parts, { request, info, place, user, definition, plan, subject, warnings });
        })
      : respondPath(options, place, request, user);
    if (plan.reset === "after") throw new ConnectionReset("reset after acting");
    return response;
  };

  return async (request) => {
    const warnings: string[] = [];
    try {
      return await act(request, warnings);
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

const isBuiltin = ({ flavour, group }: Definition, wanted: string): boolean =>
  flavour === "builtin" && group === wanted;

type Definition = NonNullable<ReturnType<Catalog["find"]>>;

function respondFor(place: Place, info: RequestInfo, respond: (definition: Definition) => ApiResponse): ApiResponse {
  const definition = place.catalog.find(info.group, info.version, info.resource);
  if (definition !== undefined) return respond(definition);
  // A built-in group says what it does not have; of others, served or not, there is no page at all.
  const isKnown = info.group === "" || place.catalog.definitions().some((one) => isBuiltin(one, info.group));
  if (!isKnown) return pageNotFound();
  throw resourceNotFound();
}

function respondPath(options: HandlerOptions, place: Place, request: ApiRequest, user: User): ApiResponse {
  const { path } = place;
  if (request.method !== "GET" && request.method !== "HEAD")
    return options.respondPath?.(place, request, user) ?? pageNotFound();
  if (path === "/version" || path === "/version/")
    return textResponse(200, JSON.stringify(options.version), "application/json");
  const health = respondHealth(path, request.query, options.health?.() ?? []);
  if (health !== undefined) return health;
  const discovered = respondDiscovery(place.catalog, path, request.headers.accept ?? "");
  if (discovered !== undefined) {
    const { contentType, body } = discovered;
    return textResponse(200, JSON.stringify(body), "application/json", { "content-type": contentType });
  }
  const described = respondOpenApi(place.catalog, path, request.headers.accept);
  if (described !== undefined) {
    return textResponse(200, described.body, "application/json", { "content-type": described.contentType });
  }
  const other = options.respondPath?.(place, request, user);
  if (other !== undefined) return other;
  if (path === "/" || path === "")
    return textResponse(200, JSON.stringify({ paths: pathsOf(place.catalog) }), "application/json");
  // Below a built-in group, what is missing is a resource and not a page.
  const [root, group] = path.split("/").filter((part) => part !== "");
  const isServed =
    root === "api" ||
    (root === "apis" && group !== undefined && place.catalog.definitions().some((one) => isBuiltin(one, group)));
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
