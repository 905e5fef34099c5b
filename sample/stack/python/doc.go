// Package python reads the stacks of Python programs from the memory of CPython, versions 3.11 to
// 3.14: which functions of the program a thread is in, where the machine's own stack only shows
// the interpreter's evaluation loop.
//
// Nothing in the program is stopped, called or changed. Its memory is read while it runs, so what
// is read may be half of one moment and half of another. Each pointer to a function is checked
// before it is believed, and a stack that does not hold together is read once more and then left
// out. The memory is a stranger's: every loop, string and table has a limit, and a program that
// lies about itself gets wrong names for its own frames and nothing else.
//
// From 3.13 on the interpreter has a table of the offsets of its own structures for readers like
// this one. Before that the offsets are known by version.
package python
