import { isFields } from "@tmc/kube/json.ts";
import { ApiFailure } from "./api-errors.ts";
import { goJsonType } from "./go-text.ts";
import { fieldOf, isEqual, isList, setOwnField } from "./json-value.ts";

const maxOperations = 10_000;

/**
 * Applies a JSON patch; unchanged parts are shared with the old document. Fails like an API server: 400 for a malformed
 * patch, 422 for one that cannot be applied to the document.
 */
export function jsonPatch(document: unknown, patch: unknown): unknown {
  if (!isList(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${goJsonType(patch)} into Go value of type []handlers.jsonPatchOp`,
    );
  }
  if (patch.length > maxOperations) {
    const message = `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`;
    throw new ApiFailure(413, "RequestEntityTooLarge", `Request entity too large: ${message}`);
  }
  let result = document;
  for (const operation of patch) {
    if (!isFields(operation)) {
      throw badRequest(
        `error decoding patch: json: cannot unmarshal ${goJsonType(operation)} into Go value of type handlers.jsonPatchOp`,
      );
    }
    const text = (name: string): string => {
      const value = fieldOf(operation, name);
      if (typeof value !== "string") throw patchRejected();
      return value;
    };
    result = applyOperation(result, text("op"), text, fieldOf(operation, "value") ?? null);
  }
  return result;
}

const badRequest = (message: string): ApiFailure => new ApiFailure(400, "BadRequest", message);
/** The server gives no further reason for a patch that cannot be applied. */
const patchRejected = (): ApiFailure =>
  new ApiFailure(422, "Invalid", "the server rejected our request due to an error in our request", {});

function applyOperation(document: unknown, op: string, text: (name: string) => string, value: unknown): unknown {
  switch (op) {
    case "add":
      return change(document, tokens(text("path")), (at) => insert(at, value));
    case "remove":
      return change(document, tokens(text("path")), remove);
    case "replace":
      return text("path") === "" ? whole(value) : change(document, tokens(text("path")), (at) => put(at, value));
    case "move": {
      const from = tokens(text("from"));
      const moved = read(document, from);
      const without = change(document, from, remove);
      return change(without, tokens(text("path")), (at) => insert(at, moved ?? null));
    }
    case "copy": {
      const copied = read(document, tokens(text("from")));
      return change(document, tokens(text("path")), (at) => insert(at, copied ?? null));
    }
    case "test": {
      const path = text("path");
      const actual = path === "" ? document : read(document, tokens(path));
      // An absent field equals null.
      if (isEqual(actual ?? null, value)) return document;
      throw patchRejected();
    }
    default:
      throw patchRejected();
  }
}

function whole(value: unknown): unknown {
  if (typeof value !== "object" || value === null) throw patchRejected();
  return value;
}

function tokens(path: string): string[] {
  const parts = path.split("/");
  if (parts.length < 2) throw patchRejected();
  return parts.slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A container and the field or index in it. */
type Location = Readonly<{ container: unknown; key: string }>;

function read(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const [depth, key] of path.entries()) {
    if (isList(value)) value = value[indexOf(value, key, value.length - 1)];
    else if (isFields(value)) value = fieldOf(value, key);
    else throw patchRejected();
    if ((value === undefined || value === null) && depth < path.length - 1) throw patchRejected();
  }
  return value;
}

/** Rebuilds the containers on the path; `edit` builds the innermost one. */
function change(container: unknown, path: readonly string[], edit: (location: Location) => unknown): unknown {
  const [key = "", ...rest] = path;
  if (rest.length === 0) return edit({ container, key });
  if (isList(container)) {
    const index = indexOf(container, key, container.length - 1);
    return container.with(index, change(container[index], rest, edit));
  }
  if (!isFields(container) || !Object.hasOwn(container, key)) throw patchRejected();
  return put({ container, key }, change(container[key], rest, edit));
}

function insert({ container, key }: Location, value: unknown): unknown {
  if (!isList(container)) return put({ container, key }, value);
  return key === "-" ? [...container, value] : container.toSpliced(indexOf(container, key, container.length), 0, value);
}

function put({ container, key }: Location, value: unknown): unknown {
  if (isList(container)) return container.with(indexOf(container, key, container.length - 1), value);
  if (!isFields(container)) throw patchRejected();
  const result: Record<string, unknown> = { ...container };
  setOwnField(result, key, value);
  return result;
}

function remove({ container, key }: Location): unknown {
  if (isList(container)) return container.toSpliced(indexOf(container, key, container.length - 1), 1);
  if (!isFields(container) || !Object.hasOwn(container, key)) throw patchRejected();
  const { [key]: _, ...result } = container;
  return result;
}

/** Negative indices count from the end, as in the server's library. */
function indexOf(list: readonly unknown[], key: string, last: number): number {
  if (!/^[+-]?\d+$/.test(key)) throw patchRejected();
  const index = Number(key);
  const positive = index < 0 ? index + last + 1 : index;
  if (positive < 0 || positive > last || positive > list.length) throw patchRejected();
  return positive;
}
