import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport.ts";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { customResourceDefinition } from "../../../lib/api/resource-schema.ts";
import { crds, eventuallyOk, namespaces } from "../../contract/vocabulary.ts";
import { startTenants } from "../upstream/tenants.ts";
import { homeNamespace, type SourceUnderTest } from "./sources-under-test.ts";

/** A hub in which the kinds of one source are served. */
export interface HubUnderTest {
  /** At the server's root, with all rights; each request is told to `onRequest`. */
  readonly client: KubeClient;
  /** The logical cluster that the suite works in; empty on a plain cluster. */
  readonly cluster: string;
  /** Another one with the same kinds; the same on a plain cluster. */
  readonly other: string;
  /** With all rights in the logical cluster. */
  readonly admin: KubeClient;
  /** At the server's root, as somebody else. */
  clientAs(token: string): KubeClient;
  stop(): Promise<void>;
}

type StartHub = (source: SourceUnderTest, onRequest: OnRequest) => Promise<HubUnderTest>;

/** One of the two sorts of hubs, and how to start one for a source. */
export type HubForm = Readonly<{ title: string; isKcp: boolean; start: StartHub }>;

type OnRequest = (request: string) => void;

/** A client at a hub's root that tells of every request. */
export function openHub(endpoint: Endpoint, transport: Transport, onRequest: OnRequest = () => {}): KubeClient {
  const told: Transport = {
    send: (request) => {
      onRequest(`${request.method} ${request.path}`);
      return transport.send(request);
    },
    close: () => transport.close(),
  };
  return createKubeClient({ endpoint, transport: told, name: "hub" });
}

/** Installs the kinds of a source, and waits until they are served. */
export async function install(client: KubeClient, source: SourceUnderTest): Promise<void> {
  const { maybeNamespaced: _, ...type } = source.own;
  const metadata = { name: homeNamespace };
  // A new workspace refuses for a moment while its caches warm.
  await eventuallyOk(() => client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata }));
  for (const body of source.definitions) await client.create({ type: crds }, body);
  await eventuallyOk(() => client.list({ type }));
}

const inProcess: Endpoint = { server: "https://hub.example" };

/** A kcp with our kinds bound in two workspaces. */
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

/** A plain cluster with our kinds as CRDs. */
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

/** Every sort of hub. */
export const hubsUnderTest: readonly HubForm[] = [
  { title: "kcp", isKcp: true, start: startKcp },
  { title: "a plain cluster", isKcp: false, start: startPlain },
];
