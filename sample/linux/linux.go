// Package linux reads the system-wide metrics of Linux from /proc, /sys and a
// few system calls.
//
// Every source takes a root directory, below which it finds proc and sys: ""
// is the machine itself, anything else a tree of files that holds what a
// kernel once said. All but the calls themselves is portable and is tested on
// every platform.
//
// Reading again allocates nothing: files stay open and are read from their
// start into buffers that are kept.
package linux

import (
	"errors"
	"fmt"
	"os"

	"tachograph/sample"
)

// Sources opens all sources of system-wide metrics. What this kernel lacks is
// marked in their groups; it is an error only if there is no /proc at all.
func Sources(root string) ([]sample.Source, error) {
	if _, err := os.Stat(root + "/proc/stat"); err != nil {
		return nil, fmt.Errorf("linux: %s/proc/stat: %w: mount the proc file system", root, cause(err))
	}
	var all []sample.Source
	var failed error
	open := func(s sample.Source, err error) {
		if err != nil {
			failed = errors.Join(failed, err)
			return
		}
		all = append(all, s)
	}
	open(newStat(root))
	open(newLoad(root))
	for _, k := range keyedFiles {
		open(newKeyed(k, root))
	}
	open(newValues(root))
	open(newPressure(root))
	open(newDisks(root))
	open(newNetdev(root))
	open(newSoftnet(root))
	open(newTCPConn(root))
	open(newFilesystems(root))
	open(newNFS(root))
	open(newCPUInfo(root))
	open(newUsers(root))
	open(newPower(root))
	open(newThermal(root))
	open(newGPUs(root))
	open(newHost(root))
	open(newSelf(root))
	if failed != nil {
		for _, s := range all {
			s.Close()
		}
		return nil, failed
	}
	return all, nil
}
