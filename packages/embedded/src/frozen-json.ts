/** Copies a JSON value deeply; the copy may be changed freely, also where the original is frozen. */
export function cloneJson<T>(value: T): T {
  // The copy has the shape of what it copies, which the compiler cannot see through the recursion.
  return copyOf(value) as T;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined) setOwn(copy, name, copyOf(field));
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
 * Freezes a JSON value through and through and gives it back. What is frozen already is taken to be frozen below too, so
 * that versions of an object that share parts cost little.
 */
export function freezeJson<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const field of Object.values(value)) freezeJson(field);
  return value;
}

const texts = new WeakMap<object, string>();

/** Lets go of the text of a value that only few will still ask for: an older version, kept for those who resume. */
export function forgetText(value: object): void {
  texts.delete(value);
}

/** The JSON text of a frozen value, made once however many watchers and readers it goes to. */
export function jsonText(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  if (Object.isFrozen(value)) texts.set(value, text);
  return text;
}
