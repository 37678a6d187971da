type Rule = Readonly<{
  apiGroups?: readonly string[];
  resources?: readonly string[];
  resourceNames?: readonly string[];
  nonResourceURLs?: readonly string[];
  verbs: readonly string[];
}>;

export type BootstrapRole = Readonly<{ name: string; rules: readonly Rule[] }>;
export type BootstrapBinding = Readonly<{
  name: string;
  role: string;
  subject: Readonly<{ kind: "Group" | "User"; name: string }>;
}>;

const read = ["get", "list", "watch"];
const tenancy = "tenancy.kcp.io";

/** Roles that apply in every workspace; they are not visible there. */
export const commonRoles: readonly BootstrapRole[] = [
  {
    name: "cluster-admin",
    rules: [
      { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
      { nonResourceURLs: ["*"], verbs: ["*"] },
    ],
  },
  {
    name: "system:basic-user",
    rules: [
      {
        apiGroups: ["authorization.k8s.io"],
        resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        verbs: ["create"],
      },
      { apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"], verbs: ["create"] },
    ],
  },
  {
    name: "system:discovery",
    rules: [
      {
        nonResourceURLs: [
          "/api",
          "/api/*",
          "/apis",
          "/apis/*",
          "/healthz",
          "/livez",
          "/openapi",
          "/openapi/*",
          "/readyz",
          "/version",
          "/version/",
        ],
        verbs: ["get"],
      },
    ],
  },
  {
    name: "system:public-info-viewer",
    rules: [{ nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"], verbs: ["get"] }],
  },
  {
    name: "system:kcp:tenancy:reader",
    rules: [
      { apiGroups: [tenancy], resources: ["workspaces"], verbs: read },
      { apiGroups: [tenancy], resources: ["workspacetypes"], verbs: read },
      { apiGroups: ["core.kcp.io"], resources: ["logicalclusters"], verbs: read },
    ],
  },
  { name: "system:kcp:workspace:access", rules: [{ nonResourceURLs: ["/"], verbs: ["access"] }] },
];

export const commonBindings: readonly BootstrapBinding[] = [
  {
    name: "system:kcp:admin:cluster-admin",
    role: "cluster-admin",
    subject: { kind: "Group", name: "system:kcp:admin" },
  },
  { name: "system:basic-user", role: "system:basic-user", subject: { kind: "Group", name: "system:authenticated" } },
  { name: "system:discovery", role: "system:discovery", subject: { kind: "Group", name: "system:authenticated" } },
  {
    name: "system:public-info-viewer",
    role: "system:public-info-viewer",
    subject: { kind: "Group", name: "system:authenticated" },
  },
];

const bindRole = (name: string): BootstrapRole => ({
  name: `system:kcp:apiexport:${name}:bind`,
  rules: [
    { apiGroups: ["apis.kcp.io"], resources: ["apiexports"], resourceNames: [`${name}.kcp.io`], verbs: ["bind"] },
  ],
});

/** Roles of the root workspace, visible to its users. */
export const rootRoles: readonly BootstrapRole[] = [
  {
    name: "system:kcp:apiexport:kcp-admin:maximal-permission-policy",
    rules: [{ apiGroups: [tenancy], resources: ["*"], verbs: ["*"] }],
  },
  bindRole("tenancy"),
  {
    name: "system:kcp:apiexport:tenancy:maximal-permission-policy",
    rules: [
      {
        apiGroups: [tenancy],
        resources: ["workspaces", "workspaceauthenticationconfigurations", "workspacetypes"],
        verbs: ["*"],
      },
      {
        apiGroups: [tenancy],
        resources: ["workspaces/status", "workspacetypes/status"],
        verbs: ["list", "watch", "get"],
      },
    ],
  },
  bindRole("topology"),
  {
    name: "system:kcp:apiexport:topology:maximal-permission-policy",
    rules: [{ apiGroups: ["topology.kcp.io"], resources: ["partitions", "partitionsets"], verbs: ["*"] }],
  },
  {
    name: "system:kcp:universal-workspacetype-use",
    rules: [
      {
        apiGroups: [tenancy],
        resources: ["workspacetypes"],
        resourceNames: ["universal", "organization", "team"],
        verbs: ["use"],
      },
    ],
  },
];

const everyone = { kind: "Group", name: "system:authenticated" } as const;
const everyConsumer = { kind: "Group", name: "apis.kcp.io:binding:system:authenticated" } as const;

export const rootBindings: readonly BootstrapBinding[] = [
  {
    name: "system:kcp:authenticated:apiexport:kcp-admin:maximal-permission-policy",
    role: "system:kcp:apiexport:kcp-admin:maximal-permission-policy",
    subject: { kind: "Group", name: "apis.kcp.io:binding:system:kcp:admin" },
  },
  {
    name: "system:kcp:authenticated:apiexport:tenancy:bind",
    role: "system:kcp:apiexport:tenancy:bind",
    subject: everyone,
  },
  {
    name: "system:kcp:authenticated:apiexport:tenancy:maximal-permission-policy",
    role: "system:kcp:apiexport:tenancy:maximal-permission-policy",
    subject: everyConsumer,
  },
  {
    name: "system:kcp:authenticated:apiexport:topology:bind",
    role: "system:kcp:apiexport:topology:bind",
    subject: everyone,
  },
  {
    name: "system:kcp:authenticated:apiexport:topology:maximal-permission-policy",
    role: "system:kcp:apiexport:topology:maximal-permission-policy",
    subject: everyConsumer,
  },
  { name: "system:kcp:authenticated:tenancy:reader", role: "system:kcp:tenancy:reader", subject: everyone },
  {
    name: "system:kcp:authenticated:universal-workspacetype-use",
    role: "system:kcp:universal-workspacetype-use",
    subject: everyone,
  },
  { name: "system:kcp:tenancy:authenticated:access", role: "system:kcp:workspace:access", subject: everyone },
];
