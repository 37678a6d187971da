import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockFolder, type ProcessTable, systemProcesses } from "../../../../lib/cli/local/folder-lock.ts";

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "tmc-lock-test-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const nowMs = Date.parse("2026-01-01T00:00:00Z");
/** The processes as one of them sees them: pid → start time. */
const seenBy = (pid: number, running: Readonly<Record<number, string>>, host = "here"): ProcessTable => ({
  pid,
  host,
  startOf: (each) => running[each],
});
const lockText = (): string => readFileSync(join(dir, "local.lock"), "utf8");

it("lockFolder fails while another process holds the lock, and succeeds after its release", () => {
  const running = { 1: "a", 2: "b" };
  const first = lockFolder(dir, seenBy(1, running), nowMs);
  expect(() => lockFolder(dir, seenBy(2, running), nowMs)).toThrow(
    "already running here (pid 1); use --dir to name another folder",
  );
  first.release();
  expect(readdirSync(dir)).toEqual([]);
  lockFolder(dir, seenBy(2, running), nowMs);
  expect(JSON.parse(lockText())).toMatchObject({ pid: 2, host: "here", started: "b" });
});

it.each([
  ["its process has ended", { 2: "b" }],
  ["its pid belongs to a later process", { 1: "later", 2: "b" }],
])("lockFolder replaces a lock when %s", (_what, running) => {
  lockFolder(dir, seenBy(1, { 1: "a" }), nowMs);
  lockFolder(dir, seenBy(2, running), nowMs);
  expect(JSON.parse(lockText())).toMatchObject({ pid: 2 });
  expect(readdirSync(dir)).toEqual(["local.lock"]);
});

it.each([
  ["the system does not say since when its process runs", seenBy(2, { 1: "unknown", 2: "unknown" }), "(pid 1)"],
  ["its process runs on another machine", seenBy(2, { 2: "b" }, "there"), "(pid 1 on here)"],
])("lockFolder respects a lock when %s", (_what, processes, text) => {
  lockFolder(dir, seenBy(1, { 1: "a" }), nowMs);
  expect(() => lockFolder(dir, processes, nowMs)).toThrow(`already running here ${text}`);
});

it("lockFolder respects a lock that is just being written, and replaces one that was never completed", () => {
  const path = join(dir, "local.lock");
  writeFileSync(path, "");
  utimesSync(path, nowMs / 1000, nowMs / 1000);
  const processes = seenBy(2, { 2: "b" });
  expect(() => lockFolder(dir, processes, nowMs + 1_000)).toThrow("already running here; use --dir");
  lockFolder(dir, processes, nowMs + 10_000);
  expect(JSON.parse(lockText())).toMatchObject({ pid: 2 });
});

it("release leaves the lock of another process", () => {
  const first = lockFolder(dir, seenBy(1, { 1: "a" }), nowMs);
  lockFolder(dir, seenBy(2, { 2: "b" }), nowMs);
  first.release();
  expect(JSON.parse(lockText())).toMatchObject({ pid: 2 });
});

it("systemProcesses identifies this process by its start, and finds no process for an unused pid", () => {
  expect(systemProcesses.startOf(process.pid)).toMatch(/\d/);
  expect(systemProcesses.startOf(process.pid)).toBe(systemProcesses.startOf(process.pid));
  expect(systemProcesses.startOf(2 ** 30)).toBeUndefined();
});
