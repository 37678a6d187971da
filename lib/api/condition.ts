import {
  enumField,
  type Field,
  integerField,
  listMapField,
  objectField,
  requiredField,
  stringField,
  timeField,
  type ValueOf,
} from "./schema.ts";

const condition = objectField("A condition of the object.", {
  type: requiredField(
    stringField("Type of the condition, for example Ready.", {
      minLength: 1,
      maxLength: 316,
      pattern: "^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
    }),
  ),
  status: requiredField(enumField("Status of the condition: True, False or Unknown.", ["True", "False", "Unknown"])),
  severity: enumField("Severity of a condition that is not True. Unset if it is True.", ["Error", "Warning", "Info"]),
  reason: requiredField(
    stringField("Machine-readable reason for the last transition.", {
      minLength: 1,
      maxLength: 1024,
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    }),
  ),
  message: requiredField(stringField("Human-readable explanation of the status.", { maxLength: 32_768 })),
  lastTransitionTime: requiredField(timeField("When the status of the condition last changed.")),
  observedGeneration: integerField("metadata.generation that the condition was derived from.", { minimum: 0 }),
});

/** A condition in the form of metav1.Condition, plus `severity`, which kcp's own tools read. */
export type ApiCondition = ValueOf<typeof condition>;

/** The `conditions` of a status. */
export const conditionsField = listMapField(
  "Conditions of the object, one entry per type. Written by TMC.",
  "type",
  condition,
);

/** The `observedGeneration` of a status. */
export const observedGenerationField = integerField(
  "metadata.generation that the status was derived from. Written by TMC.",
  { minimum: 0 },
);

/** Label of a Secret that allows its use as credentials of the registration that the value names. */
export const credentialsSecretLabel = "tmc.kcp.io/cluster-credentials";
/** Type of a Secret that allows its use as credentials of any registration in its workspace. */
export const credentialsSecretType = "tmc.kcp.io/cluster-credentials";

/** A field for the name of an object: an RFC 1123 subdomain. */
export function objectNameField(description: string): Field<string> {
  return stringField(description, {
    minLength: 1,
    maxLength: 253,
    pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
  });
}

/** A field for the type of a capability: compute, storage, networking, gpu or any other name. */
export function capabilityTypeField(description: string): Field<string> {
  return stringField(description, {
    minLength: 1,
    maxLength: 63,
    pattern: "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$",
  });
}
