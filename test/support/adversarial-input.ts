/**
 * Texts that make careless parsers slow: long runs of one token, with and without an ending that forces a regular expression
 * to backtrack, and nested or self-referencing documents. Each is a function of the approximate length.
 */
export type AdversarialInput = Readonly<{ name: string; text: (length: number) => string }>;

/** Tokens that parsers of URLs, selectors, quantities, durations, versions, templates, JSON and YAML treat specially. */
const tokens: readonly string[] = [
  "/",
  " ",
  "\t",
  "\n",
  ".",
  ":",
  ",",
  "-",
  "a",
  "0",
  "9",
  "=",
  "!",
  "~1",
  "\\",
  '"',
  "'",
  "[",
  "{",
  "{name}",
  "(",
  "&a ",
  "*a ",
  "%",
  "|",
  "#",
  "<",
  "Bearer ",
  "eyJ",
  "eyJa.",
  "token: ",
  "-----BEGIN PRIVATE KEY-----",
  "a.",
  "a-",
  "a=b,",
  "1.",
  "1m",
  "1h",
  "://",
  "@",
  "a@",
  "é",
  "\u{1F600}",
];

/** Openings after which the tokens repeat, so that they are not at the start of the text. */
const prefixes: readonly string[] = ["", "https://h/x", "a"];
/** An ending that no grammar accepts makes a regular expression try every way to match. */
const suffixes: readonly string[] = ["", "\u0000"];

const repeat = (token: string, length: number): string => token.repeat(Math.max(1, Math.floor(length / token.length)));
const lines = (line: (at: number) => string, length: number): string => {
  let text = "";
  for (let at = 0; text.length < length; at += 1) text += `${line(at)}\n`;
  return text;
};

const runs: readonly AdversarialInput[] = tokens.flatMap((token) =>
  prefixes.flatMap((prefix) =>
    suffixes.map((suffix) => ({
      name: JSON.stringify(`${prefix}${token}…${suffix}`),
      text: (length: number) => prefix + repeat(token, length) + suffix,
    })),
  ),
);

const documents: readonly AdversarialInput[] = [
  { name: "nested lists", text: (length) => "[".repeat(length / 2) + "]".repeat(length / 2) },
  { name: "nested objects", text: (length) => `${repeat('{"a":', length)}1${"}".repeat(length / 5)}` },
  { name: "empty lists", text: (length) => `[${repeat("[],", length)}[]]` },
  { name: "an object of empty lists", text: (length) => `{"a":[${repeat("[],", length)}[]]}` },
  { name: "many fields", text: (length) => lines((at) => `k${at}: v`, length) },
  { name: "equal fields", text: (length) => lines(() => "k: v", length) },
  { name: "a long list", text: (length) => lines((at) => `- ${at}`, length) },
  { name: "indented further and further", text: (length) => lines((at) => `${" ".repeat(at)}a:`, length) },
  { name: "many anchors", text: (length) => lines((at) => `k${at}: &a${at} v`, length) },
  {
    name: "aliases of aliases",
    text: (length) =>
      lines((at) => (at === 0 ? "a0: &a0 [x]" : `a${at}: &a${at} [${`*a${at - 1},`.repeat(9)}x]`), length),
  },
  {
    name: "merges of one large map",
    text: (length) => `a: &a\n${lines((at) => `  k${at}: v`, length / 2)}b:\n  <<: [${repeat("*a, ", length / 2)}*a]\n`,
  },
  { name: "an ordered map", text: (length) => `a: !!omap\n${lines((at) => `  - k${at}: v`, length)}` },
  { name: "a list of pairs", text: (length) => `a: !!pairs\n${lines((at) => `  - k${at}: v`, length)}` },
  { name: "a folded text", text: (length) => `a: >\n${lines(() => "  x", length)}` },
  { name: "a plain text of many lines", text: (length) => `a: x\n${lines(() => "  x", length)}` },
  { name: "escapes", text: (length) => `a: "${repeat("\\u0041", length)}"` },
  {
    name: "a kubeconfig with a long server",
    text: (length) => kubeconfig(`https://h/x${repeat("/", length)}x`),
  },
  {
    name: "a kubeconfig with many contexts",
    text: (length) =>
      `current-context: x\ncontexts:\n${lines((at) => `- {name: c${at}, context: {cluster: c${at}}}`, length)}`,
  },
  { name: "a kubeconfig with a long token", text: (length) => kubeconfig("https://h", repeat("a.", length)) },
];

function kubeconfig(server: string, token = "t"): string {
  return JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: { token } }],
  });
}

export const adversarialInputs: readonly AdversarialInput[] = [...runs, ...documents];
