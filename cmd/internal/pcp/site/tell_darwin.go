package site

import (
	"os/exec"
	"path"
	"strconv"
	"strings"
)

// isPMCD reports whether a process is a pmcd: the pid in a file may be another process's by
// now.
func isPMCD(pid int) bool {
	out, err := exec.Command("/bin/ps", "-p", strconv.Itoa(pid), "-o", "comm=").Output()
	return err == nil && path.Base(strings.TrimSpace(string(out))) == "pmcd"
}

func processes() (list []process) {
	out, err := exec.Command("/bin/ps", "-axww", "-o", "pid=,command=").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		number, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil {
			list = append(list, process{pid: pid, words: strings.TrimSpace(words)})
		}
	}
	return list
}
