/** What vitest says of one test. */
export type TestResult = Readonly<{
  fullName: string;
  status: string;
  failureMessages: readonly string[];
}>;

/** What vitest says of one file; `message` is what kept it from being read, if anything did. */
export type FileResult = Readonly<{ name: string; message: string; tests: readonly TestResult[] }>;

/** Reads the report that vitest writes as JSON. */
export function parseReport(text: string): readonly FileResult[] {
  const report: unknown = JSON.parse(text);
  return listAt(report, "testResults").map((file) => ({
    name: textAt(file, "name"),
    message: textAt(file, "message"),
    tests: listAt(file, "assertionResults").map((test) => ({
      fullName: textAt(test, "fullName"),
      status: textAt(test, "status"),
      failureMessages: listAt(test, "failureMessages").map(String),
    })),
  }));
}

function listAt(value: unknown, field: string): readonly unknown[] {
  const list = fieldOf(value, field);
  if (!Array.isArray(list)) throw new Error(`vitest's report has no list "${field}"`);
  return list;
}

function textAt(value: unknown, field: string): string {
  const text = fieldOf(value, field);
  if (typeof text !== "string") throw new Error(`vitest's report has no text "${field}"`);
  return text;
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, field)?.value;
}
