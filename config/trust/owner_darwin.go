package trust

// adminGroup is the group of the users who may become root with sudo.
const adminGroup = 80

// groupFiles says that files list the members of groups. On macOS the directory service does.
const groupFiles = false
