package query

import "testing"

// Names that people use for a thing lead to the metrics of its gauge, whole words before
// names that merely contain the letters.
func TestNearestIsWhatIsMeant(t *testing.T) {
	names := []string{"hinv.ncpu", "hinv.cpu.clock", "hinv.cpu.cache", "kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.cpu.nice",
		"gpu.memory.free", "mem.physmem", "mem.util.available", "mem.util.used", "kernel.all.load", "proc.memory.rss"}
	for word, want := range map[string]string{
		"cpu": "kernel.all.cpu.user", "CPU": "kernel.all.cpu.user", "memory": "mem.physmem", "memroy": "mem.physmem", "load": "kernel.all.load", "laod": "kernel.all.load",
		"kernel.all.laod": "kernel.all.load", "cache": "hinv.cpu.cache",
	} {
		if got := Nearest(word, names, 3); len(got) == 0 || got[0] != want || len(got) > 3 {
			t.Errorf("by %s is meant %v, want %s", word, got, want)
		}
	}
	if got := Nearest("cpu", []string{"cpus", "gpu"}, 3); len(got) != 2 || got[0] == "kernel.all.cpu.user" {
		t.Errorf("among other names cpu is near %v", got)
	}
}
