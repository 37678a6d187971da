import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  kplaneTemplate,
  parseSecretTemplate,
  pointerProblem,
  renderSecret,
} from "../../../lib/sources/secret-template.ts";

const render = (template: string, name: string, namespace = "") =>
  renderSecret(parseSecretTemplate(template), { namespace, name });

describe("a template", () => {
  const cases: Record<string, { template: string; name?: string; namespace?: string; expected: string }> = {
    "renders kplane's name, in kplane's namespace": {
      template: "controlplane-{name}-kubeconfig",
      expected: "kplane-cp-acme/controlplane-acme-kubeconfig:kubeconfig",
    },
    "chooses the entry for clients outside": {
      template: "controlplane-{name}-kubeconfig:kubeconfig-external",
      expected: "kplane-cp-acme/controlplane-acme-kubeconfig:kubeconfig-external",
    },
    "may name the namespace": { template: "clusters/{name}", expected: "clusters/acme:kubeconfig" },
    "may be in the object's own namespace": {
      template: "{namespace}/{name}.kubeconfig",
      namespace: "team-a",
      expected: "team-a/acme.kubeconfig:kubeconfig",
    },
    "may have the name in the namespace alone": { template: "ns-{name}/admin", expected: "ns-acme/admin:kubeconfig" },
    "cuts kplane's own names as kplane does": {
      template: "controlplane-{name}-kubeconfig",
      name: "a".repeat(60),
      expected: `kplane-cp-${"a".repeat(40)}-11ee3912/cp-${"a".repeat(30)}-kubeconfig-11ee3912:kubeconfig`,
    },
  };
  it.each(Object.entries(cases))("%s", (_, { template, name = "acme", namespace = "", expected }) => {
    const rendered = render(template, name, namespace);
    expect("problem" in rendered ? rendered.problem : `${rendered.namespace}/${rendered.name}:${rendered.key}`).toBe(
      expected,
    );
  });

  const refusals: Record<string, string> = {
    "": 'its name "" can be no name of a secret',
    "kubeconfig/admin": "{name} is missing: all clusters would share one secret",
    "{namespace}/admin": "{name} is missing",
    "{uid}": "{uid} in its name is not {name}",
    "{namespace}-{name}": "{namespace} in its name is not {name}; its name has more than one placeholder",
    "{name}-{name}": "its name has more than one placeholder",
    "{{name}}": 'its name "{{name}}" can be no name of a secret',
    "{name": 'its name "{name" can be no name of a secret',
    "a/b/{name}": "is not [namespace/]name[:key]",
    "{name}:a:b": "is not [namespace/]name[:key]",
    "{name}:token": 'its key "token" is not one of kubeconfig, kubeconfig-external',
    "{name}:": 'its key "" is not one of',
    "/{name}": 'its namespace "" can be no name of a namespace',
    "Team/{name}": 'its namespace "Team" can be no name of a namespace',
    "a.b/{name}": 'its namespace "a.b" can be no name of a namespace',
    "../{name}": 'its namespace ".." can be no name of a namespace',
    "$(id)-{name}": 'its name "$(id)-{name}" can be no name of a secret',
    "{name}\n": "can be no name of a secret",
    "{constructor}": "{constructor} in its name is not {name}",
  };
  it.each(Object.entries(refusals))("is refused: %j", (template, why) => {
    expect(() => parseSecretTemplate(template)).toThrow(why);
  });

  it("says everything that is wrong with it at once", () => {
    expect(() => parseSecretTemplate("Team/{uid}:token")).toThrow(
      [
        'its namespace "Team" can be no name of a namespace',
        "{uid} in its name is not {name}",
        'its key "token" is not one of kubeconfig, kubeconfig-external',
        "{name} is missing: all clusters would share one secret",
      ].join("; "),
    );
  });
});

describe("what a template renders", () => {
  it("is refused where the object's name makes no name of it", () => {
    expect(render("ns-{name}/admin", "a.b")).toEqual({
      problem: 'its secret would be in "ns-a.b", which is no namespace',
    });
  });

  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
  const templates = fc.constantFrom(
    "{name}",
    "controlplane-{name}-kubeconfig",
    "{namespace}/{name}",
    "x-{namespace}/{name}-x",
    "x-{name}-y/{name}",
    "ns-{name}/admin",
  );
  const anything = fc.oneof(
    fc.string(),
    fc.constantFrom("{namespace}", "{name}", "../x", "a/b", "a:b", "$&", "$1", "a\u0000", "__proto__"),
  );

  it("is an address of a secret, whatever objects are called", () => {
    fc.assert(
      fc.property(templates, anything, anything, (template, name, namespace) => {
        const rendered = render(template, name, namespace);
        if ("problem" in rendered) return;
        expect(pointerProblem(rendered)).toBeUndefined();
        expect(`${rendered.namespace}${rendered.name}`).toMatch(/^[-a-z0-9.]+$/);
      }),
    );
  });

  it("is never the same for two clusters", () => {
    fc.assert(
      fc.property(templates, label, label, label, label, (template, name, namespace, otherName, otherNamespace) => {
        if (name === otherName) return; // names are unique among clusters
        const one = render(template, name, namespace);
        expect(render(template, otherName, otherNamespace)).not.toEqual(one);
      }),
    );
  });

  it("has kplane's own layout as the default", () => {
    expect(parseSecretTemplate("controlplane-{name}-kubeconfig")).toEqual(kplaneTemplate);
  });
});
