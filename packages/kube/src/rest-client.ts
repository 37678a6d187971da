import type { Collection, KubeClient, ListOptions, Patch, WriteOptions } from "./client.ts";
import { type Clock, systemClock } from "./clock.ts";
import { errorOfInvalidResponse, errorOfLimit, faultOf, isLimitExceeded, type TextResponse } from "./errors.ts";
import { ControllerError } from "./fault.ts";
import { isRecord } from "./json.ts";
import type { KubeList, KubeObject, Status } from "./kube-object.ts";
import { normalizeBasePath, parseServerAddress } from "./kubeconfig/server-address.ts";
import { formatQuery, formatResourcePath, formatTarget, type Target } from "./paths.ts";
import type { ByteBudget } from "./transport/byte-budget.ts";
import { type Call, exchange, formatCall, formatMebibytes, type Session, succeed } from "./transport/exchange.ts";
import { createListProgresses, type Page } from "./transport/list-progress.ts";
import type { Endpoint, Transport } from "./transport/transport.ts";
import { estimateHeapBytes, type ResponseLimits } from "./transport/transport-limits.ts";
import { watchOnce } from "./transport/watch-once.ts";

export type KubeClientOptions = Readonly<{
  endpoint: Endpoint;
  transport: Transport;
  /** The name of the server in messages. @default the server's host and port */
  name?: string | undefined;
  /** @default "tmc" */
  userAgent?: string | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  /** Limits of the answers, for a server that another party named. @default none */
  limits?: ResponseLimits | undefined;
  /** The budget of responses in flight that this client shares with others. It applies only with `limits`. @default none */
  inFlight?: ByteBudget | undefined;
}>;

/** The page size of client-go's reflectors. */
const pageSize = 500;

const json = "application/json";
const patchTypes: Readonly<Record<Patch["type"], string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  // JSON is valid YAML.
  apply: "application/apply-patch+yaml",
};

/** The media types of an object and a list. */
type Form = Readonly<{ object: string; list: string }>;
const whole: Form = { object: json, list: json };
const metadataOnly: Form = {
  object: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  list: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
};

/** Creates the client for one API server, over a transport that several clients may share. */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  const { origin, basePath } = parseServerAddress(options.endpoint.server);
  const session: Session = {
    name: options.name ?? new URL(origin).host,
    endpoint: options.endpoint,
    transport: options.transport,
    userAgent: options.userAgent ?? "tmc",
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    limits: options.limits,
    inFlight: options.inFlight,
  };
  return clientAt(session, origin, basePath);
}

function clientAt(session: Session, origin: string, basePath: string): KubeClient {
  const where = basePath === "" ? "" : ` at ${basePath}`;
  const callFor = callsBelow(basePath, where);

  /** The response is returned as the caller's type without validation: only the schema could validate it. */
  const ask = async <T>(call: Call): Promise<T> => parseObject(session, call, await succeed(session, call)) as T;

  const reads = (form: Form): KubeClient["metadata"] => {
    const progresses = createListProgresses(session);
    const readPage = async <T>(collection: Collection, options: ListOptions): Promise<Page<T>> => {
      const query = {
        limit: options.limit,
        continue: options.continue,
        resourceVersion: options.resourceVersion,
        resourceVersionMatch: options.resourceVersionMatch,
        labelSelector: options.labelSelector,
        fieldSelector: options.fieldSelector,
      };
      const call: Call = { ...callFor("list", collection, query), ...reading(form.list, options), isPage: true };
      const response = await succeed(session, call);
      const list = asList<T>(session, call, parseObject(session, call, response));
      return { call, list, text: response.text };
    };
    /** The same within the limits of the session: a page that is too large is requested again with fewer items. */
    const readLimitedPage = async <T>(collection: Collection, options: ListOptions): Promise<Page<T>> => {
      if (session.limits === undefined) return readPage(collection, options);
      const before = progresses.take(options.continue);
      const { resourceVersion } = options;
      let limit = options.limit && Math.min(options.limit, before.pageSize ?? options.limit);
      for (let isFirst = true; ; isFirst = false) {
        try {
          // A server that answers from its cache ignores the page size.
          const version = isFirst || resourceVersion !== "0" ? resourceVersion : undefined;
          const page = await readPage<T>(collection, { ...options, limit, resourceVersion: version });
          progresses.add(before, page, limit);
          return page;
        } catch (error) {
          if (!isLimitExceeded(error) || limit === undefined || limit <= 1) throw error;
          limit = Math.max(1, Math.floor(limit / 8));
        }
      }
    };
    return {
      get: async (address, { subresource, resourceVersion, ...options } = {}) =>
        ask({
          ...callFor("get", { ...address, subresource }, { resourceVersion }),
          ...reading(form.object, options),
        }),
      list: async <T>(collection: Collection, options: ListOptions = {}) =>
        (await readLimitedPage<T>(collection, options)).list,
      listAll: <T>(collection: Collection, options: ListOptions = {}) =>
        listAllPages(session, (page) => readLimitedPage<T>(collection, page), options),
      watch: (collection, options = {}) => {
        const query = {
          watch: true,
          allowWatchBookmarks: options.allowWatchBookmarks ?? true,
          resourceVersion: options.resourceVersion,
          timeoutSeconds: options.timeoutSeconds,
          labelSelector: options.labelSelector,
          fieldSelector: options.fieldSelector,
        };
        const call: Call = { ...callFor("watch", collection, query), ...reading(form.object, options) };
        return watchOnce(session, call, options);
      },
    };
  };

  return {
    server: origin + basePath,
    limits: session.limits,
    ...reads(whole),
    metadata: reads(metadataOnly),
    create: async (collection, object, options = {}) => {
      const target = { ...collection, name: options.name, subresource: options.subresource };
      return ask({ method: "POST", ...callFor("create", target, writeQuery(options)), ...send(object, options) });
    },
    update: async (address, object, options = {}) => {
      const target = { ...address, subresource: options.subresource };
      return ask({ method: "PUT", ...callFor("update", target, writeQuery(options)), ...send(object, options) });
    },
    patch: async (address, patch, options = {}) => {
      const target = { ...address, subresource: options.subresource };
      const force = patch.type === "apply" ? patch.force : undefined;
      const verb = patch.type === "apply" ? "apply" : "patch";
      const called = callFor(verb, target, { ...writeQuery(options), force });
      if (patch.type === "apply" && !options.fieldManager) {
        throw new ControllerError("invalid", `${session.name}: ${called.what}: needs a field manager`);
      }
      return ask({ method: "PATCH", ...called, ...send(patch.body, options, patchTypes[patch.type]) });
    },
    delete: async (address, options = {}) =>
      ask<KubeObject | Status>({
        method: "DELETE",
        ...callFor("delete", address, {}),
        ...send(deleteBody(options), options),
      }),
    deleteAll: async (collection, options = {}) => {
      const query = { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };
      await ask({
        method: "DELETE",
        ...callFor("delete all", collection, query),
        ...send(deleteBody(options), options),
      });
    },
    raw: async (method, path, options = {}) =>
      exchange(session, {
        method,
        path: basePath + (path.startsWith("/") ? path : `/${path}`),
        what: `${method.toLowerCase()} ${path.split("?", 1)[0]}${where}`,
        accept: options.accept ?? json,
        contentType: options.contentType ?? (options.body === undefined ? undefined : json),
        body: options.body,
        ...limits(options),
      }),
    at: (path) => clientAt(session, origin, normalizeBasePath(path)),
    close: () => session.transport.close(),
  };
}

const callsBelow =
  (basePath: string, where: string) => (verb: string, target: Target, query: Parameters<typeof formatQuery>[0]) => ({
    path: basePath + formatResourcePath(target) + formatQuery(query),
    what: `${verb} ${formatTarget(target)}${where}`,
  });

type Limits = Pick<Call, "signal" | "timeoutMs">;
const limits = ({ signal, timeoutMs }: Limits): Limits => ({ signal, timeoutMs });

const reading = (accept: string, options: Limits): Pick<Call, "method" | "accept"> & Limits => ({
  method: "GET",
  accept,
  ...limits(options),
});

function send(
  body: object,
  options: Limits,
  contentType = json,
): Pick<Call, "accept" | "contentType" | "body"> & Limits {
  return { accept: json, contentType, body: JSON.stringify(body), ...limits(options) };
}

function writeQuery({ fieldManager, dryRun, fieldValidation }: WriteOptions): Record<string, string | undefined> {
  return { fieldManager, dryRun: dryRun === true ? "All" : undefined, fieldValidation };
}

function deleteBody(options: Parameters<KubeClient["delete"]>[1] & object): object {
  const { preconditions, propagationPolicy, gracePeriodSeconds, dryRun } = options;
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions,
    propagationPolicy,
    gracePeriodSeconds,
    dryRun: dryRun === true ? ["All"] : undefined,
  };
}

function parseObject(session: Session, call: Call, { status, headers, text }: TextResponse): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const type = headers["content-type"] ?? "of an unnamed type";
    throw errorOfInvalidResponse(
      formatCall(session, call),
      status,
      `answer is not json: ${text.length} characters ${type}`,
    );
  }
  if (isRecord(value)) return value;
  throw errorOfInvalidResponse(formatCall(session, call), status, "answer is not a json object");
}

/** Completes a list: in lists of built-in types the items have no apiVersion and kind. */
function asList<T>(session: Session, call: Call, list: Partial<KubeList<unknown>>): KubeList<T> {
  const { kind, apiVersion } = list;
  const items = list.items ?? [];
  if (typeof kind !== "string" || typeof apiVersion !== "string" || !kind.endsWith("List") || !Array.isArray(items)) {
    throw errorOfInvalidResponse(formatCall(session, call), 200, "answer is not a list");
  }
  const itemKind = kind.slice(0, -"List".length);
  const named = items.map((item: unknown) =>
    typeof item === "object" && item !== null && !("kind" in item) ? { apiVersion, kind: itemKind, ...item } : item,
  );
  return { apiVersion, kind, metadata: list.metadata ?? {}, items: named as T[] };
}

async function listAllPages<T>(
  session: Session,
  readPage: (options: ListOptions) => Promise<Page<T>>,
  options: ListOptions,
): Promise<KubeList<T>> {
  let heapBytes = 0;
  const listPage = async (pageOptions: ListOptions): Promise<KubeList<T>> => {
    const { call, list, text } = await readPage(pageOptions);
    if (session.limits === undefined) return list;
    const { listHeapBytes } = session.limits;
    heapBytes += estimateHeapBytes(text);
    if (heapBytes <= listHeapBytes) return list;
    const why = `list would take more than ${formatMebibytes(listHeapBytes)} of memory`;
    throw errorOfLimit(formatCall(session, call), why);
  };
  const first = await listPage({ ...options, limit: options.limit ?? pageSize });
  const items = first.items;
  // Only the first page has a version: a continue token contains its own, and servers reject both together.
  const { resourceVersion: _, resourceVersionMatch: __, ...following } = options;
  let token = first.metadata.continue;
  while (token) {
    try {
      const page = await listPage({ ...following, limit: options.limit ?? pageSize, continue: token });
      for (const item of page.items) items.push(item);
      token = page.metadata.continue;
    } catch (error) {
      if (faultOf(error) !== "expired") throw error;
      // The snapshot has expired. A list without pages cannot expire while it is read.
      return listPage({ ...following, limit: undefined, continue: undefined });
    }
  }
  return { apiVersion: first.apiVersion, kind: first.kind, metadata: { ...firstVersion(first) }, items };
}

function firstVersion({ metadata }: KubeList<unknown>): { resourceVersion?: string } {
  return metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion };
}
