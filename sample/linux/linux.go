// Package linux reads the system-wide metrics of Linux from /proc, /sys and a few system
// calls.
//
// Every source takes a root directory that contains proc and sys: "" is this machine,
// anything else a copy of such files. Except for the system calls, the code is portable
// and tested on every platform.
//
// A second reading allocates nothing: files stay open and are read again from the start
// into the same buffers.
package linux

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// Sources opens all sources of system-wide metrics. They mark what this kernel lacks in their
// groups, and look for it again. It is an error only if there is no /proc at all.
func Sources(root string) ([]sample.Source, error) {
	if _, err := os.Stat(root + "/proc/stat"); err != nil {
		return nil, fmt.Errorf("linux: %s/proc/stat: %w: mount the proc file system", root, cause(err))
	}
	var all []sample.Source
	var failed error
	for _, open := range openers(root) {
		s, err := open()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all = append(all, looker{s, open})
	}
	if failed != nil {
		for _, s := range all {
			s.Close()
		}
		return nil, failed
	}
	return all, nil
}

type opener func() (sample.Source, error)

// openers returns the functions that open the sources.
func openers(root string) []opener {
	all := []opener{with(newStat, root), with(newLoad, root)}
	for _, k := range keyedFiles {
		all = append(all, func() (sample.Source, error) { return newKeyed(k, root) })
	}
	return append(all,
		with(newValues, root), with(newPressure, root), with(newDisks, root), with(newNetdev, root), with(newSoftnet, root),
		with(newTCPConn, root), with(newCgroups, root), with(newFilesystems, root), with(newNFS, root), with(newCPUInfo, root), with(newUsers, root),
		with(newPower, root), with(newPackages, root), with(newThermal, root), with(newGPUs, root), with(newHost, root), with(newSelf, root))
}

func with[S sample.Source](make func(root string) (S, error), root string) opener {
	return func() (sample.Source, error) { return make(root) }
}

// looker is a source that looks again by opening a fresh source of the same kind: that finds
// what Refresh would find.
type looker struct {
	sample.Source
	open opener
}

// another is a source that can compare more than its groups.
type another interface {
	// other reports whether a fresh source of the same type found other things.
	other(fresh sample.Source) bool
}

// Notice returns the source's notice, if it has one.
func (l looker) Notice() string {
	if n, ok := l.Source.(interface{ Notice() string }); ok {
		return n.Notice()
	}
	return ""
}

// Look implements sample.Looker.
func (l looker) Look() bool {
	fresh, err := l.open()
	if err != nil {
		return false
	}
	defer fresh.Close()
	if !slices.EqualFunc(l.Groups(), fresh.Groups(), (*metric.Group).Same) {
		return true
	}
	a, ok := l.Source.(another)
	return ok && a.other(fresh)
}
