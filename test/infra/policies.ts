import type { Template } from "aws-cdk-lib/assertions";
import { listOf, objectOf, resourcesOf, textOf } from "./synthesized.ts";

/** A permission: `action resource`. */
export type Right = string;

/** All permissions of a role, sorted, without those for its log, which every role has. */
export function rightsOf(role: string, templates: readonly Template[]): readonly Right[] {
  const all = templates.flatMap((template) => policiesOf(template));
  const statements = all.filter(({ roles }) => roles.includes(role)).flatMap((policy) => policy.statements);
  const rights = statements.flatMap(({ actions, resources }) =>
    actions.flatMap((action) => resources.map((resource) => `${action} ${textOf(resource, templates)}`)),
  );
  return [...new Set(rights.filter((right) => !right.startsWith("logs:")))].toSorted();
}

type Policy = Readonly<{
  id: string;
  /** Ids of the roles that have it. */
  roles: readonly string[];
  statements: readonly Readonly<{ actions: readonly string[]; resources: readonly unknown[] }>[];
}>;

/** Every policy of a template: separate ones and those within roles. */
export function policiesOf(template: Template): readonly Policy[] {
  const own = [...resourcesOf(template, "AWS::IAM::Policy"), ...resourcesOf(template, "AWS::IAM::ManagedPolicy")].map(
    ({ id, properties }) => ({
      id,
      roles: listOf(properties.Roles).map((role) => String(objectOf(role).Ref)),
      statements: statementsOf(properties.PolicyDocument),
    }),
  );
  const within = resourcesOf(template, "AWS::IAM::Role").flatMap(({ id, properties }) =>
    listOf(properties.Policies).map((policy) => ({
      id,
      roles: [id],
      statements: statementsOf(objectOf(policy).PolicyDocument),
    })),
  );
  return [...own, ...within];
}

const statementsOf = (document: unknown): Policy["statements"] =>
  listOf(objectOf(document).Statement)
    .map(objectOf)
    .map((statement) => ({ actions: listOf(statement.Action).map(String), resources: listOf(statement.Resource) }));
