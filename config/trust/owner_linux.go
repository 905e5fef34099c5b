package trust

// adminGroup is none: which group may become root depends on the distribution.
const adminGroup = -1

// groupFiles says that files list the members of groups.
const groupFiles = true
