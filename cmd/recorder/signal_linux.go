package main

import "syscall"

// statusSignal stands in for SIGINFO, which Linux does not have.
const (
	statusSignal     = syscall.SIGUSR2
	statusSignalName = "SIGUSR2"
)
