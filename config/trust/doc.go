// Package trust decides what a program that runs as root may obey: its configuration, the
// programs it starts or installs, its archive directory, its log.
//
// There is one rule: what root obeys, and every directory above it up to the root of the file
// system, and every symbolic link on the way, belongs to root and no other user can write it. A
// directory with the sticky bit, such as /tmp, may be writable for all, since only owners can
// replace the files in it.
//
// A path is walked from the top: once a directory is known to be root's alone no other user can
// replace what is checked next, so that the answer stays true until the path is used.
//
// Access lists count on Linux. Those of macOS are not looked at.
package trust
