/** What a hostile tenant can know or guess of the world, and name in a registration. */
export type Surroundings = Readonly<{
  /** Another tenant's logical cluster and workspace, and the name of the secret in it, in the namespace default. */
  victim: Readonly<{ cluster: string; path: string; secret: string }>;
  /** A server on this machine that has nothing to do with tenants. */
  internal: string;
  /** The tenant's own server, at the path that has it behave in a certain way. */
  own: (behaviour: string) => string;
  /** Of both servers. */
  ca: string;
  /** A file that would be there if a program had been run. */
  trace: string;
}>;

/** One registration of a hostile tenant, and what becomes of it. */
export type HostileRow = Readonly<{
  /** What is in the secret that the registration names, where it names its own. */
  secret?: ((around: Surroundings) => Readonly<Record<string, string>>) | undefined;
  /** What stands in the registration's spec besides, or in place of, the reference to that secret. */
  spec?: ((around: Surroundings) => object) | undefined;
  /** The condition Ready: `False EndpointNotAllowed`. */
  ready: string;
  /** Its message, or part of it. */
  says: string;
  /** Where credentials are in Secrets Manager, it is not offered by the controller: what that says. */
  controllerSays?: string;
}>;

/** In every secret of the rows; it may be in no text that leaves the tenant's workspace, and in none that is written there. */
export const marker = "s3cr3t";
const token = `${marker}-token`;

/** A kubeconfig that would do, but for what is changed in it. */
function kubeconfig(server: string, ca: string, cluster: object = {}, user: object = { token }): string {
  const authority = { "certificate-authority-data": Buffer.from(ca).toString("base64") };
  return JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server, ...authority, ...cluster } }],
    users: [{ name: "u", user }],
  });
}

const leadsTo = (server: string | ((around: Surroundings) => string)): Pick<HostileRow, "secret"> => ({
  secret: (around) => ({ kubeconfig: kubeconfig(typeof server === "string" ? server : server(around), around.ca) }),
});
const metadataRefused = {
  ready: "False EndpointNotAllowed",
  says: "the server is refused: its address is link-local or a metadata service's",
};

/** Where the names of the rows lead; the name of the machine itself stands for whatever listens there. */
export const hostileNames: Readonly<Record<string, readonly string[]>> = {
  "innocent.example.com": ["169.254.169.254"],
  "mixed.example.com": ["203.0.113.7", "169.254.169.254"],
  "mapped.example.com": ["::ffff:169.254.169.254"],
  "translated.example.com": ["64:ff9b::a9fe:a9fe"],
  "six.example.com": ["fd00:ec2::254"],
  "near.example.com": ["127.0.0.1"],
};

/** An address of the machine's own credentials in all its disguises; refused even where everything else is allowed. */
const metadataServers: Readonly<Record<string, string>> = {
  "a metadata address": "https://169.254.169.254",
  "a metadata address with a path and a port": "https://169.254.169.254:443/latest/meta-data",
  "a metadata address as a number": "https://2852039166",
  "a metadata address in hexadecimal": "https://0xa9fea9fe",
  "a metadata address in octal": "https://0251.0376.0251.0376",
  "a metadata address with parts left out": "https://169.254.43518",
  "a metadata address with a dot behind it": "https://169.254.169.254.",
  "a metadata address in other digits": "https://①⑥⑨.254.169.254",
  "a metadata address inside of IPv6": "https://[::ffff:169.254.169.254]",
  "the same in hexadecimal": "https://[::ffff:a9fe:a9fe]",
  "a metadata address behind a translator": "https://[64:ff9b::169.254.169.254]",
  "a metadata address behind a translator of the network's own": "https://[64:ff9b:1::a9fe:a9fe]",
  "a metadata address through a relay of 6to4": "https://[2002:a9fe:a9fe::1]",
  "a metadata address of IPv6": "https://[fd00:ec2::254]",
  "a link-local address of IPv6": "https://[fe80::a9fe:a9fe]",
  "a name that leads to a metadata address": "https://innocent.example.com",
  "a name that leads to a metadata address among others": "https://mixed.example.com",
  "a name that leads to one inside of IPv6": "https://mapped.example.com",
  "a name that leads to one behind a translator": "https://translated.example.com",
  "a name that leads to one of IPv6": "https://six.example.com",
};

const metadataRows: Readonly<Record<string, HostileRow>> = Object.fromEntries([
  ...Object.entries(metadataServers).map(([what, server]) => [what, { ...leadsTo(server), ...metadataRefused }]),
  ...Object.entries(metadataServers).map(([what, server]) => [
    `${what}, in the registration itself`,
    { secret: () => ({ token }), spec: () => ({ endpoint: { server } }), ...metadataRefused },
  ]),
]);

const refusedName = {
  ready: "False EndpointNotAllowed",
  says: "the server is refused: its name is a metadata service's",
};

const secretIn =
  (namespace: (around: Surroundings) => string): HostileRow["spec"] =>
  (around) => ({
    credentials: { secretRef: { namespace: namespace(around), name: around.victim.secret } },
  });

/** What belongs to another tenant. */
const strangersRows: Readonly<Record<string, HostileRow>> = {
  "the name of another tenant's secret": {
    spec: secretIn(() => "default"),
    ready: "False ClusterNotConfigured",
    says: "secret default/kubeconfig is not there",
  },
  "another tenant's workspace as a namespace": {
    spec: secretIn(({ victim }) => victim.path),
    ready: "False ClusterNotConfigured",
    says: "is not there",
  },
  "another tenant's logical cluster as a namespace": {
    spec: secretIn(({ victim }) => victim.cluster),
    ready: "False ClusterNotConfigured",
    says: "is not there",
  },
  "a way up and down into another tenant's workspace as a namespace": {
    spec: secretIn(({ victim }) => `../../../../${victim.cluster}/api/v1/namespaces/default`),
    ready: "False ClusterNotConfigured",
    says: "is not the name of a secret",
  },
  "the same way in disguise": {
    spec: secretIn(({ victim }) => `..%2f..%2f..%2f..%2f${victim.cluster}%2fapi%2fv1%2fnamespaces`),
    ready: "False ClusterNotConfigured",
    says: "is not the name of a secret",
  },
  "all namespaces at once": {
    spec: secretIn(() => "*"),
    ready: "False ClusterNotConfigured",
    says: "is not there",
  },
  "another tenant's secret in Secrets Manager": {
    spec: ({ victim }) => ({ credentials: { secretsManager: { name: `tmc/${victim.cluster}/east` } } }),
    ready: "False ClusterNotConfigured",
    says: "there is no secret tmc/",
    controllerSays: "credentials of the kind secretsManager are not offered here",
  },
};

const refusedConfig = (
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

/** Kubeconfigs that would have us do something else than to send a token to a server. */
const kubeconfigRows: Readonly<Record<string, HostileRow>> = {
  "a program": refusedConfig("exec runs a program", ({ trace }) => ({
    user: {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        interactiveMode: "Never",
        command: "/bin/sh",
        args: ["-c", `echo ${marker} > ${trace}`],
      },
    },
  })),
  "a program beside a token": refusedConfig("exec runs a program", ({ trace }) => ({
    user: { token, exec: { apiVersion: "client.authentication.k8s.io/v1", command: "touch", args: [trace] } },
  })),
  "a login of its own": refusedConfig("auth-provider runs a login of its own", ({ internal, trace }) => ({
    user: {
      "auth-provider": {
        name: "oidc",
        config: { "idp-issuer-url": internal, "cmd-path": `touch ${trace}`, "client-secret": marker },
      },
    },
  })),
  "a token in a file of ours": refusedConfig("tokenFile names a file", () => ({
    user: { tokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token" },
  })),
  "a certificate in a file of ours": refusedConfig("client-certificate names a file; client-key names a file", () => ({
    user: { "client-certificate": "/etc/ssl/tmc.crt", "client-key": "/etc/ssl/tmc.key" },
  })),
  "an authority in a file of ours": refusedConfig("certificate-authority names a file", () => ({
    cluster: { "certificate-authority": "/etc/passwd" },
  })),
  "a server that nobody checks": refusedConfig("insecure-skip-tls-verify turns off the check of the server", () => ({
    cluster: { "insecure-skip-tls-verify": true },
  })),
  "a proxy of its choice": refusedConfig("proxy-url is not supported", ({ internal }) => ({
    cluster: { "proxy-url": internal },
  })),
  "a password": refusedConfig("password login is not supported", () => ({
    user: { username: "admin", password: marker },
  })),
  "a key that is none": refusedConfig("client-key-data: is not pem", ({ ca }) => ({
    user: { "client-certificate-data": Buffer.from(ca).toString("base64"), "client-key-data": btoa(marker) },
  })),
  "a server without TLS": {
    ...leadsTo(({ internal }) => internal.replace("https:", "http:")),
    ready: "False CredentialsInvalid",
    says: "server is not https",
  },
  "a server with credentials in its address": {
    ...leadsTo(({ internal }) => internal.replace("https://", `https://user:${marker}@`)),
    ready: "False CredentialsInvalid",
    says: "carries credentials in its URL",
  },
  "text that is no kubeconfig": {
    secret: () => ({ kubeconfig: `{ users: [{ token: ${marker} }` }),
    ready: "False CredentialsInvalid",
    says: "is not yaml",
  },
  "a context that is not there": {
    secret: () => ({ kubeconfig: JSON.stringify({ "current-context": "x", users: [{ user: { token } }] }) }),
    ready: "False CredentialsInvalid",
    says: 'context "x": not found',
  },
};

const notFollowed = (code: number): HostileRow => ({
  ...leadsTo(({ own }) => own(`redirect-${code}`)),
  ready: "False ClusterUnhealthy",
  says: `/readyz answers ${code}: redirects are not followed`,
});

/** Servers of the tenant's own that misbehave; only where tenants may name servers on this machine. */
const serverRows: Readonly<Record<string, HostileRow>> = {
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((code) => [`a server that redirects by ${code}`, notFollowed(code)]),
  ),
  "a server that redirects to the metadata service": {
    ...leadsTo(({ own }) => own("redirect-metadata")),
    ready: "False ClusterUnhealthy",
    says: "/readyz answers 302: redirects are not followed",
  },
  "a server that is well and redirects all other questions": {
    ...leadsTo(({ own }) => own("healthy")),
    ready: "True ClusterReady",
    says: "the cluster answers and says that it is ready",
  },
  "a server that says the token back": {
    ...leadsTo(({ own }) => own("echo")),
    ready: "False ClusterUnhealthy",
    says: "/readyz answers 500: … failed",
  },
};

/** Rows that hold where the operator lets tenants name servers anywhere. */
export const rowsOfOpenNetwork: Readonly<Record<string, HostileRow>> = {
  ...metadataRows,
  "the name of a metadata service": { ...leadsTo("https://metadata.google.internal"), ...refusedName },
  ...strangersRows,
  ...kubeconfigRows,
  ...serverRows,
};

const privateRefused = {
  ready: "False EndpointNotAllowed",
  says: "the server is refused: its address is in a private network",
};

/** Rows that hold where nothing is said: servers of the operator's own network. */
export const rowsOfClosedNetwork: Readonly<Record<string, HostileRow>> = {
  ...metadataRows,
  "a server of the operator's": { ...leadsTo(({ internal }) => internal), ...privateRefused },
  "the same, by a name that leads there": {
    ...leadsTo(({ internal }) => internal.replace("127.0.0.1", "near.example.com")),
    ...privateRefused,
  },
  "the same, by the name of the machine": {
    ...leadsTo(({ internal }) => internal.replace("127.0.0.1", "localhost")),
    ready: "False EndpointNotAllowed",
    says: "the server is refused: its name is this machine's",
  },
  "the same, inside of IPv6": {
    ...leadsTo(({ internal }) => internal.replace("127.0.0.1", "[::ffff:127.0.0.1]")),
    ...privateRefused,
  },
};
