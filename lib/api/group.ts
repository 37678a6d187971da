/** The API group of our own kinds. */
export const group = "tmc.kcp.io";

/** The one version of our own kinds. */
export const version = "v1alpha1";

/** The APIExport that carries our kinds; named for the group, as kcp's own exports are. */
export const exportName = group;

/** The workspace that holds the APIExport unless an operator chose another. */
export const exportWorkspace = "root:tmc";

/** What the APIBinding is called in a tenant's workspace unless the tenant chose another name. */
export const bindingName = "tmc-binding";
