package main

import "syscall"

// statusSignal is what Ctrl-T sends.
const (
	statusSignal     = syscall.SIGINFO
	statusSignalName = "SIGINFO (Ctrl-T)"
)
