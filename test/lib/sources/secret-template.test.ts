import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  kplaneTemplate,
  parseSecretTemplate,
  renderSecret,
  secretReferenceError,
} from "../../../lib/sources/secret-template.ts";

const render = (template: string, name: string, namespace = "") =>
  renderSecret(parseSecretTemplate(template), { namespace, name });

describe("parseSecretTemplate", () => {
  const cases: Record<string, { template: string; name?: string; namespace?: string; expected: string }> = {
    "uses kplane's namespace for a template without a namespace": {
      template: "controlplane-{name}-kubeconfig",
      expected: "kplane-cp-acme/controlplane-acme-kubeconfig:kubeconfig",
    },
    "reads the key for external clients if the template names it": {
      template: "controlplane-{name}-kubeconfig:kubeconfig-external",
      expected: "kplane-cp-acme/controlplane-acme-kubeconfig:kubeconfig-external",
    },
    "uses the namespace in the template": { template: "clusters/{name}", expected: "clusters/acme:kubeconfig" },
    "replaces {namespace} with the namespace of the object": {
      template: "{namespace}/{name}.kubeconfig",
      namespace: "team-a",
      expected: "team-a/acme.kubeconfig:kubeconfig",
    },
    "accepts {name} in the namespace only": { template: "ns-{name}/admin", expected: "ns-acme/admin:kubeconfig" },
    "shortens long kplane names in the same way as kplane": {
      template: "controlplane-{name}-kubeconfig",
      name: "a".repeat(60),
      expected: `kplane-cp-${"a".repeat(40)}-11ee3912/cp-${"a".repeat(30)}-kubeconfig-11ee3912:kubeconfig`,
    },
  };
  it.each(Object.entries(cases))("%s", (_, { template, name = "acme", namespace = "", expected }) => {
    const rendered = render(template, name, namespace);
    expect("error" in rendered ? rendered.error : `${rendered.namespace}/${rendered.name}:${rendered.key}`).toBe(
      expected,
    );
  });

  const invalidTemplates: Record<string, string> = {
    "": 'the name "" is not a valid secret name',
    "kubeconfig/admin": "{name} is missing: all clusters would use the same secret",
    "{namespace}/admin": "{name} is missing",
    "{uid}": "{uid} in the name is not {name}",
    "{namespace}-{name}": "{namespace} in the name is not {name}; the name has more than one placeholder",
    "{name}-{name}": "the name has more than one placeholder",
    "{{name}}": 'the name "{{name}}" is not a valid secret name',
    "{name": 'the name "{name" is not a valid secret name',
    "a/b/{name}": "does not have the form [namespace/]name[:key]",
    "{name}:a:b": "does not have the form [namespace/]name[:key]",
    "{name}:token": 'key "token" is not one of kubeconfig, kubeconfig-external',
    "{name}:": 'key "" is not one of',
    "/{name}": 'the namespace "" is not a valid namespace',
    "Team/{name}": 'the namespace "Team" is not a valid namespace',
    "a.b/{name}": 'the namespace "a.b" is not a valid namespace',
    "../{name}": 'the namespace ".." is not a valid namespace',
    "$(id)-{name}": 'the name "$(id)-{name}" is not a valid secret name',
    "{name}\n": "is not a valid secret name",
    "{constructor}": "{constructor} in the name is not {name}",
  };
  it.each(Object.entries(invalidTemplates))("rejects the template %j", (template, why) => {
    expect(() => parseSecretTemplate(template)).toThrow(why);
  });

  it("reports all errors of a template in one message", () => {
    expect(() => parseSecretTemplate("Team/{uid}:token")).toThrow(
      [
        'the namespace "Team" is not a valid namespace',
        "{uid} in the name is not {name}",
        'key "token" is not one of kubeconfig, kubeconfig-external',
        "{name} is missing: all clusters would use the same secret",
      ].join("; "),
    );
  });
});

describe("renderSecret", () => {
  it("returns an error if the result is not a valid name", () => {
    expect(render("ns-{name}/admin", "a.b")).toEqual({
      error: 'secret namespace "ns-a.b" is not a valid namespace',
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

  it("returns only valid secret names, for any object name", () => {
    fc.assert(
      fc.property(templates, anything, anything, (template, name, namespace) => {
        const rendered = render(template, name, namespace);
        if ("error" in rendered) return;
        expect(secretReferenceError(rendered)).toBeUndefined();
        expect(`${rendered.namespace}${rendered.name}`).toMatch(/^[-a-z0-9.]+$/);
      }),
    );
  });

  it("never returns the same secret for two clusters", () => {
    fc.assert(
      fc.property(templates, label, label, label, label, (template, name, namespace, otherName, otherNamespace) => {
        if (name === otherName) return; // names are unique among clusters
        const one = render(template, name, namespace);
        expect(render(template, otherName, otherNamespace)).not.toEqual(one);
      }),
    );
  });

  it("has the template of kplane as its default namespace and key", () => {
    expect(parseSecretTemplate("controlplane-{name}-kubeconfig")).toEqual(kplaneTemplate);
  });
});
