import { accessCases } from "./access-cases.ts";
import { useReal } from "./kcp-under-test.ts";

accessCases("who may do what on a real kcp", useReal);
