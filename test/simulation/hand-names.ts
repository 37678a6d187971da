/** By this annotation a stranger's object says that nobody but its owner may touch it. */
export const strangersAnnotation = "simulation/stranger";
