// Package macho reads what code a process on macOS has loaded, from the process's own memory:
// dyld's list of images, the images' headers, and the names of their functions. It makes no
// system calls and is the same, and tested, on every platform. The memory belongs to another
// process and may be changing: the package checks every number in it, and bounds everything.
package macho
