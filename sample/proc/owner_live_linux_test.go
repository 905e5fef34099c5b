package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// realGroup makes a control group for the test, deeper than those that others may have put this
// process in, and returns its directory.
func realGroup(t *testing.T, parts ...string) string {
	t.Helper()
	dir := "/sys/fs/cgroup"
	for _, tree := range []string{"unified", "systemd", "pids"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			break // version 2 only
		}
		if _, err := os.Stat(filepath.Join(dir, tree)); err == nil {
			dir = filepath.Join(dir, tree)
			break
		}
	}
	for _, part := range parts {
		dir = filepath.Join(dir, part)
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			t.Skipf("only root may make a control group, where there are any: %v", err)
		}
		made := dir
		t.Cleanup(func() { os.Remove(made) }) // which fails for those of others
	}
	return dir
}

func TestRealGroupsOfProcesses(t *testing.T) {
	name := "tachograph-test-" + strconv.Itoa(os.Getpid())
	box := realGroup(t, "system.slice", "system-tachograph.slice", name+".service", "docker-"+boxNumber+".scope")
	service := filepath.Dir(box)
	r := openReader(t, Options{}, everything)
	r.read("proc")
	a := start(t, "wait", nil)
	a.await("done")
	key := a.key()
	move := func(dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, a.cmd.Process.Pid), 0o644); err != nil {
			t.Skipf("only root may move a process: %v", err)
		}
	}
	move(service)
	r.read("proc")
	r.expectOwners(map[string]string{key: "service=" + name + ".service"})
	// It sleeps, and has been met once: it is looked at again all the same.
	move(box)
	r.read("proc")
	r.expectOwners(map[string]string{key: "container=" + boxNumber[:12] + " service=" + name + ".service"})
	r.expect("proc", key, map[string]string{"proc.id.container": boxNumber})
	move(service)
	in := r.instance("proc", key)
	a.finish()
	r.read("proc")
	if in.Label("container") != boxNumber[:12] {
		t.Errorf("after its end its labels are %v", in.Labels)
	}
}
