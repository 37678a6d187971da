/** Which cluster a registration stands for; only the simulation reads it. */
export const clusterAnnotation = "simulation/cluster";
export const serverOf = (physical: string): string => `https://${physical}.clusters.example:6443`;
