import { dump } from "js-yaml";

export type KubeconfigUser = Readonly<{ token: string } | { certificate: string; key: string }>;

/** A kubeconfig as text: one user, one context per server, the first of them current. */
export function formatKubeconfig(ca: string, user: KubeconfigUser, servers: Readonly<Record<string, string>>): string {
  const names = Object.keys(servers);
  return dump({
    apiVersion: "v1",
    kind: "Config",
    clusters: Object.entries(servers).map(([name, server]) => ({
      name,
      cluster: { server, "certificate-authority-data": encode(ca) },
    })),
    users: [
      {
        name: "admin",
        user:
          "token" in user
            ? { token: user.token }
            : { "client-certificate-data": encode(user.certificate), "client-key-data": encode(user.key) },
      },
    ],
    contexts: names.map((name) => ({ name, context: { cluster: name, user: "admin" } })),
    "current-context": names[0] ?? "",
  });
}

function encode(pem: string): string {
  return Buffer.from(pem).toString("base64");
}
