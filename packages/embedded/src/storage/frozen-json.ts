/** Copies a JSON value deeply; the copy is mutable even if the original is frozen. */
export function cloneJson<T>(value: T): T {
  // The compiler cannot infer the type through the recursion.
  return deepCopy(value) as T;
}

function deepCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(deepCopy);
  const copy: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined) setOwn(copy, name, deepCopy(field));
  }
  return copy;
}

function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[name] = value;
  }
}

/**
 * Freezes a JSON value deeply and returns it. A frozen value is assumed to be frozen below as well, so versions of an
 * object that share parts are cheap to freeze.
 */
export function freezeJson<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const field of Object.values(value)) freezeJson(field);
  return value;
}

const cachedTexts = new WeakMap<object, string>();

/** Drops the cached text of a value that is rarely read again: an old version that is kept for resuming watches. */
export function dropCachedText(value: object): void {
  cachedTexts.delete(value);
}

/** The JSON text of a value; cached for frozen values, which many watchers and readers share. */
export function jsonText(value: object): string {
  const known = cachedTexts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  if (Object.isFrozen(value)) cachedTexts.set(value, text);
  return text;
}
