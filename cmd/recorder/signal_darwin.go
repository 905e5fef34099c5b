package main

import "syscall"

// statusSignal is the signal of Ctrl-T.
const (
	statusSignal     = syscall.SIGINFO
	statusSignalName = "SIGINFO (Ctrl-T)"
)
