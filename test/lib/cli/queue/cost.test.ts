import { describe, expect, it } from "vitest";
import { estimateCost } from "../../../../lib/cli/queue/cost-model.ts";
import { tmc } from "../support.ts";

describe("tmc cost", () => {
  it("tmc cost prints calls and dollars of each component, and the permanent alternatives", async () => {
    const { code, out } = await tmc("cost --clusters 1000 --events-per-second 1 --secrets 5".split(" "));
    expect(code).toBe(0);
    expect(out).toMatch(
      /^COMPONENT +CALLS\/MONTH +USD\/MONTH\nheartbeat +[\d,]+ +6\.\d\d\nreconcile +[\d,]+ +10\.\d\d\n/,
    );
    expect(out).toMatch(/^secrets +0 +2\.00\ntotal +[\d,]+ +\d+\.\d\d\n\nALWAYS ON/m);
    expect(out).toMatch(/^Fargate 0\.5 vCPU, 1 GB, two +35\.\d\d$/m);
  });

  it("tmc cost -o json prints the estimate with the date of the prices", async () => {
    const { out } = await tmc("cost --clusters 10 --events-per-second 0.5 --heartbeat 30s -o json".split(" "));
    const expected = estimateCost({ clusters: 10, eventsPerSecond: 0.5, heartbeatSeconds: 30, secrets: 0 });
    expect(JSON.parse(out)).toEqual({ prices: { date: "2026-11-15", region: "us-east-1" }, ...expected });
  });

  it.each([
    ["cost", "required option '--clusters <number>' not specified"],
    ["cost --clusters many --events-per-second 1", "expected a number from 0 to 1000000"],
    ["cost --clusters 1 --events-per-second 1 --heartbeat often", "expected a duration like 30s"],
  ])("tmc rejects %j with one line", async (command, message) => {
    const { code, err } = await tmc(command.split(" "));
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
