import { startEmbeddedKcp } from "../../lib/embedded/kcp/embedded-kcp.ts";
import { connect } from "./connect.ts";
import { contract } from "./contract.ts";

contract("kcp", "embedded kcp", async () => {
  const kcp = await startEmbeddedKcp();
  const { ca, token } = kcp.endpoint("root");
  return connect("kcp", { server: kcp.url, ca, token }, () => kcp.stop());
});
