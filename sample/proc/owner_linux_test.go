package proc

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

const (
	boxNumber = "4f1c0e9a7b6d5c4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f"
	boxPath   = "/system.slice/docker-" + boxNumber + ".scope"
)

// in puts a process into control groups.
func (f *fakeTree) in(pid int, path string) {
	f.write(fmt.Sprintf("proc/%d/cgroup", pid), "0::"+path+"\n")
}

// owners returns the labels of an instance that name its owners.
func (r *reader) owners(key string) string {
	r.t.Helper()
	var b strings.Builder
	for _, l := range r.instance("proc", key).Owners() {
		fmt.Fprintf(&b, "%s=%s ", l.Name, l.Value)
	}
	return strings.TrimSpace(b.String())
}

func (r *reader) expectOwners(want map[string]string) {
	r.t.Helper()
	for key, w := range want {
		if got := r.owners(key); got != w {
			r.t.Errorf("the owners of %s are %q, want %q", key, got, w)
		}
	}
}

func TestOwnersOfProcesses(t *testing.T) {
	f := newFakeTree(t)
	f.write("var/lib/docker/containers/"+boxNumber+"/config.v2.json", `{"Name":"/web"}`)
	f.put(fakeProcess{pid: 2, comm: "kthreadd", start: 1, flags: kernelThread})
	f.in(2, "/")
	f.put(fakeProcess{pid: 50, comm: "nginx", start: 2})
	f.in(50, boxPath)
	f.put(fakeProcess{pid: 51, comm: "sshd", start: 3})
	f.in(51, "/system.slice/ssh.service")
	f.put(fakeProcess{pid: 52, comm: "bash", start: 4, uid: 501})
	f.in(52, "/user.slice/user-501.slice/session-3.scope")
	f.put(fakeProcess{pid: 53, comm: "alone", start: 5})
	f.put(fakeProcess{pid: 54, comm: "top", start: 6})
	f.in(54, "/")
	f.put(fakeProcess{pid: 56, comm: "vi", start: 8, tty: 136 << 8})
	f.in(56, "/")
	f.put(fakeProcess{pid: 57, comm: "sh", start: 9, tty: 136 << 8})
	f.in(57, boxPath)
	f.put(fakeProcess{pid: 58, ppid: 51, comm: "late", start: 10, state: 'Z'})
	f.in(58, "/")
	f.put(fakeProcess{pid: 59, comm: "faker", start: 11, uid: 501})
	f.in(59, "/user.slice/user-501.slice/user@501.service/docker-"+boxNumber+".scope")
	f.put(fakeProcess{pid: 55, comm: "firefox", start: 7})
	f.in(55, "/user.slice/user-501.slice/user@501.service/app.slice/app-flatpak-org.mozilla.firefox-123.scope")
	r := openReader(t, Options{Root: f.root}, everything)
	r.read("proc")
	r.expectOwners(map[string]string{
		"2/1": "service=kernel", "50/2": "container=web", "51/3": "service=ssh.service", "52/4": "session=3 of ana",
		"53/5": "", "54/6": "", "55/7": "app=firefox",
		"56/8": "session=pts/0", "57/9": "container=web", "58/10": "service=ssh.service", "59/11": "container=" + boxNumber[:12],
	})
	r.expect("proc", "50/2", map[string]string{
		"proc.owner.container": "web", "proc.id.container": boxNumber, "proc.psinfo.cgroups": ":" + boxPath,
		"proc.owner.service": "!the control group of the process is that of a container",
		"proc.owner.app":     "!no desktop started the process as an app",
	})
	r.expect("proc", "51/3", map[string]string{
		"proc.owner.service": "ssh.service", "proc.id.container": "!the process runs in no container",
		"proc.owner.container": "!the control group of the process is that of a service",
	})
	r.expect("proc", "53/5", map[string]string{"proc.owner.service": "!vanished", "proc.psinfo.cgroups": "!vanished", "proc.id.container": "!vanished"})
	r.expect("proc", "54/6", map[string]string{"proc.owner.service": "!the process is in the root control group"})
	r.expect("proc", "55/7", map[string]string{"proc.owner.app": "firefox", "proc.owner.bundle": "org.mozilla.firefox"})
	counts := make(map[string]string)
	for _, c := range r.sources[0].(*processes[linuxProcess, reading]).Owners() {
		counts[c.Kind+" "+c.Name] += fmt.Sprintf("%d by %s;", c.Processes, c.FoundBy)
	}
	for name, want := range map[string]string{
		"container web":       "2 by /var/lib/docker/containers/" + boxNumber + "/config.v2.json;",
		"service kernel":      "1 by flag of kernel threads;",
		"service ssh.service": "2 by cgroup /system.slice/ssh.service;",
		"session pts/0":       "1 by terminal of the process;",
		" ":                   "1 by the process is in the root control group;1 by vanished;",
	} {
		if counts[name] != want {
			t.Errorf("%s: %s, want %s", name, counts[name], want)
		}
	}
	r.expect("proc", "2/1", map[string]string{"proc.owner.service": "kernel", "proc.owner.app": "!the process is a thread of the kernel"})
}

// systemd moves a process after it has started it, and seldom later.
func TestOwnersAreLookedForAgain(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "systemd", start: 5})
	f.in(1, "/init.scope")
	r := openReader(t, Options{Root: f.root}, everything)
	r.now = metric.Stamp{Wall: 1_700_000_100e9, Awake: 100e9, Cont: 100e9}
	r.read("proc")
	f.put(fakeProcess{pid: 60, ppid: 1, comm: "job", start: 10100})
	f.in(60, "/init.scope")
	r.pass(5)
	r.read("proc")
	r.expectOwners(map[string]string{"60/10100": "service=init.scope"})
	rev := r.instance("proc", "60/10100").Rev
	f.in(60, "/system.slice/job.service")
	r.pass(5)
	r.read("proc")
	r.expectOwners(map[string]string{"60/10100": "service=job.service"})
	r.expect("proc", "60/10100", map[string]string{"proc.owner.service": "job.service"})
	if r.instance("proc", "60/10100").Rev == rev {
		t.Error("nothing shows that the labels have changed")
	}
	f.in(60, "/system.slice/other.service")
	for _, c := range []struct {
		after int64
		want  string
	}{{5, "job.service"}, {50, "job.service"}, {6, "other.service"}} {
		r.pass(c.after)
		r.read("proc")
		r.expectOwners(map[string]string{"60/10100": "service=" + c.want})
	}
	// An exec may follow a move at once.
	f.put(fakeProcess{pid: 60, ppid: 1, comm: "tool", start: 10100, exe: "/bin/tool"})
	f.in(60, "/system.slice/third.service")
	r.pass(5)
	r.read("proc")
	r.expectOwners(map[string]string{"60/10100": "service=third.service"})
	if in := r.instance("proc", "60/10100"); in.Label("exe") != "/bin/tool" || in.Label("parent") != "1/5" {
		t.Errorf("the other labels are %v", in.Labels)
	}
	// It keeps its owners when it ends.
	f.put(fakeProcess{pid: 60, ppid: 1, comm: "tool", start: 10100, state: 'Z', exe: "/bin/tool"})
	f.in(60, "/")
	r.pass(70)
	r.read("proc")
	r.expectOwners(map[string]string{"60/10100": "service=third.service"})
}

// A runtime writes the name of a container when it likes.
func TestNamesOfContainersAreLookedForAgain(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "nginx", start: 9990})
	f.in(50, boxPath)
	r := openReader(t, Options{Root: f.root}, everything)
	r.now = metric.Stamp{Wall: 1_700_000_100e9, Awake: 100e9, Cont: 100e9}
	r.read("proc")
	r.expectOwners(map[string]string{"50/9990": "container=" + boxNumber[:12]})
	f.write("var/lib/docker/containers/"+boxNumber+"/config.v2.json", `{"Name":"/web"}`)
	r.pass(5)
	r.read("proc")
	r.expectOwners(map[string]string{"50/9990": "container=web"})
}

// A process that no sweep has met has the owners of the process that started it. What the first
// process has adopted is not the first process's.
func TestOwnersOfWhatNoSweepHasMet(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "systemd", start: 5})
	f.in(1, "/init.scope")
	f.put(fakeProcess{pid: 40, comm: "make", start: 6})
	f.in(40, "/system.slice/build.service")
	f.put(fakeProcess{pid: 41, comm: "containerd-shim", start: 7})
	f.in(41, "/system.slice/containerd.service")
	r, w := hearing(t, f)
	r.read("proc")
	f.remove(40) // it ends in the same interval
	r.pass(5)
	exit := func(pid, parent uint32, name string) procfs.Exit {
		return procfs.Exit{PID: pid, TGID: pid, PPID: parent, Comm: comm(name), LastOfGroup: true, Lived: 1e9}
	}
	w.tell(103e9, exit(302, 301, "as"), exit(301, 300, "gcc"), exit(300, 40, "sh"), exit(310, 1, "orphan"), exit(311, 41, "in-box"),
		exit(312, 900, "stranger"), exit(40, 1, "make"))
	ev := r.read("proc")
	for pid, want := range map[int]string{302: "build.service", 301: "build.service", 300: "build.service", 310: "", 311: "", 312: ""} {
		e := findEvent(ev, metric.EventProcessExit, fmt.Sprintf("%d/10200", pid))
		if e == nil || e.Label("service") != want {
			t.Errorf("the event of %d is %+v, want service %q", pid, e, want)
		}
		if got := r.instance("proc", fmt.Sprintf("%d/10200", pid)).Label("service"); got != want {
			t.Errorf("%d is of service %q, want %q", pid, got, want)
		}
	}
	r.expect("proc", "302/10200", map[string]string{"proc.owner.service": "build.service", "proc.psinfo.cgroups": ":/system.slice/build.service"})
}

// Containers come and go; what is kept of them does not grow.
func TestAThousandContainers(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "systemd", start: 5})
	f.in(1, "/init.scope")
	r := openReader(t, Options{Root: f.root}, everything)
	r.now = metric.Stamp{Wall: 1_700_000_100e9, Awake: 100e9, Cont: 100e9}
	r.read("proc")
	const containers, together = 1000, 20
	at := func(n int) (number, key string) {
		return fmt.Sprintf("%064x", n+1), fmt.Sprintf("%d/%d", 100+n, 10000+n)
	}
	for from := 0; from < containers; from += together {
		for n := from; n < from+together; n++ {
			number, _ := at(n)
			if n%10 == 0 {
				f.write("var/lib/docker/containers/"+number+"/config.v2.json", fmt.Sprintf(`{"Name":"/job-%d"}`, n))
			}
			f.write(fmt.Sprintf("proc/%d/stat", 100+n), fakeProcess{pid: 100 + n, ppid: 1, comm: "job", start: uint64(10000 + n)}.stat(100+n))
			f.in(100+n, "/docker/"+number)
		}
		r.pass(5)
		r.read("proc")
		for n := from; n < from+together; n++ {
			number, key := at(n)
			want := fmt.Sprintf("container=job-%d", n)
			if n%10 != 0 {
				want = "container=" + number[:12]
			}
			if got := r.owners(key); got != want {
				t.Fatalf("the owners of %s are %q, want %q", key, got, want)
			}
			f.remove(100 + n)
		}
	}
	k := r.kernel()
	if most := 3*together + 2*few; len(k.belong.byText) > most || k.owners.Len() > most {
		t.Errorf("%d groups and %d owners are kept", len(k.belong.byText), k.owners.Len())
	}
}
