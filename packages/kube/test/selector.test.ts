import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatLabelSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  selectorFromObject,
} from "../src/selector.ts";

const web = { app: "web", tier: "front", size: "12", "example.com/team": "a", empty: "" };

describe("label selectors", () => {
  const matching: Record<string, boolean> = {
    "": true,
    " ": true,
    "app=web": true,
    "app==web": true,
    "app = web , tier=front": true,
    "app=web,tier=back": false,
    "app!=web": false,
    "other!=web": true,
    "app in (web, api)": true,
    "app in (api)": false,
    "app notin (api)": true,
    "other notin (api)": true,
    "app notin (web)": false,
    app: true,
    other: false,
    "!app": false,
    "!other": true,
    "size>11": true,
    "size>12": false,
    "size<13": true,
    "app>1": false,
    "other>1": false,
    "example.com/team=a": true,
    "empty=": true,
    "empty in ()": true,
    "app in (,web)": true,
    "empty in (a,,b)": true,
    "in in (in)": false,
    "app in (in,notin,web)": true,
    "constructor!=x": true,
    toString: false,
  };
  test.each(Object.entries(matching))("%o matches the labels: %o", (text, expected) => {
    expect(matchesLabels(parseLabelSelector(text), web)).toBe(expected);
  });

  test("an object without labels matches only requirements of absence", () => {
    expect(matchesLabels(parseLabelSelector("!a,b!=c,d notin (e)"), undefined)).toBe(true);
    expect(matchesLabels(parseLabelSelector("a"), undefined)).toBe(false);
  });

  const keyForm =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const refused: Record<string, string> = {
    "a b": "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
    "x in (a": "unable to parse requirement: found '', expected: ',' or ')'",
    "x in (a b)": "unable to parse requirement: found 'b', expected: ',' or ')'",
    "x in (": "unable to parse requirement: found '', expected: ',', ')' or identifier",
    "x in (a,=)": "unable to parse requirement: found '=', expected: ',', or identifier",
    "a in b": "unable to parse requirement: found 'b' expected: '('",
    "=x": "found '=', expected: !, identifier, or 'end of string'",
    "a,,": "found ',', expected: identifier after ','",
    "a=b c": "found 'c', expected: ',' or 'end of string'",
    "a==(": "unable to parse requirement: found '(', expected: identifier",
    "!": "unable to parse requirement: found '', expected: identifier",
    "!a in (b)": "found 'in', expected: ',' or 'end of string'",
    "a>b":
      "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
    "-bad=1": `unable to parse requirement: <nil>: Invalid value: "-bad": name part ${keyForm}`,
    "a=-x":
      "unable to parse requirement: values[0][a]: Invalid value: \"-x\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  };
  test.each(Object.entries(refused))("%o is refused in the server's words", (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(new Error(message));
  });

  test("a selector is the same after it was formatted and parsed", () => {
    const name = fc.stringMatching(/^[a-z]([a-z0-9]{0,5}[a-z0-9])?$/);
    const term = fc.oneof(
      fc.tuple(name, name).map(([key, value]) => `${key}=${value}`),
      fc.tuple(name, name).map(([key, value]) => `${key}!=${value}`),
      fc.tuple(name, fc.uniqueArray(name, { minLength: 2 })).map(([key, values]) => `${key} in (${values.join(",")})`),
      fc.tuple(name, fc.integer()).map(([key, value]) => `${key}>${Math.abs(value)}`),
      name,
      name.map((key) => `!${key}`),
    );
    fc.assert(
      fc.property(fc.array(term), (terms) => {
        const selector = parseLabelSelector(terms.join(","));
        expect(parseLabelSelector(formatLabelSelector(selector))).toEqual(selector);
      }),
    );
  });
});

describe("selectors of objects", () => {
  test("all labels and expressions of an object's selector must match", () => {
    const selector = selectorFromObject({
      matchLabels: { app: "web" },
      matchExpressions: [
        { key: "tier", operator: "In", values: ["front", "back"] },
        { key: "gone", operator: "DoesNotExist" },
        { key: "size", operator: "Exists" },
        { key: "tier", operator: "NotIn", values: ["back"] },
      ],
    });
    expect(matchesLabels(selector, web)).toBe(true);
    expect(matchesLabels(selector, { ...web, gone: "x" })).toBe(false);
    expect(matchesLabels(selector, { ...web, app: "api" })).toBe(false);
  });

  test("an empty selector of an object matches everything", () => {
    expect(matchesLabels(selectorFromObject({}), {})).toBe(true);
  });

  test("a selector with an unknown operator is rejected", () => {
    expect(() => selectorFromObject({ matchExpressions: [{ key: "a", operator: "Near" }] })).toThrow(
      '"Near" is not a valid label selector operator',
    );
  });

  test("a selector with an operator without its values is rejected", () => {
    expect(() => selectorFromObject({ matchExpressions: [{ key: "a", operator: "In" }] })).toThrow(
      "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    );
  });
});

describe("field selectors", () => {
  const get = (field: string): string | undefined => ({ "metadata.name": "a,b=c\\d", "spec.node": "n1" })[field];
  const matching: Record<string, boolean> = {
    "": true,
    "spec.node=n1": true,
    "spec.node==n1,spec.node!=n2": true,
    "spec.node!=n1": false,
    "spec.other=": true,
    "spec.other!=": false,
    "metadata.name=a\\,b\\=c\\\\d": true,
  };
  test.each(Object.entries(matching))("%o matches the object: %o", (text, expected) => {
    expect(matchesFields(parseFieldSelector(text), get)).toBe(expected);
  });

  const refused: Record<string, string> = {
    a: "invalid selector: 'a'; can't understand 'a'",
    "metadata.name=a\\b": "invalid field selector: invalid escape sequence: \\b",
    "metadata.name=a\\": "invalid field selector: invalid escape sequence: \\",
    "metadata.name=a=b": "invalid field selector: unescaped character in value: 61",
  };
  test.each(Object.entries(refused))("%o is refused in the server's words", (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(new Error(message));
  });
});
