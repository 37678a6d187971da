import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { customResourceDefinition } from "../../../lib/api/resource-schema.ts";
import { crds, eventuallyOk, namespaces } from "../../contract/resources.ts";
import { startTenants } from "../upstream/tenants.ts";
import { defaultNamespace, type SourceUnderTest } from "./sources-under-test.ts";

/** An upstream server that serves the kinds of one source. */
export interface HubUnderTest {
  /** Client at the root of the server with all permissions; it reports each request to `onRequest`. */
  readonly client: KubeClient;
  /** The logical cluster of the tests; empty on a plain cluster. */
  readonly cluster: string;
  /** Another one with the same kinds; the same on a plain cluster. */
  readonly other: string;
  /** Client in the logical cluster with all permissions. */
  readonly admin: KubeClient;
  /** Returns a client at the root of the server for another user. */
  clientAs(token: string): KubeClient;
  stop(): Promise<void>;
}

type StartHub = (source: SourceUnderTest, onRequest: OnRequest) => Promise<HubUnderTest>;

/** kcp or a plain cluster, and how to start it for a source. */
export type HubForm = Readonly<{ title: string; isKcp: boolean; start: StartHub }>;

type OnRequest = (request: string) => void;

/** Opens a client at the root of a server that reports every request. */
export function openHub(endpoint: Endpoint, transport: Transport, onRequest: OnRequest = () => {}): KubeClient {
  const reporting: Transport = {
    send: (request) => {
      onRequest(`${request.method} ${request.path}`);
      return transport.send(request);
    },
    close: () => transport.close(),
  };
  return createKubeClient({ endpoint, transport: reporting, name: "hub" });
}

/** Installs the kinds of a source, and waits until they are served. */
export async function install(client: KubeClient, source: SourceUnderTest): Promise<void> {
  const { maybeNamespaced: _, ...type } = source.own;
  const metadata = { name: defaultNamespace };
  // A new workspace rejects requests until the caches of kcp are updated.
  await eventuallyOk(() => client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata }));
  for (const body of source.definitions) await client.create({ type: crds }, body);
  await eventuallyOk(() => client.list({ type }));
}

const inProcess: Endpoint = { server: "https://hub.example" };

/** A kcp with TMC's kinds bound in two workspaces. */
const startKcp: StartHub = async (source, onRequest) => {
  const tenants = await startTenants(["root:one", "root:other"]);
  const [cluster = "", other = ""] = tenants.clusters;
  for (const each of [cluster, other]) await install(tenants.at(each), source);
  return {
    client: openHub(inProcess, tenants.kcp.transport(), onRequest),
    cluster,
    other,
    admin: tenants.at(cluster),
    clientAs: (token) => openHub(inProcess, tenants.kcp.transport(token)),
    stop: tenants.stop,
  };
};

/** A plain cluster with TMC's kinds as CRDs. */
const startPlain: StartHub = async (source, onRequest) => {
  const hub = await startEmbeddedCluster({ name: "hub", listen: false, nodes: 0 });
  const admin = openHub(inProcess, hub.transport());
  await admin.create({ type: crds }, customResourceDefinition(clusterRegistration));
  await install(admin, source);
  return {
    client: openHub(inProcess, hub.transport(), onRequest),
    cluster: "",
    other: "",
    admin,
    clientAs: (token) => openHub(inProcess, hub.transport(token)),
    stop: hub.stop,
  };
};

/** Both kinds of upstream servers. */
export const hubsUnderTest: readonly HubForm[] = [
  { title: "kcp", isKcp: true, start: startKcp },
  { title: "a plain cluster", isKcp: false, start: startPlain },
];
