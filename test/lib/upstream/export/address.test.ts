import { expect, test } from "vitest";
import { formatExportAddress, parseExportAddress } from "../../../../lib/upstream/export/address.ts";

const taken: Readonly<Record<string, { path: string; name: string }>> = {
  "root:tmc:tmc.kcp.io": { path: "root:tmc", name: "tmc.kcp.io" },
  "root:tmc": { path: "root", name: "tmc" },
  "2x7kq1:tmc.kcp.io": { path: "2x7kq1", name: "tmc.kcp.io" },
  "root:org:team:a-b.c": { path: "root:org:team", name: "a-b.c" },
};
test.each(Object.entries(taken))("parseExportAddress accepts %s", (text, address) => {
  expect(parseExportAddress(text)).toEqual(address);
  expect(formatExportAddress(address)).toBe(text);
});

const refused = [
  "",
  ":",
  "tmc.kcp.io",
  "root:",
  ":tmc.kcp.io",
  "root:tmc:",
  "Root:tmc",
  "root:TMC",
  "root/tmc:a",
  "a:.b",
];
test.each(refused)('parseExportAddress rejects "%s"', (text) => {
  expect(parseExportAddress(text)).toBeUndefined();
});
