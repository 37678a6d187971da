import { ApiFailure } from "../api-failure.ts";
import { typeOfGo } from "./go-text.ts";
import { fieldOf, isEqual, isList, isObject, setField } from "./json-value.ts";

/** The most operations that one patch may have. */
const maxOperations = 10_000;

/**
 * Applies a JSON patch and answers the new document; what the patch does not reach is shared with the old one. Fails as an
 * API server does: 400 for what is no patch, 422 for one that does not fit the document.
 */
export function jsonPatch(document: unknown, patch: unknown): unknown {
  if (!isList(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${typeOfGo(patch)} into Go value of type []handlers.jsonPatchOp`,
    );
  }
  if (patch.length > maxOperations) {
    const message = `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`;
    throw new ApiFailure(413, "RequestEntityTooLarge", `Request entity too large: ${message}`);
  }
  let result = document;
  for (const operation of patch) {
    if (!isObject(operation)) {
      throw badRequest(
        `error decoding patch: json: cannot unmarshal ${typeOfGo(operation)} into Go value of type handlers.jsonPatchOp`,
      );
    }
    const text = (name: string): string => {
      const value = fieldOf(operation, name);
      if (typeof value !== "string") throw doesNotFit();
      return value;
    };
    result = perform(result, text("op"), text, fieldOf(operation, "value") ?? null);
  }
  return result;
}

const badRequest = (message: string): ApiFailure => new ApiFailure(400, "BadRequest", message);
/** Whatever keeps a patch from fitting, the server says no more than this. */
const doesNotFit = (): ApiFailure =>
  new ApiFailure(422, "Invalid", "the server rejected our request due to an error in our request", {});

function perform(document: unknown, op: string, text: (name: string) => string, value: unknown): unknown {
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
      // A field that is absent equals null.
      if (isEqual(actual ?? null, value)) return document;
      throw doesNotFit();
    }
    default:
      throw doesNotFit();
  }
}

function whole(value: unknown): unknown {
  if (typeof value !== "object" || value === null) throw doesNotFit();
  return value;
}

function tokens(path: string): string[] {
  const parts = path.split("/");
  if (parts.length < 2) throw doesNotFit();
  return parts.slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A container on the way of a path, and the field or index in it. */
type Place = Readonly<{ container: unknown; key: string }>;

function read(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const [depth, key] of path.entries()) {
    if (isList(value)) value = value[indexOf(value, key, value.length - 1)];
    else if (isObject(value)) value = fieldOf(value, key);
    else throw doesNotFit();
    if ((value === undefined || value === null) && depth < path.length - 1) throw doesNotFit();
  }
  return value;
}

/** Rebuilds the containers on the way, and lets `edit` make the last of them. */
function change(container: unknown, path: readonly string[], edit: (place: Place) => unknown): unknown {
  const [key = "", ...rest] = path;
  if (rest.length === 0) return edit({ container, key });
  if (isList(container)) {
    const index = indexOf(container, key, container.length - 1);
    return container.with(index, change(container[index], rest, edit));
  }
  if (!isObject(container) || !Object.hasOwn(container, key)) throw doesNotFit();
  return put({ container, key }, change(container[key], rest, edit));
}

function insert({ container, key }: Place, value: unknown): unknown {
  if (!isList(container)) return put({ container, key }, value);
  return key === "-" ? [...container, value] : container.toSpliced(indexOf(container, key, container.length), 0, value);
}

function put({ container, key }: Place, value: unknown): unknown {
  if (isList(container)) return container.with(indexOf(container, key, container.length - 1), value);
  if (!isObject(container)) throw doesNotFit();
  const result: Record<string, unknown> = { ...container };
  setField(result, key, value);
  return result;
}

function remove({ container, key }: Place): unknown {
  if (isList(container)) return container.toSpliced(indexOf(container, key, container.length - 1), 1);
  if (!isObject(container) || !Object.hasOwn(container, key)) throw doesNotFit();
  const { [key]: _, ...result } = container;
  return result;
}

/** Negative indices count from the end, as the server's library has it. */
function indexOf(list: readonly unknown[], key: string, last: number): number {
  if (!/^[+-]?\d+$/.test(key)) throw doesNotFit();
  const index = Number(key);
  const positive = index < 0 ? index + last + 1 : index;
  if (positive < 0 || positive > last || positive > list.length) throw doesNotFit();
  return positive;
}
