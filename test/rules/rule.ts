/** A place in the source that is a rule, and what stands there when the rule is taken out. */
export type Removal = Readonly<{
  file: string;
  /** Occurs exactly once in the file. */
  text: string;
  without: string;
}>;

/** A test as its file spells it. */
export type NamedTest = Readonly<{
  file: string;
  /** The titles around it and its own, the outermost first. Each `%s` stands for one of the rows, in their order. */
  titles: readonly string[];
  rows?: readonly string[] | undefined;
}>;

/** Something that protects what users have, and the test that notices when it does not. */
export type Rule = Readonly<{
  /** What protects, in a sentence. */
  rule: string;
  /** What it protects from: what others have lost work by, or would. */
  incident: string;
  /** Where that happened. */
  seen?: readonly string[] | undefined;
  /** Taken out together. Where there are several, they are as many lines of defence: each of them alone protects. */
  removals: readonly Removal[];
  test: NamedTest;
  /** Why no run of the simulation can show whether the rule is there. @default a run can */
  simulation?: `not visible: ${string}` | undefined;
}>;

/** Whether a pattern matches the rule, the incident, the test or a file. Without a pattern, every rule is selected. */
export function isSelected({ rule, incident, removals, test }: Rule, only: RegExp | undefined): boolean {
  const words = [rule, incident, fullNameOf(test), test.file, ...removals.map(({ file }) => file)];
  return only === undefined || words.some((text) => only.test(text));
}

/** The name of a test in reports. */
export function fullNameOf(test: NamedTest): string {
  return filledTitles(test).join(" ");
}

/** A pattern that matches the name of this test and of no other, however a version of vitest puts titles together. */
export function patternOf(test: NamedTest): string {
  return `^${filledTitles(test)
    .map((title) => title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("(?: >)? ")}$`;
}

function filledTitles({ titles, rows = [] }: NamedTest): readonly string[] {
  const left = [...rows];
  return titles.map((title) => title.replaceAll("%s", () => left.shift() ?? "%s"));
}
