import { bootstrapCases } from "./bootstrap-cases.ts";
import { useReal } from "./kcp-under-test.ts";

bootstrapCases("an installation on a real kcp", useReal);
