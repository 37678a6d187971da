import { choice, listMap, object, required, text, time, type ValueOf, whole } from "./schema.ts";

const condition = object("One statement about the object, true or false as of a moment.", {
  type: required(
    text("What the condition is about, for example Ready.", {
      minLength: 1,
      maxLength: 316,
      pattern: "^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
    }),
  ),
  status: required(choice("Whether it holds.", ["True", "False", "Unknown"])),
  severity: choice("How bad it is when it does not hold; left out when it does.", ["Error", "Warning", "Info"]),
  reason: required(
    text("The cause in one word, for programs.", {
      minLength: 1,
      maxLength: 1024,
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    }),
  ),
  message: required(text("The cause in a sentence, for people.", { maxLength: 32_768 })),
  lastTransitionTime: required(time("When status last changed.")),
  observedGeneration: whole("The metadata.generation that this was said of.", { minimum: 0 }),
});

/** A condition in the form that kubectl and other controllers read; `severity` is there for kcp's own tools. */
export type ApiCondition = ValueOf<typeof condition>;

/** The list of conditions that every status has, one of each type. */
export const conditions = listMap("What is known about the object, one entry for each type.", "type", condition);

/** The generation that a status was made from. */
export const observedGeneration = whole("The metadata.generation that this status was made from.", { minimum: 0 });
