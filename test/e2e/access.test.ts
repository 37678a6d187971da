import { accessCases } from "./access-cases.ts";
import { startEmbedded } from "./kcp-under-test.ts";

accessCases("who may do what on an embedded kcp", startEmbedded);
