import type { NamedTest, Rule } from "./rule.ts";

const inSecret = (title: string, ...rows: readonly string[]): NamedTest => ({
  file: "test/lib/credentials/credentials.test.ts",
  titles: ["credentials from a secret", title],
  rows,
});

const stolenSecret = "a user who may not read Secrets makes TMC use one";

/** Rules that protect the Secrets of a workspace. */
export const secretRules: readonly Rule[] = [
  {
    incident: stolenSecret,
    rule: "a Secret is used only for the registration that its label names",
    removals: [
      {
        file: "lib/credentials/secret-credentials.ts",
        text: "if (labels[credentialsSecretLabel] === use.registration) return undefined;",
        without: "if (labels !== undefined) return undefined;",
      },
    ],
    test: inSecret("a Secret cannot be used if it %s", "has the label of another registration"),
  },
  {
    incident: stolenSecret,
    rule: "tokens of service accounts of the workspace are not sent to clusters",
    removals: [
      {
        file: "lib/credentials/secret-credentials.ts",
        text: 'if (type === serviceAccountTokenType) return "a service account token is not accepted";',
        without: "",
      },
    ],
    test: inSecret("a Secret cannot be used if it %s", "is the token of a service account"),
  },
  {
    incident: stolenSecret,
    rule: "a token is sent only to the server that its Secret names",
    removals: [
      {
        file: "lib/credentials/secret-credentials.ts",
        text: "if (endpoint !== undefined && trimTrailingSlashes(endpoint.server) !== server) {",
        without: "if (false) {",
      },
    ],
    test: inSecret("the token of a Secret is sent only to the server that the Secret names"),
  },
];
