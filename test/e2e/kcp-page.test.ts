import { createByHand, kcpPageCases } from "./kcp-page-cases.ts";
import { startEmbedded } from "./kcp-under-test.ts";

kcpPageCases("docs/kcp.md on an embedded kcp", { start: startEmbedded, kubectl: createByHand });
