import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  type LambdaClient,
  UpdateFunctionConfigurationCommand,
} from "@aws-sdk/client-lambda";

type Caller = Readonly<{ lambda: LambdaClient }>;

/** Calls a function of ours by hand, and answers what it does; fails when it does. */
export async function callFunction<T>({ lambda }: Caller, FunctionName: string): Promise<T> {
  const { Payload = new Uint8Array(), FunctionError } = await lambda.send(new InvokeCommand({ FunctionName }));
  const text = Buffer.from(Payload).toString("utf8");
  if (FunctionError !== undefined) throw new Error(`${FunctionName}: ${FunctionError}: ${text}`);
  return JSON.parse(text) as T; // our own function
}

/** Runs a function with other variables in its environment from now on; the answer makes it what it was. */
export async function changeEnvironment(
  { lambda }: Caller,
  FunctionName: string,
  variables: Readonly<Record<string, string>>,
): Promise<() => Promise<void>> {
  const { Environment } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
  const change = async (changes: Readonly<Record<string, string>>): Promise<void> => {
    const Variables = { ...Environment?.Variables, ...changes };
    await lambda.send(new UpdateFunctionConfigurationCommand({ FunctionName, Environment: { Variables } }));
  };
  await change(variables);
  return () => change({});
}
