package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A binary is the built tests of a package.
type binary struct {
	pkg, dir, path string
}

// compile builds the tests of the packages; clean removes them.
func compile(o options) (list []binary, clean func(), err error) {
	out, err := exec.Command("go", append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"}, o.packages...)...).Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list %s: %w", strings.Join(o.packages, " "), reason(err))
	}
	to, err := os.MkdirTemp("", "again")
	if err != nil {
		return nil, nil, err
	}
	clean = func() { os.RemoveAll(to) }
	for n, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		pkg, dir, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		b := binary{pkg: pkg, dir: dir, path: filepath.Join(to, strconv.Itoa(n)+".test")}
		args := []string{"test", "-c", "-o", b.path, pkg}
		if o.race {
			args = append(args[:2:2], append([]string{"-race"}, args[2:]...)...)
		}
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			clean()
			return nil, nil, fmt.Errorf("%s: %w\n%s", pkg, err, out)
		}
		list = append(list, b)
	}
	if len(list) == 0 {
		clean()
		return nil, nil, fmt.Errorf("%s: no package has tests", strings.Join(o.packages, " "))
	}
	return list, clean, nil
}

// reason returns what a failed command wrote to stderr, if anything.
func reason(err error) error {
	if exit, ok := err.(*exec.ExitError); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%s", bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// run runs the tests once, in the order of a seed. failed are the tests that failed, or the
// package itself if none is named, as after a panic.
func (b binary) run(o options, seed uint64) (failed []string, output string) {
	cmd := exec.Command(b.path, "-test.v", "-test.count=1", "-test.paniconexit0", "-test.shuffle="+strconv.FormatUint(seed, 10),
		"-test.timeout="+o.timeout.String(), "-test.short="+strconv.FormatBool(o.short), "-test.run="+o.run)
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil, ""
	}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			failed = append(failed, name)
		}
	}
	if failed == nil {
		failed = []string{"(" + err.Error() + ")"}
	}
	return failed, string(out)
}
