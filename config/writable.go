package config

import "syscall"

// writable asks the kernel, which takes read-only mounts and access lists into account.
func writable(dir string) error {
	const writeAndSearch = 0x2 | 0x1 // W_OK | X_OK
	return syscall.Access(dir, writeAndSearch)
}
