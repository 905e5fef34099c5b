// Package trust decides what a program that runs as root may obey: its
// configuration, the programs it starts or installs, the directory it keeps its
// archives in, its log.
//
// The rule is one: what root obeys, and every directory above it up to the root
// of the file system, and every symbolic link on the way, belongs to root and
// can be written by nobody else. A directory with the sticky bit, such as
// /tmp, may be written by all, since only owners can replace what is in it.
//
// A path is walked from the top: once a directory is known to be root's alone
// nobody can exchange what is checked next, so that the answer stays true until
// the path is used.
//
// Access lists count on Linux. Those of macOS are not looked at.
package trust
