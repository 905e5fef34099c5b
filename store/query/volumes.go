package query

import (
	"slices"

	"tachograph/sample/metric"
)

// pseudoTypes are file systems that hold no files of people, or are full by nature.
var pseudoTypes = []string{
	"devfs", "autofs", "proc", "sysfs", "devpts", "devtmpfs", "cgroup", "cgroup2", "mqueue", "debugfs", "tracefs", "securityfs", "pstore",
	"bpf", "fusectl", "configfs", "hugetlbfs", "binfmt_misc", "rpc_pipefs", "squashfs", "iso9660", "udf", "cd9660", "nullfs", "efivarfs", "lifs",
}

// fullestVolume returns a filter for the volume that e shows to be fullest at the end of the
// window, among those that people store things on. It is nil when there is none.
func fullestVolume(a Archive, e *Expr, w Window) (func(string, *metric.Instance) bool, error) {
	skip := make(map[string]bool)
	sel := w.Selection("filesys.type", "filesys.capacity", "filesys.readonly")
	sel.Prior = true
	for run := range a.Select(sel) {
		v := run.At(len(run.Wall) - 1)
		if run.Instance == nil || v.Miss != metric.Present {
			continue
		}
		switch run.Metric.Name {
		case "filesys.type":
			if slices.Contains(pseudoTypes, v.Str) {
				skip[run.Instance.Key] = true
			}
		case "filesys.capacity":
			if v.Number() == 0 {
				skip[run.Instance.Key] = true
			}
		case "filesys.readonly":
			if v.Number() != 0 {
				skip[run.Instance.Key] = true
			}
		}
	}
	best, key := -1.0, ""
	found := false
	r := Request{Window: w, Mode: Shown, Instance: func(_ string, in *metric.Instance) bool { return !skip[in.Key] }}
	for s, err := range readExpr(a, e, r) {
		if err != nil {
			return nil, err
		}
		if s.Instance == nil {
			continue
		}
		if v := s.Value(len(s.Wall) - 1); v.Miss == metric.Present && v.Number() > best {
			best, key, found = v.Number(), s.Instance.Key, true
		}
	}
	if !found {
		return nil, nil
	}
	return func(_ string, in *metric.Instance) bool { return in.Key == key }, nil
}
