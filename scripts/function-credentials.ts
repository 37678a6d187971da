// Replaces @aws-sdk/credential-provider-node in the bundles of the functions. Lambda always provides credentials in environment
// variables; the other providers of the SDK (profiles, SSO, processes) would only slow the cold start.
import { fromEnv } from "@aws-sdk/credential-provider-env";

export const defaultProvider = () => fromEnv();
export const credentialsWillNeedRefresh = (): boolean => false;
export const credentialsTreatedAsExpired = (): boolean => false;
