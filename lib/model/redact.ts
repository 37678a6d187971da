export const redacted = "[redacted]";

/** Words that mark a field name as secret at any position. */
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

/** The same for names without word boundaries, such as `accesstoken`. */
const secretParts =
  /token|kubeconfig|password|passwd|authorization|credential|privatekey|clientkey|apikey|accesskey|keydata/;

/** Last words of names that only describe a secret: `credentialsExpire`, `tokenName`. */
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

/** Whether a field of this name holds a secret, in any notation: `clientKeyData`, `client-key-data`. */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  if (words.length > 1 && harmlessLastWords.has(words.at(-1) ?? "")) return false;
  return words.some((word) => secretWords.has(word)) || secretParts.test(words.join(""));
}

/** Patterns of secrets inside longer texts. `keep` is the part before the secret that stays. */
const secretTexts: readonly Readonly<{ pattern: RegExp; keep: string }>[] = [
  { pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, keep: "" },
  { pattern: /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, keep: "$1 " },
  { pattern: /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, keep: "" },
  // EKS tokens, and the parameters that make a presigned AWS URL usable.
  { pattern: /(\bk8s-aws-v1\.)[\w-]+/g, keep: "$1" },
  { pattern: /(\bX-Amz-(?:Signature|Credential|Security-Token)=)[^\s"'&]+/gi, keep: "$1" },
  // A scheme has a few letters: without a limit, a text without "://" would take quadratic time.
  { pattern: /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@:]*:[^\s/@]*@/gi, keep: "$1" },
  {
    // Lines of a kubeconfig or Secret, query parameters, command line options.
    pattern:
      /((?:\b|_|-)(?:token|password|passwd|secret|(?:client-)?key-data|client-certificate-data|authorization|api-?key|access-?key)["']?\s*[:=]\s*["']?)[^\s"',;&}]+/gi,
    keep: "$1",
  },
];

/** Replaces everything in a text that may be a secret. */
export function redactText(text: string): string {
  let result = text;
  for (const { pattern, keep } of secretTexts) result = result.replace(pattern, `${keep}${redacted}`);
  return result;
}
