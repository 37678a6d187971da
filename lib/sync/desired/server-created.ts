/** The type of Secret that holds a service account's token. */
const tokenType = "kubernetes.io/service-account-token";

/** Tells whether every server makes an object of this kind and name by itself, in every namespace. */
export function isServerMade(kind: string, name: string): boolean {
  return (
    (kind === "ServiceAccount" && name === "default") ||
    (kind === "ConfigMap" && (name === "kube-root-ca.crt" || name === "openshift-service-ca.crt"))
  );
}

/** Tells whether a Secret holds a token, by its type: it opens the doors of the server that made it, and no other's. */
export function isTokenSecret(secret: Readonly<{ kind: string; type?: unknown }>): boolean {
  return secret.kind === "Secret" && secret.type === tokenType;
}

/** Tells whether a Secret that an account lists was made for it by a server: `web-token-x7k2p`, `web-dockercfg-9d8fz`. */
export function isGeneratedToken(secret: string, account: string): boolean {
  const rest = secret.startsWith(`${account}-`) ? secret.slice(account.length + 1) : "";
  return /^(token|dockercfg)-[a-z0-9]{5}$/.test(rest);
}
