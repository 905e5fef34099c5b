// Package macho reads what code a process on macOS has loaded, from the
// process's own memory: dyld's list of images, the headers of these, and the names
// of their functions. It calls nothing and is the same, and tested, on every
// platform. The memory is a stranger's and may be changing: every number in it is
// checked, and everything is bounded.
package macho
