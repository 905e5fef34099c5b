//go:build !linux

package linux

// openDiagnoser finds none: netlink is Linux's own.
func openDiagnoser() diagnoser { return nil }
