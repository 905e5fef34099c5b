// Package procfs parses the text that Linux shows under /proc/PID. It opens no files: every
// function works on bytes that its caller has read, allocates nothing and is the same on all
// platforms.
package procfs
