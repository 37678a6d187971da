import { byKey, compareStrings } from "./compare.ts";

/** The operator of a requirement; `=` and `==` are `in` with one value, `!=` is `notin`. */
export type LabelOperator = "in" | "notin" | "exists" | "!" | "gt" | "lt";
export type LabelRequirement = Readonly<{ key: string; operator: LabelOperator; values: readonly string[] }>;
/** All requirements must hold; an empty list matches everything. */
export type LabelSelector = readonly LabelRequirement[];

export type FieldRequirement = Readonly<{ field: string; equals: boolean; value: string }>;
/** All requirements must hold; an empty list matches everything. */
export type FieldSelector = readonly FieldRequirement[];

/** A selector in the form of `spec.selector`. */
export type LabelSelectorObject = Readonly<{
  matchLabels?: Readonly<Record<string, string>> | undefined;
  matchExpressions?:
    | readonly Readonly<{ key: string; operator: string; values?: readonly string[] | undefined }>[]
    | undefined;
}>;

/** Parses a `labelSelector` parameter; throws with the message of a Kubernetes API server. */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = scan(text);
  const requirements: LabelRequirement[] = [];
  let position = 0;

  // The end token follows the last token; nothing is read after it.
  const peek = (): Token => tokens[position] ?? end;
  const next = (): Token => {
    const token = peek();
    position += 1;
    return token;
  };

  for (;;) {
    const token = peek();
    if (token.kind === "end") return inOrder(requirements);
    if (token.kind !== "identifier" && token.kind !== "keyword" && token.text !== "!") {
      throw new Error(`found '${token.text}', expected: !, identifier, or 'end of string'`);
    }
    try {
      requirements.push(parseRequirement(peek, next));
    } catch (error) {
      throw new Error(`unable to parse requirement: ${error instanceof Error ? error.message : String(error)}`);
    }
    const after = next();
    if (after.kind === "end") return inOrder(requirements);
    if (after.text !== ",") throw new Error(`found '${after.text}', expected: ',' or 'end of string'`);
    const following = peek();
    if (!isIdentifier(following) && following.text !== "!") {
      throw new Error(`found '${following.text}', expected: identifier after ','`);
    }
  }
}

/** Parses the selector of an object's spec; throws if an API server would reject it. */
export function selectorFromObject(selector: LabelSelectorObject): LabelSelector {
  const requirements = Object.entries(selector.matchLabels ?? {})
    .toSorted(byKey)
    .map(([key, value]) => requirement(key, "in", [value], exactlyOne));
  for (const expression of selector.matchExpressions ?? []) {
    const operator = operatorsOfObjects[expression.operator];
    if (operator === undefined) {
      throw new Error(`${JSON.stringify(expression.operator)} is not a valid label selector operator`);
    }
    requirements.push(requirement(expression.key, operator, expression.values ?? [], rulesOf[operator]));
  }
  return inOrder(requirements);
}

/** Returns whether labels satisfy every requirement of a selector. */
export function matchesLabels(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>> | null | undefined,
): boolean {
  return selector.every((requirement) => {
    const { key } = requirement;
    const isThere = labels !== undefined && labels !== null && Object.hasOwn(labels, key);
    return satisfiesRequirement(isThere ? labels[key] : undefined, requirement);
  });
}

/** Returns whether a label's value satisfies a requirement; the value is undefined if the label is missing. */
export function satisfiesRequirement(value: string | undefined, { operator, values }: LabelRequirement): boolean {
  switch (operator) {
    case "in":
      return value !== undefined && values.includes(value);
    case "notin":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    default:
      return value !== undefined && compares(operator, value, values[0]);
  }
}

/** Formats a selector as a `labelSelector` parameter. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector
    .map(({ key, operator, values }) => {
      if (operator === "exists") return key;
      if (operator === "!") return `!${key}`;
      if (operator === "gt") return `${key}>${values[0] ?? ""}`;
      if (operator === "lt") return `${key}<${values[0] ?? ""}`;
      if (values.length === 1) return `${key}${operator === "in" ? "=" : "!="}${values[0] ?? ""}`;
      return `${key} ${operator} (${values.join(",")})`;
    })
    .join(",");
}

/** Parses a `fieldSelector` parameter; throws with the message of a Kubernetes API server. */
export function parseFieldSelector(text: string): FieldSelector {
  return splitTerms(text)
    .toSorted()
    .filter((term) => term !== "")
    .map((term) => {
      // The first operator splits the term; the value may contain further ones only if they are escaped.
      const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
      if (match === null) throw new Error(`invalid selector: '${text}'; can't understand '${term}'`);
      const [, field = "", operator, value = ""] = match;
      return { field, equals: operator !== "!=", value: unescapeValue(value) };
    });
}

/** Returns whether an object's fields satisfy every requirement; a missing field counts as empty. */
export function matchesFields(selector: FieldSelector, get: (field: string) => string | undefined): boolean {
  return selector.every(({ field, equals, value }) => ((get(field) ?? "") === value) === equals);
}

/** Validates the key of a label or an annotation; returns Kubernetes' error messages. */
export function labelKeyErrors(key: string): string[] {
  const parts = key.split("/");
  if (parts.length > 2) {
    const form = regexError(labelKeyMessage, labelKeyPattern, ["MyName", "my.name", "123-abc"]);
    return [`a valid label key ${form} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const errors: string[] = [];
  const [prefix, name] = parts.length === 2 ? [parts[0] ?? "", parts[1] ?? ""] : [undefined, key];
  if (prefix === "") errors.push("prefix part must be non-empty");
  else if (prefix !== undefined) errors.push(...subdomainErrors(prefix).map((problem) => `prefix part ${problem}`));
  if (name === "") errors.push("name part must be non-empty");
  else if (byteLength(name) > 63) errors.push("name part must be no more than 63 bytes");
  if (!labelKeyExpression.test(name)) {
    errors.push(`name part ${regexError(labelKeyMessage, labelKeyPattern, ["MyName", "my.name", "123-abc"])}`);
  }
  return errors;
}

/** Validates the value of a label; returns Kubernetes' error messages. */
export function labelValueErrors(value: string): string[] {
  const errors: string[] = [];
  if (byteLength(value) > maxValueLength) errors.push("must be no more than 63 bytes");
  if (!labelValueExpression.test(value)) {
    errors.push(regexError(labelValueMessage, `(${labelKeyPattern})?`, ["MyValue", "my_value", "12345"]));
  }
  return errors;
}

/** Validates a DNS subdomain (the form of most names); returns Kubernetes' error messages. */
export function subdomainErrors(value: string): string[] {
  const errors: string[] = [];
  if (byteLength(value) > 253) errors.push("must be no more than 253 bytes");
  if (!subdomainExpression.test(value)) {
    errors.push(regexError(subdomainMessage, subdomainPattern, ["example.com"]));
  }
  return errors;
}

type Token = Readonly<{ kind: "identifier" | "keyword" | "symbol" | "end"; text: string }>;

const end: Token = { kind: "end", text: "" };
const symbols = new Set([")", ",", "!", "==", "=", ">", "<", "!=", "("]);
const isIdentifier = (token: Token): boolean => token.kind === "identifier" || token.kind === "keyword";

function scan(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /[ \t\r\n]+|[=!(),<>]+|[^ \t\r\n=!(),<>]+/y;
  while (pattern.lastIndex < text.length) {
    const piece = pattern.exec(text)?.[0] ?? "";
    if (/^[ \t\r\n]/.test(piece)) continue;
    if (!/^[=!(),<>]/.test(piece)) {
      tokens.push({ kind: piece === "in" || piece === "notin" ? "keyword" : "identifier", text: piece });
      continue;
    }
    // A run of symbols is split into the longest known ones: "!=" is one, "),(" are three.
    for (let at = 0; at < piece.length; ) {
      const two = piece.slice(at, at + 2);
      const symbol = two.length === 2 && symbols.has(two) ? two : piece.slice(at, at + 1);
      tokens.push({ kind: "symbol", text: symbol });
      at += symbol.length;
    }
  }
  return tokens;
}

function parseRequirement(peek: () => Token, next: () => Token): LabelRequirement {
  let token = next();
  const negated = token.text === "!" && token.kind === "symbol";
  if (negated) token = next();
  if (!isIdentifier(token)) throw new Error(`found '${token.text}', expected: identifier`);
  const key = token.text;
  const errors = labelKeyErrors(key);
  // The server's parser is given no path here, and Go prints that as <nil>.
  if (errors.length > 0) throw new Error(`<nil>: Invalid value: ${JSON.stringify(key)}: ${errors.join("; ")}`);
  const following = peek();
  // A bare key requires its existence; the caller rejects any token after `!key`.
  if (following.kind === "end" || following.text === ",") {
    return requirement(key, negated ? "!" : "exists", [], undefined);
  }
  if (negated) return requirement(key, "!", [], undefined);

  const operator = next();
  switch (operator.text) {
    case "in":
    case "notin":
      return requirement(key, operator.text, parseValues(peek, next), rulesOf[operator.text]);
    case "=":
    case "==":
      return requirement(key, "in", [parseExactValue(peek, next)], exactlyOne);
    case "!=":
      return requirement(key, "notin", [parseExactValue(peek, next)], exactlyOne);
    case ">":
      return requirement(key, "gt", [parseExactValue(peek, next)], rulesOf.gt);
    case "<":
      return requirement(key, "lt", [parseExactValue(peek, next)], rulesOf.lt);
    default:
      throw new Error(`found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

function parseExactValue(peek: () => Token, next: () => Token): string {
  const following = peek();
  if (following.kind === "end" || following.text === ",") return "";
  const token = next();
  if (!isIdentifier(token)) throw new Error(`found '${token.text}', expected: identifier`);
  return token.text;
}

function parseValues(peek: () => Token, next: () => Token): string[] {
  const open = next();
  if (open.text !== "(") throw new Error(`found '${open.text}' expected: '('`);
  const first = peek();
  if (first.text === ")") {
    next();
    return [""];
  }
  if (!isIdentifier(first) && first.text !== ",") {
    throw new Error(`found '${first.text}', expected: ',', ')' or identifier`);
  }
  const values = new Set<string>();
  for (;;) {
    const token = next();
    if (isIdentifier(token)) {
      values.add(token.text);
      const following = peek();
      if (following.text === ")") break;
      if (following.text !== ",") throw new Error(`found '${following.text}', expected: ',' or ')'`);
    } else if (token.text === ",") {
      // "(,a)", "(a,,b)" and "(a,)" all contain the empty value.
      const following = peek();
      if (values.size === 0 || following.text === ")" || following.text === ",") values.add("");
      if (following.text === ")") break;
    } else {
      throw new Error(`found '${token.text}', expected: ',', or identifier`);
    }
  }
  next();
  return [...values].toSorted();
}

type Rule = (values: readonly string[]) => string[];

const exactlyOne: Rule = (values) =>
  values.length === 1
    ? []
    : [`values: Invalid value: ${JSON.stringify(values)}: exact-match compatibility requires one single value`];
const someValues: Rule = (values) =>
  values.length > 0 ? [] : ["values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"];
const noValues: Rule = (values) =>
  values.length === 0
    ? []
    : [`values: Invalid value: ${JSON.stringify(values)}: values set must be empty for exists and does not exist`];
const oneInteger: Rule = (values) =>
  values.flatMap((value, index) =>
    parseInteger(value) === undefined
      ? [
          `values[${index}]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
        ]
      : [],
  );
const rulesOf: Readonly<Record<LabelOperator, Rule>> = {
  in: someValues,
  notin: someValues,
  exists: noValues,
  "!": noValues,
  gt: oneInteger,
  lt: oneInteger,
};
const operatorsOfObjects: Readonly<Record<string, LabelOperator | undefined>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

function requirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
  rule: Rule | undefined,
): LabelRequirement {
  const errors: string[] = [];
  const keyErrors = labelKeyErrors(key);
  if (keyErrors.length > 0) {
    errors.push(`key: Invalid value: ${JSON.stringify(key)}: ${keyErrors.join("; ")}`);
  }
  if (rule !== undefined) errors.push(...rule(values));
  for (const [index, value] of values.entries()) {
    const valueErrors = labelValueErrors(value);
    if (valueErrors.length > 0) {
      errors.push(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${valueErrors.join("; ")}`);
    }
  }
  if (errors.length === 1) throw new Error(errors[0]);
  if (errors.length > 1) throw new Error(`[${errors.join(", ")}]`);
  return { key, operator, values };
}

const inOrder = (requirements: readonly LabelRequirement[]): LabelSelector =>
  requirements.toSorted((a, b) => compareStrings(a.key, b.key));

function parseInteger(text: string): bigint | undefined {
  // Longer than any label value: BigInt takes more than linear time.
  if (text.length > maxValueLength || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

function compares(operator: "gt" | "lt", text: string, boundText: string | undefined): boolean {
  const value = parseInteger(text);
  const bound = boundText === undefined ? undefined : parseInteger(boundText);
  if (value === undefined || bound === undefined) return false;
  return operator === "gt" ? value > bound : value < bound;
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let term = "";
  let escaped = false;
  for (const character of text) {
    if (character === "," && !escaped) {
      terms.push(term);
      term = "";
      continue;
    }
    escaped = character === "\\" && !escaped;
    term += character;
  }
  return [...terms, term];
}

function unescapeValue(text: string): string {
  let value = "";
  let escaped = false;
  for (const character of text) {
    const special = character === "\\" || character === "," || character === "=";
    if (escaped && !special) throw new Error(`invalid field selector: invalid escape sequence: \\${character}`);
    if (!escaped && special && character !== "\\") {
      throw new Error(`invalid field selector: unescaped character in value: ${character.codePointAt(0) ?? 0}`);
    }
    if (escaped || !special) value += character;
    escaped = !escaped && special;
  }
  if (escaped) throw new Error("invalid field selector: invalid escape sequence: \\");
  return value;
}

/** Kubernetes' limit for the value of a label. */
const maxValueLength = 63;
const alphanumeric = "alphanumeric character";
const labelKeyPattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelKeyExpression = new RegExp(`^${labelKeyPattern}$`);
const labelKeyMessage = `must consist of ${alphanumeric}s, '-', '_' or '.', and must start and end with an ${alphanumeric}`;
const labelValueExpression = new RegExp(`^(${labelKeyPattern})?$`);
const labelValueMessage = `a valid label must be an empty string or consist of ${alphanumeric}s, '-', '_' or '.', and must start and end with an ${alphanumeric}`;
const subdomainPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const subdomainExpression = new RegExp(`^${subdomainPattern}$`);
const subdomainMessage = `a lowercase RFC 1123 subdomain must consist of lower case ${alphanumeric}s, '-' or '.', and must start and end with an ${alphanumeric}`;

const byteLength = (text: string): number => Buffer.byteLength(text);
const regexError = (message: string, pattern: string, examples: readonly string[]): string =>
  `${message} (e.g. ${examples.map((example) => `'${example}', `).join(" or ")}regex used for validation is '${pattern}')`;
