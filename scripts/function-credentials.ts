// Takes the place of @aws-sdk/credential-provider-node in the functions' bundles: Lambda gives credentials in the environment,
// always, and what else the SDK could try (profiles, sign-on, programs) would only make every start slower.
import { fromEnv } from "@aws-sdk/credential-provider-env";

export const defaultProvider = () => fromEnv();
export const credentialsWillNeedRefresh = (): boolean => false;
export const credentialsTreatedAsExpired = (): boolean => false;
