package perf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/stack"
)

// pythonsHere returns the pythons of this machine that can be read.
func pythonsHere(t *testing.T) []string {
	t.Helper()
	var all []string
	home, _ := os.UserHomeDir()
	for _, version := range []string{"3.11", "3.12", "3.13", "3.14"} {
		for _, where := range []string{"/usr/bin/python", "/usr/local/bin/python", filepath.Join(home, ".pyenv/versions", version+".*/bin/python")} {
			names, _ := filepath.Glob(where + version)
			for _, name := range names {
				if out, err := exec.Command(name, "-c", "print(1)").Output(); err == nil && string(out) == "1\n" {
					all = append(all, name)
				}
			}
		}
	}
	if len(all) == 0 {
		t.Skip("python3.11 is not installed")
	}
	return all
}

// busy is the program in Python that is sampled.
func busy(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/busy.py")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// functions are the functions of Python in a stack, the outermost first.
func functions(x *stack.Sample) string {
	var names []string
	for _, f := range slices.Backward(x.Frames) {
		if f.Start > 0 {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ";")
}

// ofPython samples a Python program until there are enough samples of running threads with
// functions of Python, and returns how often which were seen.
func ofPython(t *testing.T, path, role string, enough int) (chains map[string]int, all []stack.Sample) {
	t.Helper()
	cmd := started(t, path, busy(t), role)
	known := 0
	got, statistics := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 997}, func(g *seen, x *stack.Sample) bool {
		if x.State == stack.Running && functions(x) != "" {
			known++
		}
		return known >= enough
	})
	if statistics.Python != "" {
		t.Error(statistics.Python)
	}
	chains = make(map[string]int)
	for i := range got.all {
		if x := &got.all[i]; x.State == stack.Running && functions(x) != "" {
			chains[functions(x)]++
		}
	}
	return chains, got.all
}

// share is the share of the chains that have a part.
func share(chains map[string]int, part string) float64 {
	n, of := 0, 0
	for chain, count := range chains {
		of += count
		if strings.Contains(chain+";", part) {
			n += count
		}
	}
	return float64(n) / float64(max(of, 1))
}

// Functions of Python have the shares of time that the program gives them, with their files and
// lines.
func TestPythonShares(t *testing.T) {
	needsPerf(t, false)
	for _, path := range pythonsHere(t) {
		t.Run(path, func(t *testing.T) {
			chains, all := ofPython(t, path, "shares", 3000)
			heavy, light := share(chains, ";Outer.run;heavy;"), share(chains, ";Outer.run;light;")
			if heavy < 0.65 || heavy > 0.75 || heavy+light < 0.97 {
				t.Errorf("heavy has %.3f, light %.3f: want 0.7 and 0.3\n%v", heavy, light, chains)
			}
			lines, spins, calls := make(map[int]bool), 0, 0
			for _, x := range all {
				for i, f := range x.Frames {
					if f.Start > 0 && f.Name == "spin" {
						if f.Start != 9 || f.Line < 9 || f.Line > 13 || filepath.Base(f.File) != "busy.py" || f.Image != nil {
							t.Fatalf("%+v", f)
						}
						lines[f.Line] = true
						// The caller may just have been called again, and be at its beginning.
						if caller := x.Frames[i+1]; caller.Name == "heavy" && caller.Line == 17 || caller.Name == "light" && caller.Line == 21 {
							calls++
						}
						spins++
					}
					if f.Name == "_PyEval_EvalFrameDefault" && x.State == stack.Running && functions(&x) != "" {
						t.Fatalf("the loop is left: %+v", x.Frames)
					}
				}
			}
			if calls < spins*9/10 {
				t.Errorf("of %d calls, %d are at the line of the call", spins, calls)
			}
			if !lines[11] || !lines[12] {
				t.Errorf("lines of the loop: %v", lines)
			}
		})
	}
}

// Functions that C has called are seen with those that called C.
func TestPythonCalledByC(t *testing.T) {
	needsPerf(t, false)
	for _, path := range pythonsHere(t) {
		for role, want := range map[string]string{
			"sort": ";through_sort;key;spin;",
			"json": ";through_json;dumps;JSONEncoder.encode;JSONEncoder.iterencode;convert;spin;",
		} {
			t.Run(fmt.Sprint(path, " ", role), func(t *testing.T) {
				chains, all := ofPython(t, path, role, 200)
				if got := share(chains, want); got < 0.7 {
					t.Errorf("%s has %.3f: %v", want, got, chains)
				}
				// What C did in between is there, between them.
				between, of := 0, 0
				for _, x := range all {
					inner := slices.IndexFunc(x.Frames, func(f stack.Frame) bool { return f.Name == "key" || f.Name == "convert" })
					outer := slices.IndexFunc(x.Frames, func(f stack.Frame) bool { return strings.HasPrefix(f.Name, "through_") })
					if inner < 0 || outer < 0 {
						continue
					}
					of++
					if slices.ContainsFunc(x.Frames[inner:outer], func(f stack.Frame) bool { return f.Image != nil }) {
						between++
					}
				}
				if between < of*9/10 {
					t.Errorf("of %d stacks, %d have frames of C in between", of, between)
				}
			})
		}
	}
}

// Threads that wait are seen where they wait in their program.
func TestPythonWaits(t *testing.T) {
	needsPerf(t, false)
	for _, path := range pythonsHere(t) {
		t.Run(path, func(t *testing.T) {
			cmd := started(t, path, busy(t), "waits")
			want := []string{";waits_for_lock", ";sleeps", "main"}
			times := make([]int, len(want))
			got, statistics := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 99}, func(g *seen, x *stack.Sample) bool {
				for i, chain := range want {
					if x.State == stack.Waiting && strings.HasSuffix(functions(x), chain) {
						times[i]++
					}
				}
				return slices.Min(times) >= 6 // of a wait that began before, the first look only finds that it is one
			})
			if slices.Min(times) < 6 {
				t.Errorf("%v of %v: %v", times, want, got.waiting)
			}
			if strings.HasPrefix(statistics.WaitsWhy, "waits") {
				return // they are not measured here
			}
			found := make([]bool, len(want))
			for i := range got.all {
				for k, chain := range want {
					found[k] = found[k] || got.all[i].Waited > 0 && strings.HasSuffix(functions(&got.all[i]), chain)
				}
			}
			if slices.Contains(found, false) {
				t.Errorf("measured: %v of %v", found, want)
			}
			for i := range got.all {
				if x := &got.all[i]; strings.HasSuffix(functions(x), ";waits_for_lock") && strings.Contains(x.Wait, "GIL") {
					t.Errorf("a lock of the program's is taken for the GIL: %q", x.Wait)
				}
			}
		})
	}
}

// A thread that waits for the interpreter's lock says so, and which thread has it.
func TestPythonLock(t *testing.T) {
	needsPerf(t, false)
	for _, path := range pythonsHere(t) {
		t.Run(path, func(t *testing.T) {
			cmd := started(t, path, busy(t), "gil")
			threads, held := make(map[uint64]bool), 0
			got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 199}, func(g *seen, x *stack.Sample) bool {
				threads[x.Thread.TID] = true
				var holder uint64
				if n, _ := fmt.Sscanf(x.Wait, "the GIL, held by thread %d", &holder); n == 1 && threads[holder] && holder != x.Thread.TID {
					// The thread that starts the others waits for it too.
					if f := functions(x); !strings.Contains(f, ";burns") && !strings.Contains(f, ";fights") {
						t.Errorf("%s waits for the GIL in %v", functions(x), x.Frames)
					}
					held++
				}
				return held >= 20
			})
			if held < 20 {
				t.Errorf("%d wait for the lock: %v", held, got.waiting)
			}
		})
	}
}

// In a container threads have other numbers, and the interpreter knows only those.
func TestPythonInContainer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes containers")
	}
	tool, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("unshare is not installed")
	}
	needsPerf(t, false)
	cmd := started(t, tool, "--pid", "--fork", "--kill-child", pythonsHere(t)[0], busy(t), "shares")
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var child int32
	fmt.Sscan(string(text), &child)
	ran, waited := 0, 0
	got, _ := sampled(t, New(), stack.Wish{PID: child, Rate: 499}, func(g *seen, x *stack.Sample) bool {
		switch chain := functions(x); {
		case x.State == stack.Running && strings.Contains(chain, ";Outer.run"):
			ran++
		case x.State == stack.Waiting && strings.HasSuffix(chain, ";main"):
			waited++
		}
		return ran > 20 && waited > 5
	})
	if ran <= 20 || waited <= 5 {
		t.Errorf("it ran %d times and waited %d times: %v, %v", ran, waited, got.running, got.waiting)
	}
}

// If all processes are sampled, those with Python are found, and those that begin later.
func TestPythonAmongAll(t *testing.T) {
	needsPerf(t, true)
	path := pythonsHere(t)[0]
	first := int32(started(t, path, busy(t), "shares").Process.Pid)
	var second int32
	counts := make(map[int32]int)
	sampled(t, New(), stack.Wish{Rate: 499}, func(g *seen, x *stack.Sample) bool {
		if strings.Contains(functions(x), ";Outer.run") {
			counts[x.Thread.PID]++
		}
		if second == 0 && counts[first] > 0 {
			second = int32(started(t, path, busy(t), "shares").Process.Pid)
		}
		return counts[first] > 20 && counts[second] > 20
	})
	if counts[first] <= 20 || counts[second] <= 20 {
		t.Errorf("they were seen %d and %d times", counts[first], counts[second])
	}
}

// A process that becomes another program has another interpreter, or none.
func TestPythonBecomesAnother(t *testing.T) {
	p := newProcesses()
	p.get(7).python = &interpreter{regions: 3}
	var r record
	if !r.parse(made(kindCommand, commandExec, int32(7), int32(7), "other", who{7, 7, 1})) {
		t.Fatal("it is not read")
	}
	if p.hear(&r); p.get(7).python != nil {
		t.Error("the former one is still there")
	}
}

// An ordinary user reads his own program.
func TestPythonOfOrdinaryUser(t *testing.T) {
	path := pythonsHere(t)[0]
	script, err := os.ReadFile("testdata/busy.py")
	if err != nil {
		t.Fatal(err)
	}
	as := ordinaryUser(t)
	needsPerf(t, false)
	if limit("perf_event_paranoid", 0) > 2 {
		t.Skip("the kernel allows no perf events to users without rights")
	}
	file := filepath.Join(as.dir, "busy.py")
	if err := os.WriteFile(file, script, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := as.run("sample", "python", path, file); out != "perf: Outer.run was seen\n" {
		t.Errorf("%q", out)
	}
}
