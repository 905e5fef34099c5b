package perf

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample/stack"
	"tachograph/testdata/patience"
)

// theirs is a process in a made up /proc: this one's status and stat, and a /tmp of its own.
func theirs(t *testing.T, status string) (root, tmp string) {
	t.Helper()
	root = t.TempDir() + "/"
	tmp = root + "proc/7/root/tmp"
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"stat": string(stat), "status": status} {
		if err := os.WriteFile(root+"proc/7/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, tmp
}

func ownStatus(inner int) string {
	uid := os.Getuid()
	return fmt.Sprintf("Name:\tnode\nUid:\t%d\t%d\t%d\t%d\nNSpid:\t7\t%d\n", uid, uid, uid, uid, inner)
}

// A program's names are believed if the program can have written them.
func TestWhatProgramsWrite(t *testing.T) {
	const text = "1000 100 JS:*fib /fib.js:1:1\n"
	own := ownStatus(3)
	for name, c := range map[string]struct {
		status string
		make   func(path string) error
		want   string
	}{
		"its own":           {own, func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }, "JS:*fib /fib.js:1:1"},
		"another namespace": {ownStatus(4), func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }, ""},
		"none":              {own, func(string) error { return nil }, ""},
		"another user's": {strings.ReplaceAll(own, strconv.Itoa(os.Getuid()), "4242"), func(path string) error {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil || os.Getuid() != 0 {
				return err
			}
			return os.Chown(path, 4243, 4243)
		}, ""},
		"an earlier process's": {own, func(path string) error {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
			return os.Chtimes(path, time.Time{}, time.Unix(1e9, 0))
		}, ""},
		"a link": {own, func(path string) error {
			if err := os.WriteFile(path+".other", []byte(text), 0o644); err != nil {
				return err
			}
			return os.Symlink(path+".other", path)
		}, ""},
		"a directory": {own, func(path string) error { return os.Mkdir(path, 0o755) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root, tmp := theirs(t, c.status)
			if err := c.make(filepath.Join(tmp, "perf-3.map")); err != nil {
				t.Fatal(err)
			}
			w := newWritten()
			w.root = root
			// The first is where it was interrupted, the others are where calls return to.
			frames := []stack.Frame{{Address: 0x1000}, {Address: 0x1100}, {Address: 0x1000}, {Address: 0x1001, Image: &stack.Image{}}, {Address: 0x1001, Kernel: true}, {Address: 0x1001, Name: "known"}}
			w.name(&process{pid: 7}, frames)
			var got []string
			for _, f := range frames {
				got = append(got, f.Name)
			}
			if want := []string{c.want, c.want, "", "", "", "known"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// What a program goes on to write is read, and what it has begun anew.
func TestProgramsGoOnWriting(t *testing.T) {
	root, tmp := theirs(t, ownStatus(3))
	path := filepath.Join(tmp, "perf-3.map")
	w := newWritten()
	w.root = root
	for i, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return os.WriteFile(path, []byte("1000 10 a\n"), 0o644) }, "a"},
		{func() error { return os.WriteFile(path, []byte("1000 10 a\n1000 10 b\n"), 0o644) }, "b"},
		{func() error { return os.WriteFile(path, []byte("1000 10 c\n"), 0o644) }, "c"},
		{func() error { return os.Remove(path) }, ""},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		frames := []stack.Frame{{Address: 0x1000}}
		w.name(&process{pid: 7}, frames)
		if frames[0].Name != step.want {
			t.Errorf("step %d: %q, want %q", i, frames[0].Name, step.want)
		}
		w.texts[7].asked = time.Time{} // a second later
	}
	if w.bytes != 0 {
		t.Errorf("%d bytes are counted of nothing", w.bytes)
	}
}

// named samples a program until a stack has all the names, outer before inner. Before each time it
// asks the program to write them, if it does so only when it is asked: it may have made other code
// since.
func named(t *testing.T, pid int, ask func(), names ...string) {
	t.Helper()
	needsPerf(t, false)
	var last []string
	defer func() {
		if t.Failed() {
			t.Logf("the last stack has %q", last)
		}
	}()
	patience.UntilFor(t, time.Minute, fmt.Sprintf("a stack has %q", names), func() (found bool) {
		if ask != nil {
			ask()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := New().Sample(ctx, stack.Wish{PID: int32(pid), Rate: 499, For: 2 * time.Second}, func(x *stack.Sample) {
			left := names
			var text []string
			for i := len(x.Frames) - 1; i >= 0; i-- {
				if name := x.Frames[i].Name; !x.Frames[i].Kernel && name != "" {
					text = append(text, name)
					if len(left) > 0 && strings.Contains(name, left[0]) {
						left = left[1:]
					}
				}
			}
			if last = text; len(left) == 0 {
				found = true
				cancel()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	})
}

// program writes a program's text into a file.
func program(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// mapOf removes what the program writes, which lies in /tmp whatever TMPDIR says.
func mapOf(t *testing.T, cmd *exec.Cmd) {
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)) })
}

func TestNode(t *testing.T) {
	tool, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	t.Chdir(t.TempDir()) // it writes a log there
	const work = `
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2) }
function work() { fibonacci(20); setImmediate(work) }
console.log("ready")
process.stdin.on("end", () => process.exit()).resume()
work()
`
	t.Run("here", func(t *testing.T) {
		path := program(t, "work.js", work)
		cmd := started(t, tool, "--perf-basic-prof", path)
		mapOf(t, cmd)
		named(t, cmd.Process.Pid, nil, "fibonacci "+path+":2:", "fibonacci "+path+":2:")
	})
	// There it has another number, and another /tmp.
	t.Run("in a container", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root makes containers")
		}
		unshare, err := exec.LookPath("unshare")
		if err != nil {
			t.Skip("unshare is not installed")
		}
		cmd := started(t, unshare, "--mount", "--pid", "--fork", "sh", "-c", `mount -t tmpfs none /tmp && exec "$@"`, "sh", tool, "--perf-basic-prof", "-e", work)
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
		if err != nil {
			t.Skipf("the kernel does not say which children a process has: %v", err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		named(t, pid, nil, "fibonacci [eval]:2:", "fibonacci [eval]:2:")
	})
}

func TestJava(t *testing.T) {
	tool, err := exec.LookPath("java")
	if err != nil {
		t.Skip("java is not installed")
	}
	jcmd, err := exec.LookPath("jcmd")
	if err != nil {
		t.Skip("jcmd is not installed")
	}
	path := program(t, "Work.java", `
public class Work {
	static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
	static int outer(int n) { return fibonacci(n) + 1; }
	public static void main(String[] args) throws Exception {
		Thread work = new Thread(() -> { for (int sum = 0;; sum += outer(25)) { if (sum == 1) System.out.println(sum); } });
		work.setDaemon(true);
		work.start();
		System.out.println("ready");
		while (System.in.read() >= 0) {}
	}
}
`)
	cmd := started(t, tool, "-XX:+PreserveFramePointer", path)
	mapOf(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	named(t, cmd.Process.Pid, func() {
		if out, err := exec.Command(jcmd, pid, "Compiler.perfmap").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}, "Work.fibonacci(", "Work.fibonacci(")
}

func TestPython(t *testing.T) {
	tool := ""
	for _, name := range []string{"python3", "python3.14", "python3.13", "python3.12"} {
		if exec.Command(name, "-c", "import sys; sys.exit(sys.version_info < (3, 12))").Run() == nil {
			tool = name
		}
	}
	if tool == "" {
		t.Skip("no Python of 3.12 or later is to be had here")
	}
	path := program(t, "work.py", `
import sys, threading
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
def outer():
    while True: fibonacci(18)
threading.Thread(target=outer, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
`)
	cmd := started(t, tool, "-X", "perf", path)
	mapOf(t, cmd)
	named(t, cmd.Process.Pid, nil, "py::fibonacci:"+path)
}
