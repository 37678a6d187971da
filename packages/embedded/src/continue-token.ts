import { badRequest } from "./api-errors.ts";

/** Where a paged list goes on: after `after`, as it was at `revision` (undefined: as it is now). */
export type ContinueToken = Readonly<{ revision: number | undefined; after: string }>;

/** The revision of a token that goes on with the newest state, because the old one is forgotten. */
const newest = -1;
/** The key after which the next page starts, and nothing between them. */
const endOfKey = "\u0000";

/** Writes a token in the form of a real server: a list can be continued by whoever has it, no state is kept for it. */
export function formatContinueToken({ revision, after }: ContinueToken): string {
  const token = { v: "meta.k8s.io/v1", rv: revision ?? newest, start: `/${after}${endOfKey}` };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Reads a token; throws 400 for what no server has written. */
export function parseContinueToken(text: string): ContinueToken {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw refused(`illegal base64 data at input byte ${text.search(/[^\w-]/)}`);
  const json = Buffer.from(text, "base64url").toString();
  let token: unknown;
  try {
    token = JSON.parse(json);
  } catch {
    throw refused(
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

const refused = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`);
