import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { describe, expect, it } from "vitest";
import {
  addressRejection,
  createCheckedLookup,
  parseRanges,
  serverRejection,
} from "../../../lib/credentials/endpoint-rules.ts";

type Verdict = "allowed" | "private" | "never";
const servers: Record<string, Verdict> = {
  "https://east.example.com:6443": "allowed",
  "https://east.example.com/k8s/clusters/c-1": "allowed",
  "https://203.0.113.7": "allowed",
  "https://[2a00:1450:4001::1]:6443": "allowed",
  "https://127.0.0.1:6443": "private",
  "https://127.1:6443": "private",
  "https://0x7f000001": "private",
  "https://2130706433": "private",
  "https://localhost:6443": "private",
  "https://LOCALHOST.": "private",
  "https://api.localhost": "private",
  "https://10.0.0.1": "private",
  "https://172.16.3.4": "private",
  "https://172.31.255.255": "private",
  "https://172.32.0.1": "allowed",
  "https://192.168.1.1": "private",
  "https://100.64.0.1": "private",
  "https://[::1]": "private",
  "https://[fd00::1]": "private",
  "https://[::ffff:10.0.0.1]": "private",
  "https://[64:ff9b::a00:1]": "private",
  "https://[2002:7f00:1::]": "private",
  "https://169.254.169.254": "never",
  "https://[::ffff:169.254.169.254]": "never",
  "https://[64:ff9b::169.254.169.254]": "never",
  "https://[64:ff9b:1::a9fe:a9fe]": "never",
  "https://[64:ff9b:1:a9fe:a9:fe00::]": "never",
  "https://[64:ff9b:1:fffe::a00:1]": "private",
  "https://[2002:a9fe:a9fe::1]": "never",
  "https://[2001:0:1:2:3:4:5601:5601]": "never",
  "https://[2001:0:1:2:3:4:a9fe:a9fe]": "private",
  "https://[::a9fe:a9fe]": "never",
  "https://[64:ff9b::6464:64c8]": "never",
  "https://[fe80::1]": "never",
  "https://[fd00:ec2::254]": "never",
  "https://[fd00:ec2::23]": "never",
  "https://[::ffff:0:169.254.169.254]": "never",
  "https://[::ffff:0:169.254.170.23]": "never",
  "https://[::ffff:0:10.0.0.1]": "private",
  "https://100.100.100.200": "never",
  "https://168.63.129.16": "never",
  "https://0.0.0.0": "never",
  "https://[::]": "never",
  "https://224.0.0.1": "never",
  "https://255.255.255.255": "never",
  "https://metadata.google.internal": "never",
  "http://east.example.com": "never",
  "ftp://east.example.com": "never",
  "https://user:secret@east.example.com": "never",
  "https://east.example.com?a=b": "never",
  "east.example.com": "never",
  "": "never",
};

describe("serverRejection", () => {
  for (const [server, verdict] of Object.entries(servers)) {
    it(`${server || "an empty URL"} is ${verdict === "allowed" ? "allowed" : verdict === "private" ? "allowed only with allowPrivateEndpoints" : "always rejected"}`, () => {
      expect(serverRejection(server, {}) === undefined).toBe(verdict === "allowed");
      expect(serverRejection(server, { allowPrivateEndpoints: true }) === undefined).toBe(verdict !== "never");
    });
  }
  it("the rejection of a URL with credentials does not contain them", () => {
    expect(serverRejection("https://user:secret@east.example.com", {})).not.toContain("secret");
  });
});

describe("allowedRanges", () => {
  const cases: Record<string, readonly [ranges: readonly string[], taken: boolean]> = {
    "https://10.1.2.3": [["10.0.0.0/8"], true],
    "https://10.1.2.4": [["10.1.2.3/32"], false],
    "https://192.168.1.1": [["10.0.0.0/8"], false],
    "https://127.0.0.1": [["10.0.0.0/8", "127.0.0.0/8"], true],
    "https://[::ffff:10.0.0.1]": [["10.0.0.0/8"], true],
    "https://[fd00::1]": [["fd00::/8"], true],
    "https://[::1]": [["127.0.0.0/8"], false],
    "https://localhost": [["127.0.0.0/8"], true],
    "https://api.localhost": [["10.0.0.0/8"], false],
    "https://203.0.113.7": [["10.0.0.0/8"], true],
    "https://169.254.169.254": [["0.0.0.0/0", "169.254.169.254/32"], false],
    "https://[fd00:ec2::254]": [["::/0"], false],
    "https://0.0.0.0": [["0.0.0.0/0"], false],
    "https://metadata.google.internal": [["0.0.0.0/0"], false],
  };
  for (const [server, [allowedRanges, taken]] of Object.entries(cases)) {
    it(`${server} is ${taken ? "allowed" : "rejected"} with allowedRanges ${allowedRanges.join(", ")}`, () => {
      expect(serverRejection(server, { allowedRanges }) === undefined).toBe(taken);
    });
  }
  it("parseRanges parses a comma-separated list", () => {
    expect(parseRanges(" 10.0.0.0/8, fd00::/8 ,")).toEqual(["10.0.0.0/8", "fd00::/8"]);
    expect(parseRanges("")).toEqual([]);
  });
  it("parseRanges names every invalid range", () => {
    expect(() => parseRanges("10.0.0.0,10.0.0.0/33,a/8,::/129,127.0.0.0/8")).toThrow(
      '"10.0.0.0", "10.0.0.0/33", "a/8", "::/129": not a CIDR like 10.0.0.0/8',
    );
  });
});

describe("createCheckedLookup", () => {
  const names: Record<string, LookupAddress[]> = {
    "good.example.com": [{ address: "203.0.113.7", family: 4 }],
    "rebound.example.com": [{ address: "127.0.0.1", family: 4 }],
    "mixed.example.com": [
      { address: "203.0.113.7", family: 4 },
      { address: "169.254.169.254", family: 4 },
    ],
  };
  const system: LookupFunction = (hostname, options, callback) => {
    const found = names[hostname];
    const [first] = found ?? [];
    if (found === undefined || first === undefined)
      callback(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), []);
    else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
  const resolve = (hostname: string, all: boolean, allowPrivateEndpoints = false): Promise<unknown> =>
    new Promise((done, fail) => {
      createCheckedLookup({ allowPrivateEndpoints }, system)(hostname, { all }, (error, address) => {
        if (error === null) done(address);
        else fail(error);
      });
    });

  it("the checked lookup returns allowed addresses in both forms", async () => {
    expect(await resolve("good.example.com", true)).toEqual(names["good.example.com"]);
    expect(await resolve("good.example.com", false)).toBe("203.0.113.7");
  });
  it("the checked lookup rejects a name that resolves to a loopback address", async () => {
    for (const all of [true, false]) {
      await expect(resolve("rebound.example.com", all)).rejects.toMatchObject({
        fault: "forbidden",
        message: "the server is not allowed: its address is in a private network",
      });
    }
    expect(await resolve("rebound.example.com", false, true)).toBe("127.0.0.1");
  });
  it("the checked lookup rejects a name if one of its addresses is rejected", async () => {
    await expect(resolve("mixed.example.com", true, true)).rejects.toMatchObject({ fault: "forbidden" });
  });
  it("the checked lookup returns errors of the system", async () => {
    await expect(resolve("none.example.com", true)).rejects.toMatchObject({ code: "ENOTFOUND" });
  });
  it("addressRejection rejects text that is not an IP address", () => {
    expect(addressRejection("not-an-address", { allowPrivateEndpoints: true })).toBeDefined();
  });
});
