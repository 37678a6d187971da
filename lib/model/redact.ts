/** What stands in a log line in place of a secret. */
export const redacted = "[redacted]";

/** Words that make a field's name that of a secret, wherever they stand in it. */
const secretWords = new Set([
  "token",
  "tokens",
  "kubeconfig",
  "kubeconfigs",
  "password",
  "passwd",
  "passphrase",
  "authorization",
  "data",
  "secret",
  "secrets",
  "credential",
  "credentials",
  "cookie",
]);

/** The same in names that are written without a break, such as `accesstoken`. */
const secretParts =
  /token|kubeconfig|password|passwd|authorization|credential|privatekey|clientkey|apikey|accesskey|keydata/;

/** Last words of names that only speak about a secret: `credentialsExpire`, `tokenName`. */
const harmlessLastWords = new Set([
  "name",
  "namespace",
  "ref",
  "expire",
  "expires",
  "seconds",
  "count",
  "path",
  "version",
]);

/** Says whether a field of this name is never to be shown, however it is written: `clientKeyData`, `client-key-data`. */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  if (words.length > 1 && harmlessLastWords.has(words.at(-1) ?? "")) return false;
  return words.some((word) => secretWords.has(word)) || secretParts.test(words.join(""));
}

/** Secrets as they turn up inside of other people's words. Each pattern keeps what leads up to the secret. */
const secretTexts: readonly Readonly<{ pattern: RegExp; keep: string }>[] = [
  { pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, keep: "" },
  { pattern: /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, keep: "$1 " },
  { pattern: /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, keep: "" },
  // A token for EKS, and what makes a signed URL of AWS one that anybody can use.
  { pattern: /(\bk8s-aws-v1\.)[\w-]+/g, keep: "$1" },
  { pattern: /(\bX-Amz-(?:Signature|Credential|Security-Token)=)[^\s"'&]+/gi, keep: "$1" },
  { pattern: /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]*@/gi, keep: "$1" },
  {
    // A line of a kubeconfig or of a Secret, a query, a command's option.
    pattern:
      /((?:\b|_|-)(?:token|password|passwd|secret|(?:client-)?key-data|client-certificate-data|authorization|api-?key|access-?key)["']?\s*[:=]\s*["']?)[^\s"',;&}]+/gi,
    keep: "$1",
  },
];

/** Takes out of a text what looks like a secret, wherever it came from. */
export function redactText(text: string): string {
  let clean = text;
  for (const { pattern, keep } of secretTexts) clean = clean.replace(pattern, `${keep}${redacted}`);
  return clean;
}
