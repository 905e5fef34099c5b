package trust

// adminGroup is the group of those who may become root by sudo.
const adminGroup = 80

// groupFiles says that files tell who is in a group. Here the directory
// service does.
const groupFiles = false
