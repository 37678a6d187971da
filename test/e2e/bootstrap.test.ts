import { bootstrapCases } from "./bootstrap-cases.ts";
import { startEmbedded } from "./kcp-under-test.ts";

bootstrapCases("an installation on an embedded kcp", startEmbedded);
