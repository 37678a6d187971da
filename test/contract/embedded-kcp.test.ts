import { startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { createSkippingClock } from "../support/skipping-clock.ts";
import { connect } from "./connect.ts";
import { contract } from "./contract.ts";

contract("kcp", "embedded kcp", async () => {
  const clock = createSkippingClock();
  const kcp = await startEmbeddedKcp({ clock });
  const { ca, token } = kcp.endpoint("root");
  return connect("kcp", { server: kcp.url, ca, token }, () => kcp.stop(), {
    skip: (ms) => clock.skipTo(clock.now() + ms),
  });
});
