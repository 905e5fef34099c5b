package trust

// adminGroup is none: which group may become root is up to the distribution.
const adminGroup = -1

// groupFiles says that files tell who is in a group.
const groupFiles = true
