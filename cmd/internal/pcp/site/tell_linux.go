package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// isPMCD reports whether a process is a pmcd: the pid in a file may be another process's by
// now.
func isPMCD(pid int) bool {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.TrimSpace(string(comm)) == "pmcd"
}

func processes() (list []process) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", d.Name(), "cmdline"))
		if err != nil {
			continue
		}
		exe, err := os.Readlink(filepath.Join("/proc", d.Name(), "exe"))
		list = append(list, process{
			pid: pid, words: strings.ReplaceAll(strings.TrimSuffix(string(text), "\x00"), "\x00", " "),
			replaced: err == nil && strings.HasSuffix(exe, " (deleted)"),
		})
	}
	return list
}
