/** What a test run prints, and where it leaves its counts when CI asks for them. */
export function reporters(): (string | [string, Record<string, unknown>])[] {
  const file = process.env.TMC_TEST_RESULTS;
  return file === undefined ? ["default"] : ["default", ["json", { outputFile: file }]];
}
