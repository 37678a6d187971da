import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { Command, InvalidArgumentError, Option } from "commander";
import { type ClusterRegistration, clusterRegistration } from "../../api/cluster-registration.ts";
import { credentialsSecretLabel } from "../../api/condition.ts";
import { formatApiVersion } from "../../api/kind.ts";
import { referenceTypes } from "../../api/workload-kinds.ts";
import { decideRenewal, parseToken, requestToken, type WrittenKubeconfig } from "../../install/account-token.ts";
import {
  type ClusterAccessOptions,
  clusterAccess,
  clusterAccessAccount,
  clusterAccessNamespace,
} from "../../install/cluster-access.ts";
import { ensureObjects } from "../../install/ensure-objects.ts";
import { formatObjectId, managedTypes } from "../../install/managed-object.ts";
import { ignoreNotFound } from "../../install/unbind.ts";
import { waitUntil } from "../../install/wait.ts";
import { findCondition } from "../../model/condition.ts";
import { parseDurationSeconds } from "../../model/timestamp.ts";
import type { CliIo } from "../cli-io.ts";
import { type AccessTypeFlags, accessTypeOptions, readAccessTypes } from "../install/access-options.ts";
import { collectLabel } from "../names.ts";
import { clusterArgument, timeoutOption } from "../options.ts";
import { inWorkspace, type OpenWorkspace, openContext, resourceTypes } from "../workspace.ts";

type JoinOptions = AccessTypeFlags &
  Readonly<{
    kubeconfig: string;
    context?: string;
    kcpKubeconfig?: string;
    kcpContext?: string;
    workspace?: string;
    location: string;
    label?: Readonly<Record<string, string>>;
    server?: string;
    secretNamespace: string;
    tokenLifetime: number;
    timeout: number;
  }>;

/** Creates the `cluster join` command. */
export function joinCommand(io: CliIo): Command {
  const command = new Command("join")
    .summary("Give TMC access to a cluster and register it")
    .description(
      `Give TMC access to a cluster and register it: create the service account ${clusterAccessNamespace}/${clusterAccessAccount} with the narrowest role on the cluster, store a token for it in a Secret of the workspace, register the cluster, and wait until it is Ready. Run the command again to renew the token: it requests a new one after half of the lifetime.`,
    )
    .addArgument(clusterArgument())
    .requiredOption("--kubeconfig <path>", "Path to a kubeconfig of an administrator of the cluster")
    .option("--context <name>", "Context of that kubeconfig (default: its current context)")
    .requiredOption("--location <location>", "Location of the cluster, such as us-west-2")
    .option("--label <key=value>", "Label of the registration, for selectors; can be repeated", collectLabel)
    .option("--server <url>", "URL of the API server that TMC connects to (default: the server of the kubeconfig)")
    .option("--secret-namespace <name>", "Namespace of the Secret in the workspace", "default")
    .addOption(
      new Option("--token-lifetime <duration>", "Lifetime of the token; the cluster may grant less")
        .argParser(parseLifetime)
        .default(90 * 86_400, "90d"),
    );
  return accessTypeOptions(command)
    .addOption(timeoutOption())
    .addOption(
      new Option(
        "--kcp-kubeconfig <path>",
        "Path to the kubeconfig for kcp (default: $KUBECONFIG, or ~/.kube/config)",
      ).helpGroup("Connection options:"),
    )
    .addOption(new Option("--kcp-context <name>", "Context of the kubeconfig for kcp").helpGroup("Connection options:"))
    .addOption(
      new Option(
        "--workspace <path>",
        "Path of the kcp workspace, such as root:demo (default: the workspace of the context)",
      ).helpGroup("Connection options:"),
    )
    .addHelpText(
      "after",
      `
Example:
  tmc cluster join east --kubeconfig admin.kubeconfig --location us-east-1 \\
    --workspace root:production
`,
    )
    .action((name: string, options: JoinOptions) => join(io, name, options));
}

async function join(io: CliIo, name: string, options: JoinOptions): Promise<void> {
  const access = readAccessTypes(options);
  const { kubeconfig, context, kcpKubeconfig, kcpContext, workspace } = options;
  const { endpoint } = await openContext(io, { kubeconfig, context });
  const cluster = createKubeClient({ endpoint, transport: createHttpsTransport(endpoint), clock: io.clock });
  try {
    await inWorkspace(io, { kubeconfig: kcpKubeconfig, context: kcpContext, workspace }, async (opened) => {
      await ensureAccess(io, cluster, access);
      const target: Endpoint = { server: options.server ?? endpoint.server, ca: endpoint.ca };
      await ensureSecret(io, { workspace: opened, cluster, target }, { name, ...options });
      await ensureRegistration(io, opened, name, options);
      await waitUntilReady(io, opened, name, options.timeout);
    });
  } finally {
    await cluster.close();
  }
}

async function ensureAccess(io: CliIo, cluster: KubeClient, access: ClusterAccessOptions): Promise<void> {
  try {
    const steps = await ensureObjects(cluster, clusterAccess(access), { clock: io.clock });
    for (const { object, action } of steps) {
      io.out(`${formatObjectId(object)} ${action === "create" ? "created" : "changed"} on the cluster\n`);
    }
  } catch (error) {
    if (faultOf(error) !== "not-found") throw error;
    throw new Error(
      "the cluster does not serve ValidatingAdmissionPolicy (Kubernetes 1.30 or later). With --no-admission-policy, TMC " +
        "is limited by its role alone and may write in every namespace",
      { cause: error },
    );
  }
}

type SecretPlace = Readonly<{ workspace: OpenWorkspace; cluster: KubeClient; target: Endpoint }>;

/** Stores a kubeconfig with a token for the service account, unless the stored one is good for half of its lifetime. */
async function ensureSecret(
  io: CliIo,
  { workspace, cluster, target }: SecretPlace,
  { name, secretNamespace: namespace, tokenLifetime }: JoinOptions & Readonly<{ name: string }>,
): Promise<void> {
  const account = await cluster.get<KubeObject>({
    type: managedTypes.ServiceAccount,
    namespace: clusterAccessNamespace,
    name: clusterAccessAccount,
  });
  const address = { type: referenceTypes.Secret, namespace, name };
  const present = await workspace.client.get<KubeObject>(address).catch(ignoreNotFound);
  const reason = decideRenewal({
    written: present === undefined ? undefined : await writtenIn(present),
    server: target.server,
    ca: target.ca,
    uid: account.metadata.uid ?? "",
    nowMs: io.clock.now(),
  });
  if (reason === undefined && present?.metadata.labels?.[credentialsSecretLabel] === name) return;
  const token = await requestToken(cluster, {
    account: clusterAccessAccount,
    namespace: clusterAccessNamespace,
    lifetimeSeconds: tokenLifetime,
  });
  const kubeconfig = formatKubeconfig({ contexts: [{ name, endpoint: target, token }] });
  const body = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, labels: { [credentialsSecretLabel]: name } },
    data: { kubeconfig: Buffer.from(kubeconfig).toString("base64") },
  };
  await workspace.client.patch(address, { type: "apply", body, force: true }, { fieldManager: "tmc-cli" });
  const expiresMs = parseToken(token)?.expiresMs;
  const until = expiresMs === undefined ? "" : `, valid until ${new Date(expiresMs).toISOString()}`;
  io.out(`secret/${name} ${present === undefined ? "created" : "changed"}${until}\n`);
}

async function writtenIn({ data }: KubeObject): Promise<WrittenKubeconfig | undefined> {
  const encoded = typeof data === "object" && data !== null && "kubeconfig" in data ? data.kubeconfig : undefined;
  if (typeof encoded !== "string") return undefined;
  try {
    const { endpoint } = parseKubeconfig(Buffer.from(encoded, "base64").toString("utf8"), { allow: "data-only" });
    const token = await endpoint.token?.();
    return { server: endpoint.server, ca: endpoint.ca, token: token === undefined ? undefined : parseToken(token) };
  } catch {
    return undefined; // not a kubeconfig of this command; it is written again
  }
}

async function ensureRegistration(
  io: CliIo,
  { client }: OpenWorkspace,
  name: string,
  { location, label, secretNamespace: namespace }: JoinOptions,
): Promise<void> {
  const registration = {
    apiVersion: formatApiVersion(clusterRegistration),
    kind: "ClusterRegistration",
    metadata: { name, ...(label === undefined ? {} : { labels: { ...label } }) },
    spec: { location, credentials: { secretRef: { namespace, name } } },
  };
  const address = { type: resourceTypes.registrations, name };
  const present = await client.get<ClusterRegistration>(address).catch(ignoreNotFound);
  await client.patch(address, { type: "apply", body: registration, force: true }, { fieldManager: "tmc-cli" });
  if (present === undefined) io.out(`clusterregistration.tmc.kcp.io/${name} registered\n`);
}

/** The TokenRequest API accepts ten minutes and more. */
const minLifetimeSeconds = 600;

function parseLifetime(text: string): number {
  const seconds = parseDurationSeconds(text);
  if (seconds === undefined || seconds < minLifetimeSeconds) {
    throw new InvalidArgumentError("expected a duration of at least 10m.");
  }
  return seconds;
}

/** Waits until a registered cluster is Ready. The timeout error has the reason why it is not. */
export async function waitUntilReady(
  io: CliIo,
  workspace: OpenWorkspace,
  name: string,
  timeoutSeconds: number,
): Promise<void> {
  await waitUntil(
    `cluster ${name} to be Ready`,
    async () => {
      const ready = findCondition((await workspace.registration(name)).status?.conditions, "Ready");
      if (ready?.status === "True") return { done: true };
      return { missing: ready === undefined ? "no controller has probed it" : `${ready.reason}: ${ready.message}` };
    },
    { timeoutMs: timeoutSeconds * 1000, clock: io.clock },
  );
  io.out(`clusterregistration.tmc.kcp.io/${name} is Ready\n`);
}
