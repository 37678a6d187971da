/** A resource as a template has it. */
export type TemplateResource = Readonly<{
  Type: string;
  Properties?: Readonly<Record<string, unknown>>;
}>;
/** A template, by the names that its resources have in it. */
export type Template = Readonly<{ Resources: Readonly<Record<string, TemplateResource>> }>;

/** Stands for a value that only the deployment knows. */
export const unknown = Symbol("known to the deployment only");

/** What references in a template lead to: a value, or `unknown`. */
export type References = Readonly<{
  /** `Ref`: the physical id of a resource, or a pseudo parameter. */
  ref(name: string): string | typeof unknown;
  /** `Fn::GetAtt`. */
  attribute(name: string, attribute: string): string | typeof unknown;
}>;

/** Puts the values of a deployment where a template refers to them. */
export function resolve(node: unknown, references: References): unknown {
  if (Array.isArray(node)) return node.map((each) => resolve(each, references));
  if (typeof node !== "object" || node === null) return node;
  const [[name, argument] = ["", undefined], ...others] = Object.entries(node);
  if (others.length === 0 && name === "Ref") return references.ref(String(argument));
  if (others.length === 0 && name.startsWith("Fn::")) return resolveFunction(name, argument, references);
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolve(value, references)]));
}

function resolveFunction(name: string, argument: unknown, references: References): unknown {
  if (!Array.isArray(argument)) return unknown;
  if (name === "Fn::GetAtt") return references.attribute(String(argument[0]), String(argument[1]));
  if (name !== "Fn::Join" || !Array.isArray(argument[1])) return unknown;
  const parts = argument[1].map((part) => resolve(part, references));
  return parts.every((part) => typeof part === "string") ? parts.join(String(argument[0])) : unknown;
}
