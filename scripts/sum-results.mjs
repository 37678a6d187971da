// Adds up the JSON reports of several test runs, names what failed, and prints `N passed, N failed`. Fails when anything failed or nothing ran.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

/** So much of each failure is repeated here: of a long run often only the end is kept. */
const longestMessage = 2_000;

let passed = 0;
let failed = 0;
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) continue; // a stage that died before its tests; its own exit code says so
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, "utf8"));
  // A file that could not be run has no test that failed.
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && !assertionResults.some((each) => each.status === "failed"),
  );
  passed += numPassedTests;
  failed += numFailedTests + broken.length;
  for (const { name, message } of broken) tell(name, "", message);
  for (const { name, assertionResults } of testResults) {
    for (const { status, fullName, failureMessages } of assertionResults) {
      if (status === "failed") tell(name, ` > ${fullName}`, failureMessages.join("\n"));
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;

function tell(file, title, message) {
  console.log(`failed: ${relative(process.cwd(), file)}${title}\n${message.slice(0, longestMessage)}\n`);
}
