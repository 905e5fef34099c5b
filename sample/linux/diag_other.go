//go:build !linux

package linux

// openDiagnoser returns nil: only Linux has netlink.
func openDiagnoser() diagnoser { return nil }
