import { badRequest } from "../machinery/api-errors.ts";

/** Position in a paged list: after the key `after`, at `revision` (undefined: the current one). */
export type ContinueToken = Readonly<{ revision: number | undefined; after: string }>;

/** Revision in a token that continues at the current revision, because the original one is compacted. */
const newest = -1;
/** Appended to the last key of a page, so that the next page starts after it. */
const endOfKey = "\u0000";

/** Formats a token as a real server does. It contains the whole position; the server keeps no state. */
export function formatContinueToken({ revision, after }: ContinueToken): string {
  const token = { v: "meta.k8s.io/v1", rv: revision ?? newest, start: `/${after}${endOfKey}` };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Parses a token; throws 400 if it is malformed. */
export function parseContinueToken(text: string): ContinueToken {
  if (!/^[A-Za-z0-9_-]*$/.test(text))
    throw invalidContinueKey(`illegal base64 data at input byte ${text.search(/[^\w-]/)}`);
  const json = Buffer.from(text, "base64url").toString();
  let token: unknown;
  try {
    token = JSON.parse(json);
  } catch {
    throw invalidContinueKey(
      json === ""
        ? "unexpected end of JSON input"
        : `invalid character '${json.slice(0, 1)}' looking for beginning of value`,
    );
  }
  const { v, rv, start } = fieldsOf(token);
  if (v !== "meta.k8s.io/v1")
    throw badRequest(`invalid continue token: server does not recognize this encoded version "${String(v)}"`);
  if (typeof rv !== "number" || rv === 0)
    throw badRequest("invalid continue token: incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (typeof start !== "string" || start === "")
    throw badRequest("invalid continue token: encoded start key empty (version meta.k8s.io/v1)");
  if (start.includes("/../")) throw badRequest("invalid continue token: invalid continue key");
  return { revision: rv === newest ? undefined : rv, after: start.replace(/^\//, "").split(endOfKey, 1)[0] ?? "" };
}

const fieldsOf = (token: unknown): Readonly<{ v?: unknown; rv?: unknown; start?: unknown }> =>
  typeof token === "object" && token !== null ? token : {};

const invalidContinueKey = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`);
