/** Everything that a hostile tenant can know or guess, and refer to in a registration. */
export type Surroundings = Readonly<{
  /** The logical cluster and workspace of another tenant, and the name of its Secret in the namespace default. */
  victim: Readonly<{ cluster: string; path: string; secret: string }>;
  /** A server of the operator on this machine. */
  internal: string;
  /** URL of the tenant's own server; the path selects its behavior. */
  own: (behavior: string) => string;
  /** CA certificate of both servers. */
  ca: string;
  /** A file that exists only if a program was run. */
  trace: string;
}>;

/** One registration of a hostile tenant, and its expected Ready condition. */
export type HostileRow = Readonly<{
  /** Content of the Secret that the registration refers to, if it refers to one of its own. */
  secret?: ((around: Surroundings) => Readonly<Record<string, string>>) | undefined;
  /** Fields of the registration's spec that are added to, or replace, the reference to that Secret. */
  spec?: ((around: Surroundings) => object) | undefined;
  /** Status and reason of the Ready condition, such as `False EndpointNotAllowed`. */
  ready: string;
  /** The message of the condition, or a part of it. */
  says: string;
  /** The message in the controller, if it differs because the controller does not support Secrets Manager. */
  controllerSays?: string;
}>;

/** Contained in every secret of the rows. It must not appear in the log, metrics, queue messages or any object that TMC writes. */
export const marker = "s3cr3t";
const token = `${marker}-token`;

/** Returns a valid kubeconfig with the given changes. */
function kubeconfig(server: string, ca: string, cluster: object = {}, user: object = { token }): string {
  const authority = { "certificate-authority-data": Buffer.from(ca).toString("base64") };
  return JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server, ...authority, ...cluster } }],
    users: [{ name: "u", user }],
  });
}

const kubeconfigFor = (server: string | ((around: Surroundings) => string)): Pick<HostileRow, "secret"> => ({
  secret: (around) => ({ kubeconfig: kubeconfig(typeof server === "string" ? server : server(around), around.ca) }),
});
const metadataRejected = {
  ready: "False EndpointNotAllowed",
  says: "the server is not allowed: its address is link-local or belongs to a metadata service",
};

/** The addresses to which the host names of the rows resolve. */
export const hostileNames: Readonly<Record<string, readonly string[]>> = {
  "innocent.example.com": ["169.254.169.254"],
  "mixed.example.com": ["203.0.113.7", "169.254.169.254"],
  "mapped.example.com": ["::ffff:169.254.169.254"],
  "translated.example.com": ["64:ff9b::a9fe:a9fe"],
  "six.example.com": ["fd00:ec2::254"],
  "near.example.com": ["127.0.0.1"],
};

/** The metadata address in all its notations. It is rejected even if the operator allows private endpoints. */
const metadataServers: Readonly<Record<string, string>> = {
  "a metadata address": "https://169.254.169.254",
  "a metadata address with a path and a port": "https://169.254.169.254:443/latest/meta-data",
  "a metadata address as a number": "https://2852039166",
  "a metadata address in hexadecimal": "https://0xa9fea9fe",
  "a metadata address in octal": "https://0251.0376.0251.0376",
  "a metadata address with omitted parts": "https://169.254.43518",
  "a metadata address with a trailing dot": "https://169.254.169.254.",
  "a metadata address in Unicode digits": "https://①⑥⑨.254.169.254",
  "a metadata address as an IPv4-mapped IPv6 address": "https://[::ffff:169.254.169.254]",
  "a metadata address as an IPv4-mapped IPv6 address in hexadecimal": "https://[::ffff:a9fe:a9fe]",
  "a metadata address behind NAT64": "https://[64:ff9b::169.254.169.254]",
  "a metadata address behind local-use NAT64": "https://[64:ff9b:1::a9fe:a9fe]",
  "a metadata address behind 6to4": "https://[2002:a9fe:a9fe::1]",
  "an IPv6 metadata address": "https://[fd00:ec2::254]",
  "an IPv6 link-local address": "https://[fe80::a9fe:a9fe]",
  "a name that resolves to a metadata address": "https://innocent.example.com",
  "a name that resolves to a metadata address among others": "https://mixed.example.com",
  "a name that resolves to an IPv4-mapped metadata address": "https://mapped.example.com",
  "a name that resolves to a metadata address behind NAT64": "https://translated.example.com",
  "a name that resolves to an IPv6 metadata address": "https://six.example.com",
};

const metadataRows: Readonly<Record<string, HostileRow>> = Object.fromEntries([
  ...Object.entries(metadataServers).map(([what, server]) => [what, { ...kubeconfigFor(server), ...metadataRejected }]),
  ...Object.entries(metadataServers).map(([what, server]) => [
    `${what} in spec.endpoint`,
    { secret: () => ({ token, server }), spec: () => ({ endpoint: { server } }), ...metadataRejected },
  ]),
]);

const rejectedName = {
  ready: "False EndpointNotAllowed",
  says: "the server is not allowed: its name belongs to a metadata service",
};

const secretIn =
  (namespace: (around: Surroundings) => string): HostileRow["spec"] =>
  (around) => ({
    credentials: { secretRef: { namespace: namespace(around), name: around.victim.secret } },
  });

/** References to objects of another tenant. */
const otherTenantRows: Readonly<Record<string, HostileRow>> = {
  "the name of another tenant's secret": {
    spec: secretIn(() => "default"),
    ready: "False ClusterNotConfigured",
    says: "secret default/kubeconfig does not exist",
  },
  "another tenant's workspace as a namespace": {
    spec: secretIn(({ victim }) => victim.path),
    ready: "False ClusterNotConfigured",
    says: "does not exist",
  },
  "another tenant's logical cluster as a namespace": {
    spec: secretIn(({ victim }) => victim.cluster),
    ready: "False ClusterNotConfigured",
    says: "does not exist",
  },
  "a path traversal into another tenant's workspace as a namespace": {
    spec: secretIn(({ victim }) => `../../../../${victim.cluster}/api/v1/namespaces/default`),
    ready: "False ClusterNotConfigured",
    says: ": invalid name",
  },
  "an escaped path traversal as a namespace": {
    spec: secretIn(({ victim }) => `..%2f..%2f..%2f..%2f${victim.cluster}%2fapi%2fv1%2fnamespaces`),
    ready: "False ClusterNotConfigured",
    says: ": invalid name",
  },
  "a wildcard as a namespace": {
    spec: secretIn(() => "*"),
    ready: "False ClusterNotConfigured",
    says: "does not exist",
  },
  "another tenant's secret in Secrets Manager": {
    spec: ({ victim }) => ({ credentials: { secretsManager: { name: `tmc/test/kcp/${victim.cluster}/east` } } }),
    ready: "False ClusterNotConfigured",
    says: "does not exist in AWS Secrets Manager",
    controllerSays: "spec.credentials.secretsManager is not enabled on this installation",
  },
};

const rejectedKubeconfig = (
  says: string,
  change: (around: Surroundings) => Readonly<{ cluster?: object; user?: object }>,
): HostileRow => ({
  secret: (around) => {
    const { cluster, user } = change(around);
    return { kubeconfig: kubeconfig(around.own("healthy"), around.ca, cluster, user) };
  },
  ready: "False CredentialsInvalid",
  says,
});

/** Kubeconfigs that would make TMC do more than send a token to a server. */
const kubeconfigRows: Readonly<Record<string, HostileRow>> = {
  "a kubeconfig that runs a program": rejectedKubeconfig("exec runs a program", ({ trace }) => ({
    user: {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        interactiveMode: "Never",
        command: "/bin/sh",
        args: ["-c", `echo ${marker} > ${trace}`],
      },
    },
  })),
  "a kubeconfig with a token that also runs a program": rejectedKubeconfig("exec runs a program", ({ trace }) => ({
    user: { token, exec: { apiVersion: "client.authentication.k8s.io/v1", command: "touch", args: [trace] } },
  })),
  "a kubeconfig with an auth-provider": rejectedKubeconfig(
    "auth-provider runs a login of its own",
    ({ internal, trace }) => ({
      user: {
        "auth-provider": {
          name: "oidc",
          config: { "idp-issuer-url": internal, "cmd-path": `touch ${trace}`, "client-secret": marker },
        },
      },
    }),
  ),
  "a token in a local file": rejectedKubeconfig("tokenFile names a file", () => ({
    user: { tokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token" },
  })),
  "a client certificate in a local file": rejectedKubeconfig(
    "client-certificate names a file; client-key names a file",
    () => ({
      user: { "client-certificate": "/etc/ssl/tmc.crt", "client-key": "/etc/ssl/tmc.key" },
    }),
  ),
  "a CA certificate in a local file": rejectedKubeconfig("certificate-authority names a file", () => ({
    cluster: { "certificate-authority": "/etc/passwd" },
  })),
  "a server without TLS verification": rejectedKubeconfig(
    "insecure-skip-tls-verify turns off the check of the server",
    () => ({
      cluster: { "insecure-skip-tls-verify": true },
    }),
  ),
  "a proxy": rejectedKubeconfig("proxy-url is not supported", ({ internal }) => ({
    cluster: { "proxy-url": internal },
  })),
  "a user name and password": rejectedKubeconfig("password login is not supported", () => ({
    user: { username: "admin", password: marker },
  })),
  "an invalid client key": rejectedKubeconfig("client-key-data: is not pem", ({ ca }) => ({
    user: { "client-certificate-data": Buffer.from(ca).toString("base64"), "client-key-data": btoa(marker) },
  })),
  "a server without TLS": {
    ...kubeconfigFor(({ internal }) => internal.replace("https:", "http:")),
    ready: "False CredentialsInvalid",
    says: "server is not https",
  },
  "a server URL with credentials": {
    ...kubeconfigFor(({ internal }) => internal.replace("https://", `https://user:${marker}@`)),
    ready: "False CredentialsInvalid",
    says: "has credentials in its URL",
  },
  "text that is not a kubeconfig": {
    secret: () => ({ kubeconfig: `{ users: [{ token: ${marker} }` }),
    ready: "False CredentialsInvalid",
    says: "is not yaml",
  },
  "a context that does not exist": {
    secret: () => ({ kubeconfig: JSON.stringify({ "current-context": "x", users: [{ user: { token } }] }) }),
    ready: "False CredentialsInvalid",
    says: 'context "x": not found',
  },
};

const notFollowed = (code: number): HostileRow => ({
  ...kubeconfigFor(({ own }) => own(`redirect-${code}`)),
  ready: "False ClusterUnhealthy",
  says: `/readyz returned ${code}: redirects are not followed`,
});

/** Misbehaving servers of the tenant; they require that tenants may use servers on this machine. */
const serverRows: Readonly<Record<string, HostileRow>> = {
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((code) => [`a server that redirects by ${code}`, notFollowed(code)]),
  ),
  "a server that redirects to the metadata service": {
    ...kubeconfigFor(({ own }) => own("redirect-metadata")),
    ready: "False ClusterUnhealthy",
    says: "/readyz returned 302: redirects are not followed",
  },
  "a healthy server that redirects all other requests": {
    ...kubeconfigFor(({ own }) => own("healthy")),
    // It does not say which cluster it is.
    ready: "False ClusterUnhealthy",
    says: "redirects are not followed",
  },
  "a server that returns the token in its response": {
    ...kubeconfigFor(({ own }) => own("echo")),
    ready: "False ClusterUnhealthy",
    says: "/readyz returned 500: … failed",
  },
};

/** Rows for an operator that allows private endpoints. */
export const rowsOfOpenNetwork: Readonly<Record<string, HostileRow>> = {
  ...metadataRows,
  "the name of a metadata service": { ...kubeconfigFor("https://metadata.google.internal"), ...rejectedName },
  ...otherTenantRows,
  ...kubeconfigRows,
  ...serverRows,
};

const privateRejected = {
  ready: "False EndpointNotAllowed",
  says: "the server is not allowed: its address is in a private network",
};

/** Rows for the default settings, which reject servers in the operator's network. */
export const rowsOfClosedNetwork: Readonly<Record<string, HostileRow>> = {
  ...metadataRows,
  "a server in the operator's network": { ...kubeconfigFor(({ internal }) => internal), ...privateRejected },
  "a name that resolves to a server in the operator's network": {
    ...kubeconfigFor(({ internal }) => internal.replace("127.0.0.1", "near.example.com")),
    ...privateRejected,
  },
  "localhost as the server": {
    ...kubeconfigFor(({ internal }) => internal.replace("127.0.0.1", "localhost")),
    ready: "False EndpointNotAllowed",
    says: "the server is not allowed: its name is localhost",
  },
  "a server in the operator's network as an IPv4-mapped IPv6 address": {
    ...kubeconfigFor(({ internal }) => internal.replace("127.0.0.1", "[::ffff:127.0.0.1]")),
    ...privateRejected,
  },
};
