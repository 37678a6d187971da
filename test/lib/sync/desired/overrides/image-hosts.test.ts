import { ControllerError } from "@tmc/kube/fault.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHostRule, rewriteImage } from "../../../../../lib/sync/desired/overrides/images.ts";

type Rule = Readonly<{ from?: string; to: string }>;
const digest = `sha256:${"0".repeat(64)}`;
const mirror: Rule = { from: "docker.io", to: "mirror.local" };

const rewritten: Readonly<Record<string, readonly [image: string, rules: readonly Rule[], after: string]>> = {
  "a bare name": ["nginx", [mirror], "mirror.local/library/nginx"],
  "a bare name with a tag": ["nginx:1.29", [mirror], "mirror.local/library/nginx:1.29"],
  "a bare name with a digest": [`nginx@${digest}`, [mirror], `mirror.local/library/nginx@${digest}`],
  "a tag and a digest": [`nginx:1.29@${digest}`, [mirror], `mirror.local/library/nginx:1.29@${digest}`],
  "a name with its library": ["library/nginx", [mirror], "mirror.local/library/nginx"],
  "a name with an owner": ["grafana/loki:3", [mirror], "mirror.local/grafana/loki:3"],
  "a name with the default host": ["docker.io/grafana/loki", [mirror], "mirror.local/grafana/loki"],
  "the default host without the library": ["docker.io/nginx", [mirror], "mirror.local/library/nginx"],
  "the default host's other name": ["index.docker.io/nginx", [mirror], "mirror.local/library/nginx"],
  "a rule for the default host's other name": [
    "nginx",
    [{ from: "index.docker.io", to: "mirror.local" }],
    "mirror.local/library/nginx",
  ],
  "a host with a port": [
    "reg.corp:5000/a/b:1",
    [{ from: "reg.corp:5000", to: "mirror.local:8443" }],
    "mirror.local:8443/a/b:1",
  ],
  "this host": ["localhost/a", [{ from: "localhost", to: "mirror.local" }], "mirror.local/a"],
  "a host of the newer kind of address": [
    "[::1]:5000/a",
    [{ from: "[::1]:5000", to: "mirror.local" }],
    "mirror.local/a",
  ],
  "a part of the path": ["quay.io/a/b/c", [{ from: "quay.io/a", to: "mirror.local/x" }], "mirror.local/x/b/c"],
  "the whole path": ["quay.io/a/b:1", [{ from: "quay.io/a/b", to: "mirror.local/c" }], "mirror.local/c:1"],
  "a path on the default host": [
    "bitnami/redis",
    [{ from: "bitnami", to: "bitnamilegacy" }],
    "docker.io/bitnamilegacy/redis",
  ],
  "a slash at the end": ["quay.io/a", [{ from: "quay.io/", to: "mirror.local/" }], "mirror.local/a"],
  "the rule that says most": [
    "quay.io/a/b",
    [{ to: "z.local" }, { from: "quay.io", to: "x.local" }, { from: "quay.io/a", to: "y.local" }],
    "y.local/b",
  ],
  "every image, where no host is given": ["quay.io/a/b", [{ to: "mirror.local/all" }], "mirror.local/all/a/b"],
  "a bare name, where no host is given": ["nginx", [{ to: "mirror.local" }], "mirror.local/library/nginx"],
  "a place within the old one": ["reg.corp/a", [{ from: "reg.corp", to: "reg.corp/mirror" }], "reg.corp/mirror/a"],
  "a place around the old one": ["reg.corp/mirror/a", [{ from: "reg.corp/mirror", to: "reg.corp" }], "reg.corp/a"],
};

const untouched: Readonly<Record<string, readonly [image: string, rules: readonly Rule[]]>> = {
  "another host": ["quay.io/a", [mirror]],
  "a host that only begins like it": ["docker.io.evil.example/a", [mirror]],
  "a path that only begins like it": ["quay.io/ab/c", [{ from: "quay.io/a", to: "mirror.local" }]],
  "the same host on another port": ["reg.corp:5001/a", [{ from: "reg.corp:5000", to: "mirror.local" }]],
  "a place within the old one, once it is there": ["reg.corp/mirror/a", [{ from: "reg.corp", to: "reg.corp/mirror" }]],
  "what is where everything goes": ["mirror.local/all/a", [{ to: "mirror.local/all" }]],
  "what another rule has brought where it is": [
    "mirror.local/hub/a",
    [{ from: "docker.io", to: "mirror.local/hub" }, { to: "mirror.local/rest" }],
  ],
  "a host that is replaced by itself": ["reg.corp/a", [{ from: "reg.corp", to: "reg.corp" }]],
};

const refused: Readonly<Record<string, readonly [image: string, rules: readonly Rule[], why: string]>> = {
  "a rule that takes up what another has made": [
    "a.local/x",
    [
      { from: "b.local", to: "c.local" },
      { from: "a.local", to: "b.local" },
    ],
    'here: image "a.local/x" would be replaced by "b.local/x", and that by "c.local/x"',
  ],
  "rules that go in a circle": [
    "a.local/x",
    [
      { from: "a.local", to: "b.local" },
      { from: "b.local", to: "a.local" },
    ],
    'here: image "a.local/x" would be replaced by "b.local/x", and that by "a.local/x"',
  ],
  "an image that would have only a host": [
    "quay.io/a:1",
    [{ from: "quay.io/a", to: "mirror.local" }],
    'here: image "quay.io/a:1" would be left without a name',
  ],
  "a tag in a rule": [
    "x",
    [{ from: "quay.io/a:1", to: "mirror.local" }],
    'here: "quay.io/a:1" is no host of images, nor a path on one',
  ],
  "an address of a page": [
    "x",
    [{ to: "https://mirror.local" }],
    'here: "https://mirror.local" is no host of images, nor a path on one',
  ],
  "a text with blanks": ["x", [{ to: "mirror local" }], 'here: "mirror local" is no host of images, nor a path on one'],
};

const follow = (image: string, rules: readonly Rule[]): string =>
  rewriteImage(
    image,
    rules.map((rule) => parseHostRule(rule, "here")),
    "here",
  );

describe("hosts of images are replaced in", () => {
  test.each(Object.entries(rewritten))("%s", (_, [image, rules, after]) => {
    expect(follow(image, rules)).toBe(after);
    expect(follow(after, rules)).toBe(after);
  });
});

describe("hosts of images are left alone in", () => {
  test.each(Object.entries(untouched))("%s", (_, [image, rules]) => expect(follow(image, rules)).toBe(image));
});

describe("refused is", () => {
  test.each(Object.entries(refused))("%s", (_, [image, rules, why]) => {
    expect(() => follow(image, rules)).toThrow(new ControllerError("invalid", why));
  });
});

test("whatever the rules, following them twice is following them once", () => {
  const part = fc.constantFrom("a", "b");
  const host = fc.constantFrom("x.io", "y.io", "y.io:5000", "docker.io");
  const place = fc.tuple(host, fc.array(part, { maxLength: 2 })).map(([first, path]) => [first, ...path].join("/"));
  const rule = fc.record({ from: place, to: place }, { requiredKeys: ["to"] });
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
          return follow(given, rules);
        } catch (error) {
          expect(error).toBeInstanceOf(ControllerError);
          return undefined;
        }
      };
      const once = attempt();
      if (once !== undefined) expect(follow(once, rules)).toBe(once);
    }),
    { numRuns: 2000 },
  );
});
