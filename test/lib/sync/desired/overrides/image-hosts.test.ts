import { ControllerError } from "@tmc/kube/fault.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHostRule, rewriteImage } from "../../../../../lib/sync/desired/overrides/images.ts";

type Rule = Readonly<{ from?: string; to: string }>;
const digest = `sha256:${"0".repeat(64)}`;
const mirror: Rule = { from: "docker.io", to: "mirror.local" };

const rewritten: Readonly<Record<string, readonly [image: string, rules: readonly Rule[], after: string]>> = {
  "replaces the host of a bare image name": ["nginx", [mirror], "mirror.local/library/nginx"],
  "replaces the host of a bare image name with a tag": ["nginx:1.29", [mirror], "mirror.local/library/nginx:1.29"],
  "replaces the host of a bare image name with a digest": [
    `nginx@${digest}`,
    [mirror],
    `mirror.local/library/nginx@${digest}`,
  ],
  "keeps tag and digest of an image": [`nginx:1.29@${digest}`, [mirror], `mirror.local/library/nginx:1.29@${digest}`],
  "replaces the host of an image in library/": ["library/nginx", [mirror], "mirror.local/library/nginx"],
  "replaces the host of an image with an owner": ["grafana/loki:3", [mirror], "mirror.local/grafana/loki:3"],
  "replaces the default host": ["docker.io/grafana/loki", [mirror], "mirror.local/grafana/loki"],
  "adds library/ to an image of the default host": ["docker.io/nginx", [mirror], "mirror.local/library/nginx"],
  "replaces index.docker.io as the default host": ["index.docker.io/nginx", [mirror], "mirror.local/library/nginx"],
  "applies a rule for index.docker.io to the default host": [
    "nginx",
    [{ from: "index.docker.io", to: "mirror.local" }],
    "mirror.local/library/nginx",
  ],
  "replaces a host with a port": [
    "reg.corp:5000/a/b:1",
    [{ from: "reg.corp:5000", to: "mirror.local:8443" }],
    "mirror.local:8443/a/b:1",
  ],
  "replaces the host localhost": ["localhost/a", [{ from: "localhost", to: "mirror.local" }], "mirror.local/a"],
  "replaces an IPv6 host": ["[::1]:5000/a", [{ from: "[::1]:5000", to: "mirror.local" }], "mirror.local/a"],
  "replaces a path prefix": ["quay.io/a/b/c", [{ from: "quay.io/a", to: "mirror.local/x" }], "mirror.local/x/b/c"],
  "replaces the whole path": ["quay.io/a/b:1", [{ from: "quay.io/a/b", to: "mirror.local/c" }], "mirror.local/c:1"],
  "replaces a path on the default host": [
    "bitnami/redis",
    [{ from: "bitnami", to: "bitnamilegacy" }],
    "docker.io/bitnamilegacy/redis",
  ],
  "ignores a trailing slash in a rule": ["quay.io/a", [{ from: "quay.io/", to: "mirror.local/" }], "mirror.local/a"],
  "applies the most specific rule": [
    "quay.io/a/b",
    [{ to: "z.local" }, { from: "quay.io", to: "x.local" }, { from: "quay.io/a", to: "y.local" }],
    "y.local/b",
  ],
  "applies a rule without from to every host": ["quay.io/a/b", [{ to: "mirror.local/all" }], "mirror.local/all/a/b"],
  "applies a rule without from to a bare image name": ["nginx", [{ to: "mirror.local" }], "mirror.local/library/nginx"],
  "moves images to a path below the old one": [
    "reg.corp/a",
    [{ from: "reg.corp", to: "reg.corp/mirror" }],
    "reg.corp/mirror/a",
  ],
  "moves images to a path above the old one": [
    "reg.corp/mirror/a",
    [{ from: "reg.corp/mirror", to: "reg.corp" }],
    "reg.corp/a",
  ],
};

const untouched: Readonly<Record<string, readonly [image: string, rules: readonly Rule[]]>> = {
  "keeps an image of another host": ["quay.io/a", [mirror]],
  "keeps an image of a host with the same prefix": ["docker.io.evil.example/a", [mirror]],
  "keeps an image of a path with the same prefix": ["quay.io/ab/c", [{ from: "quay.io/a", to: "mirror.local" }]],
  "keeps an image of the same host with another port": [
    "reg.corp:5001/a",
    [{ from: "reg.corp:5000", to: "mirror.local" }],
  ],
  "keeps an image that was moved to a path below the old one": [
    "reg.corp/mirror/a",
    [{ from: "reg.corp", to: "reg.corp/mirror" }],
  ],
  "keeps an image that is at the target of a rule without from": ["mirror.local/all/a", [{ to: "mirror.local/all" }]],
  "keeps an image at the target of a more specific rule": [
    "mirror.local/hub/a",
    [{ from: "docker.io", to: "mirror.local/hub" }, { to: "mirror.local/rest" }],
  ],
  "keeps an image whose rule replaces the host by itself": ["reg.corp/a", [{ from: "reg.corp", to: "reg.corp" }]],
};

const rejected: Readonly<Record<string, readonly [image: string, rules: readonly Rule[], message: string]>> = {
  "rejects a rule that applies to the result of another": [
    "a.local/x",
    [
      { from: "b.local", to: "c.local" },
      { from: "a.local", to: "b.local" },
    ],
    'here: image "a.local/x" would be replaced by "b.local/x", and that by "c.local/x"',
  ],
  "rejects rules that form a cycle": [
    "a.local/x",
    [
      { from: "a.local", to: "b.local" },
      { from: "b.local", to: "a.local" },
    ],
    'here: image "a.local/x" would be replaced by "b.local/x", and that by "a.local/x"',
  ],
  "rejects a rule that leaves an image without a name": [
    "quay.io/a:1",
    [{ from: "quay.io/a", to: "mirror.local" }],
    'here: image "quay.io/a:1" would have no name',
  ],
  "rejects a rule with a tag": [
    "x",
    [{ from: "quay.io/a:1", to: "mirror.local" }],
    'here: "quay.io/a:1" is not an image registry host or a path on one',
  ],
  "rejects a rule with a URL scheme": [
    "x",
    [{ to: "https://mirror.local" }],
    'here: "https://mirror.local" is not an image registry host or a path on one',
  ],
  "rejects a rule with a space": [
    "x",
    [{ to: "mirror local" }],
    'here: "mirror local" is not an image registry host or a path on one',
  ],
};

const rewriteBy = (image: string, rules: readonly Rule[]): string =>
  rewriteImage(
    image,
    rules.map((rule) => parseHostRule(rule, "here")),
    "here",
  );

describe("rewriteImage with a matching rule", () => {
  test.each(Object.entries(rewritten))("%s", (_, [image, rules, after]) => {
    expect(rewriteBy(image, rules)).toBe(after);
    expect(rewriteBy(after, rules)).toBe(after);
  });
});

describe("rewriteImage without a matching rule", () => {
  test.each(Object.entries(untouched))("%s", (_, [image, rules]) => expect(rewriteBy(image, rules)).toBe(image));
});

describe("rejected image rules", () => {
  test.each(Object.entries(rejected))("%s", (_, [image, rules, message]) => {
    expect(() => rewriteBy(image, rules)).toThrow(new ControllerError("invalid", message));
  });
});

test("rewriting an image is idempotent for all rules", () => {
  const part = fc.constantFrom("a", "b");
  const host = fc.constantFrom("x.io", "y.io", "y.io:5000", "docker.io");
  const path = fc.tuple(host, fc.array(part, { maxLength: 2 })).map(([first, path]) => [first, ...path].join("/"));
  const rule = fc.record({ from: path, to: path }, { requiredKeys: ["to"] });
  const image = fc
    .tuple(
      fc.option(host, { nil: undefined }),
      fc.array(part, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("", ":1"),
    )
    .map(([first, path, tag]) => [...(first === undefined ? [] : [first]), ...path].join("/") + tag);
  fc.assert(
    fc.property(image, fc.array(rule, { maxLength: 3 }), (given, rules) => {
      const attempt = () => {
        try {
          return rewriteBy(given, rules);
        } catch (error) {
          expect(error).toBeInstanceOf(ControllerError);
          return undefined;
        }
      };
      const once = attempt();
      if (once !== undefined) expect(rewriteBy(once, rules)).toBe(once);
    }),
    { numRuns: 2000 },
  );
});
