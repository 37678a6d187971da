import { runKubectl } from "../real/kubectl.ts";
import { realServers } from "../real/servers.ts";
import { kcpPageCases } from "./kcp-page-cases.ts";
import { useReal } from "./kcp-under-test.ts";

kcpPageCases("docs/kcp.md on a real kcp", {
  start: useReal,
  startCluster: async () => {
    const { url, ca, adminToken } = realServers().cluster;
    return { endpoint: { server: url, ca }, token: adminToken, stop: async () => {} };
  },
  kubectl: () => async (kubeconfig, args, input) => {
    const { stdout, stderr } = await runKubectl(args, { kubectl: realServers().kubectl, kubeconfig, input });
    return stdout + stderr;
  },
});
