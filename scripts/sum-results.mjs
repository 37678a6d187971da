// Adds up the JSON reports of several test runs, prints the failures and `N passed, N failed`. Fails if a test failed or none ran.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

/** Maximum number of characters printed per failure. The failures are repeated because often only the end of a long log is kept. */
const maxMessageLength = 2_000;

let passed = 0;
let failed = 0;
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) continue; // the stage failed before its tests; its own exit code reports that
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, "utf8"));
  // A test file that could not be loaded has no failed test.
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && !assertionResults.some((each) => each.status === "failed"),
  );
  passed += numPassedTests;
  failed += numFailedTests + broken.length;
  for (const { name, message } of broken) printFailure(name, "", message);
  for (const { name, assertionResults } of testResults) {
    for (const { status, fullName, failureMessages } of assertionResults) {
      if (status === "failed") printFailure(name, ` > ${fullName}`, failureMessages.join("\n"));
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;

function printFailure(file, title, message) {
  console.log(`failed: ${relative(process.cwd(), file)}${title}\n${message.slice(0, maxMessageLength)}\n`);
}
