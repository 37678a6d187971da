import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { exportWorkspace } from "../../lib/api/group.ts";
import { syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { tmc } from "../lib/cli/support.ts";
import { eventually } from "../support/eventually.ts";
import { type ControllerProcess, startController } from "./controller-process.ts";
import type { Parts, SuiteSettings } from "./environment.ts";
import { type Tenant, tenantOf } from "./tenant.ts";

const workspace = "root:joined";
const core = (plural: string): ResourceType => ({ group: "", version: "v1", plural });
const configMaps = core("configmaps");
const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const clusterRoles: ResourceType = { group: "rbac.authorization.k8s.io", version: "v1", plural: "clusterroles" };
const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { color: "green" } };
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels: { app: "web" } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "web:1", envFrom: [{ configMapRef: { name: "settings" } }] }] },
    },
  },
};

/** Somebody else's object, which the account may write by its role. */
const theirs = (apiVersion: string, kind: string) => ({ apiVersion, kind, metadata: { name: "theirs" } });

export type ClusterAccessSettings = SuiteSettings &
  Readonly<{
    /** Whether the cluster enforces admission policies. */
    hasPolicies: boolean;
  }>;

const rulesReviews: ResourceType = { group: "authorization.k8s.io", version: "v1", plural: "selfsubjectrulesreviews" };

/** What a server says that a user may do. */
type Rules = Readonly<{
  incomplete: boolean;
  resourceRules: readonly Readonly<{
    verbs: readonly string[];
    apiGroups: readonly string[];
    resources: readonly string[];
    resourceNames?: readonly string[];
  }>[];
}>;

const write = "create delete get list patch update watch";
/** The verbs by type, with what Kubernetes allows to every authenticated user. */
const allowedByRole: Readonly<Record<string, string>> = {
  configmaps: write,
  "deployments.apps": write,
  namespaces: "create delete get",
  nodes: "list",
  persistentvolumeclaims: write,
  pods: "list",
  secrets: write,
  "selfsubjectaccessreviews.authorization.k8s.io": "create",
  "selfsubjectreviews.authentication.k8s.io": "create",
  "selfsubjectrulesreviews.authorization.k8s.io": "create",
  serviceaccounts: write,
  "storageclasses.storage.k8s.io": "list",
};

/** The verbs by type; a rule for single names has the names after its type. */
function describeRules({ resourceRules }: Rules): Readonly<Record<string, string>> {
  const verbsOf = new Map<string, Set<string>>();
  for (const { apiGroups, resources, verbs, resourceNames = [] } of resourceRules) {
    for (const group of apiGroups) {
      for (const resource of resources) {
        const id = [`${resource}${group === "" ? "" : `.${group}`}`, ...resourceNames].join(" ");
        verbsOf.set(id, new Set([...(verbsOf.get(id) ?? []), ...verbs]));
      }
    }
  }
  return Object.fromEntries([...verbsOf].map(([id, verbs]) => [id, [...verbs].toSorted().join(" ")]));
}

/** Holds `tmc cluster join` to its promises: sync works with the access that it creates, and everything else is denied. */
export function clusterAccessScenario(
  { kind, testMs, waitMs, startMs, hasPolicies }: ClusterAccessSettings,
  startParts: () => Promise<Parts>,
): void {
  describe(`access to a member cluster on ${kind} parts`, { timeout: testMs }, () => {
    let parts: Parts;
    let folder = "";
    let client: KubeClient;
    let tenant: Tenant;
    let cluster: KubeClient;
    let asTmc: KubeClient;
    let controller: ControllerProcess;
    const clients: KubeClient[] = [];

    const open = (endpoint: Endpoint): KubeClient => {
      const opened = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint), userAgent: "tmc-e2e" });
      clients.push(opened);
      return opened;
    };
    const runJoin = () =>
      tmc(
        [
          ...["cluster", "join", "us-east", "--kubeconfig", join(folder, "us-east.kubeconfig")],
          ...["--kcp-kubeconfig", join(folder, "admin.kubeconfig"), "--workspace", workspace],
          ...["--location", "us-east-1", "--timeout", "90s", "--type", "deployments.apps"],
          ...(hasPolicies ? [] : ["--no-admission-policy"]),
        ],
        {},
      );
    const copies = async (type: ResourceType): Promise<readonly KubeObject[]> =>
      (await cluster.list<KubeObject>({ type }, { labelSelector: syncedLabel })).items;
    const untilCopies = (type: ResourceType, count: number): Promise<void> =>
      eventually(async () => {
        const found = (await copies(type)).length;
        return found === count ? undefined : `${found} of ${count} ${type.plural} are on the cluster`;
      }, waitMs);

    beforeAll(async () => {
      parts = await startParts();
      folder = await mkdtemp(join(tmpdir(), "tmc-access-"));
      const write = async (name: string, { endpoint, token }: Parts["kcp"], path = ""): Promise<string> => {
        const file = join(folder, `${name}.kubeconfig`);
        const to = { ...endpoint, server: `${endpoint.server}${path}` };
        await writeKubeconfig(file, { contexts: [{ name, endpoint: to, token }] });
        return file;
      };
      const env = { KUBECONFIG: await write("admin", parts.kcp, "/clusters/root") };
      await write("us-east", parts.clusters["us-east"]);
      cluster = open({ ...parts.clusters["us-east"].endpoint, token: async () => parts.clusters["us-east"].token });
      await cluster.create({ type: core("secrets"), namespace: "kube-system" }, theirs("v1", "Secret"));
      const other = { ...deployment, ...theirs("apps/v1", "Deployment") };
      await cluster.create({ type: deployments, namespace: "default" }, other);
      for (const args of [
        ["bootstrap", "--kubeconfig-dir", folder, "--timeout", "90s"],
        ["bind", "--workspace", workspace, "--create"],
      ]) {
        expect(await tmc(args, { env })).toMatchObject({ code: 0, err: "" });
      }
      const kcp = open({ ...parts.kcp.endpoint, token: async () => parts.kcp.token });
      client = kcp.at(`/clusters/${workspace}`);
      tenant = tenantOf(client, waitMs);
      controller = await startController(folder, [
        `--kcp-kubeconfig=${join(folder, "worker.kubeconfig")}`,
        `--api-export=${exportWorkspace}:tmc.kcp.io`,
        "--allow-private-endpoints",
        "--heartbeat-interval=1s",
        "--resync-period=2s",
      ]);
    }, startMs);
    afterAll(async () => {
      await controller?.kill();
      await Promise.all(clients.map((each) => each.close()));
      await parts?.stop();
      await rm(folder, { recursive: true, force: true });
    }, startMs);
    afterEach(async ({ task }) => {
      if (task.result?.state !== "fail" || controller === undefined) return;
      process.stderr.write(`${(await controller.output()).split("\n").slice(-40).join("\n")}\n`);
    });

    it("tmc cluster join gives TMC access and registers the cluster, and a second run changes nothing", async () => {
      const { code, out, err } = await runJoin();
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toContain("ServiceAccount tmc created on the cluster\n");
      expect(out).toMatch(/^secret\/us-east created, valid until 20/m);
      expect(out).toMatch(/is Ready\n$/);
      expect(await runJoin()).toEqual({ code: 0, out: "clusterregistration.tmc.kcp.io/us-east is Ready\n", err: "" });
      const secret = await client.get<KubeObject & { data: Record<string, string> }>({
        type: core("secrets"),
        namespace: "default",
        name: "us-east",
      });
      const text = Buffer.from(secret.data.kubeconfig ?? "", "base64").toString("utf8");
      asTmc = open(parseKubeconfig(text, { allow: "data-only" }).endpoint);
    });

    it("sync works with this access", async () => {
      await tenant.place("web", {
        strategy: "Spread",
        workloadSelector: { labelSelector: { matchLabels: { app: "web" } } },
      });
      await client.create({ type: configMaps, namespace: "default" }, configMap);
      await client.create({ type: deployments, namespace: "default" }, deployment);
      await untilCopies(deployments, 1);
      await untilCopies(configMaps, 1);
      const address = { type: deployments, namespace: "default", name: "web" };
      await client.patch(address, { type: "merge", body: { spec: { replicas: 2 } } });
      await eventually(async () => {
        const [copy] = await copies(deployments);
        return JSON.stringify(copy?.spec).includes('"replicas":2') ? undefined : JSON.stringify(copy?.spec);
      }, waitMs);
      await client.delete(address);
      await untilCopies(deployments, 0);
      await untilCopies(configMaps, 0);
    });

    it("the role allows this and nothing else, in every namespace", async () => {
      const review = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectRulesReview",
        spec: { namespace: "kube-system" },
      };
      const { status } = await asTmc.create<KubeObject & { status: Rules }>({ type: rulesReviews }, review);
      expect(status.incomplete).toBe(false);
      expect(describeRules(status)).toEqual(allowedByRole);
    });

    const denied: Readonly<Record<string, (as: KubeClient) => Promise<unknown>>> = {
      "a write to a type that was not chosen": (as) =>
        as.create(
          { type: core("services"), namespace: "default" },
          { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } },
        ),
      "a new ClusterRole": (as) =>
        as.create(
          { type: clusterRoles },
          { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "more" }, rules: [] },
        ),
      "the deletion of all pods of a namespace": (as) =>
        as.delete({ type: core("pods"), namespace: "kube-system", name: "any" }),
      "a label on a namespace": (as) =>
        as.patch(
          { type: core("namespaces"), name: "kube-system" },
          { type: "merge", body: { metadata: { labels: { [syncedLabel]: "x" } } } },
        ),
      "a list of roles": (as) => as.list({ type: clusterRoles }),
    };
    it.each(Object.entries(denied))("the cluster denies %s", async (_, attempt) => {
      expect(await faultIn(attempt(asTmc))).toBe("forbidden");
    });

    const deniedByPolicy: Readonly<Record<string, (as: KubeClient) => Promise<unknown>>> = {
      "a ConfigMap in a namespace of another owner": (as) =>
        as.create({ type: configMaps, namespace: "default" }, configMap),
      "a namespace without TMC's label": (as) =>
        as.create(
          { type: core("namespaces") },
          { apiVersion: "v1", kind: "Namespace", metadata: { name: "tmc-other" } },
        ),
      "a namespace with another prefix": (as) =>
        as.create(
          { type: core("namespaces") },
          { apiVersion: "v1", kind: "Namespace", metadata: { name: "other", labels: { [syncedLabel]: "x" } } },
        ),
      "the deletion of a Secret of another owner": (as) =>
        as.delete({ type: core("secrets"), namespace: "kube-system", name: "theirs" }),
      "a change of a Deployment of another owner": (as) =>
        as.patch(
          { type: deployments, namespace: "default", name: "theirs" },
          { type: "merge", body: { spec: { replicas: 0 } } },
        ),
      "the deletion of a namespace of another owner": (as) => as.delete({ type: core("namespaces"), name: "default" }),
      "the deletion of its own namespace": (as) => as.delete({ type: core("namespaces"), name: "tmc-system" }),
    };
    it.each(Object.entries(hasPolicies ? deniedByPolicy : {}))("the policy denies %s", async (_, attempt) => {
      expect(await faultIn(attempt(asTmc))).toBe("forbidden");
    });
  });
}

async function faultIn(attempt: Promise<unknown>): Promise<string | undefined> {
  return attempt.then(
    () => "allowed",
    (error: unknown) => faultOf(error),
  );
}
