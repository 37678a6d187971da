import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** The contract's view of a server that is reached over the wire with our own client. */
export function connect(
  kind: ServerUnderTest["kind"],
  endpoint: Endpoint,
  stop: () => Promise<void> = async () => {},
  more: Pick<ServerUnderTest, "skip"> = {},
): ServerUnderTest {
  const open = (to: Endpoint) =>
    createKubeClient({ endpoint: to, transport: createUndiciTransport(to), userAgent: "tmc-contract" });
  const admin = open(endpoint);
  return {
    ...more,
    kind,
    endpoint,
    admin,
    clientAs: (who) => open({ ...endpoint, ...who }),
    stop: async () => {
      await admin.close();
      await stop();
    },
  };
}
