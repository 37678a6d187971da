import { describe, expect, test } from "vitest";
import { hasFormat } from "../../src/machinery/formats.ts";

describe("string formats", () => {
  const cases: Record<string, { good: string[]; bad: string[] }> = {
    "date-time": {
      good: ["2024-02-29T00:00:00Z", "2024-01-01T10:00:00.123+02:00"],
      bad: ["", "2024-01-01", "2023-02-29T00:00:00Z", "2024-01-01T25:00:00Z"],
    },
    date: { good: ["2024-02-29"], bad: ["2023-02-29", "2024-1-1"] },
    duration: { good: ["5m", "1h30m", "0", "22 ns", "3 days"], bad: ["", "5 parsecs", "m"] },
    ipv4: { good: ["1.2.3.4"], bad: ["1.2.3", "::1"] },
    ipv6: { good: ["::1"], bad: ["1.2.3.4"] },
    cidr: { good: ["10.0.0.0/8", "fd00::/8"], bad: ["10.0.0.0", "10.0.0.0/33"] },
    uri: { good: ["https://a/b?c", "/path"], bad: ["nope", "http://a b"] },
    hostname: { good: ["a", "a.example.com"], bad: ["-a", "a..b"] },
    email: { good: ["a@b.c", "A <a@b.c>"], bad: ["a", "a@"] },
    byte: { good: ["YWJj", "YQ=="], bad: ["a", "YQ="] },
    uuid: { good: ["123e4567-e89b-12d3-a456-426614174000"], bad: ["123e4567"] },
    mac: { good: ["01:23:45:67:89:ab"], bad: ["01:23"] },
    "k8s-short-name": { good: ["web-1"], bad: ["Web", "a.b", "-a"] },
    "k8s-long-name": { good: ["a.b.c"], bad: ["A.b"] },
    "no-such-format": { good: ["anything"], bad: [] },
  };
  test.each(Object.entries(cases))("%s", (format, { good, bad }) => {
    expect(good.filter((text) => !hasFormat(format, text))).toEqual([]);
    expect(bad.filter((text) => hasFormat(format, text))).toEqual([]);
  });
});
