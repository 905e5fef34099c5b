package linux

import (
	"slices"
	"strconv"
	"strings"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// values reads files that contain one number, or a few in a row: the tunables below /proc/sys.
// The catalog alone decides which metrics it supplies: "/proc/sys/fs/file-nr field 2".
type values struct {
	root  string
	group *metric.Group
	files []valueFile
}

type valueFile struct {
	file *file
	uses []valueUse
	nums []int64
}

type valueUse struct{ col, field int }

const sysctlTree = "/proc/sys/"

func newValues(root string) (*values, error) {
	v := &values{root: root}
	return v, v.Refresh()
}

func (v *values) Name() string            { return "tunables" }
func (v *values) Groups() []*metric.Group { return []*metric.Group{v.group} }

func (v *values) Close() error {
	for _, f := range v.files {
		f.file.close()
	}
	return nil
}

func (v *values) Refresh() error {
	v.Close()
	ds, rest := rowsOf(metric.NoIndom, sysctlTree)
	v.group = &metric.Group{Name: "tunables", Metrics: ds}
	v.files = nil
	places := make(map[string]int)
	for col, text := range rest {
		path, nth, _ := strings.Cut(text, " field ")
		field := 0
		if nth != "" {
			n, err := strconv.Atoi(nth)
			if err != nil || n < 1 || n > 16 {
				ds[col].Unsupported = "the catalogue's source is not understood: " + ds[col].Source
				continue
			}
			field = n - 1
		}
		at, ok := places[path]
		if !ok {
			at = len(v.files)
			places[path] = at
			v.files = append(v.files, valueFile{file: newFile(v.root + sysctlTree + path)})
		}
		v.files[at].uses = append(v.files[at].uses, valueUse{col, field})
	}
	for i := range v.files {
		f := &v.files[i]
		most := slices.MaxFunc(f.uses, func(a, b valueUse) int { return a.field - b.field })
		f.nums = make([]int64, most.field+1)
		got, err := f.scan()
		for _, u := range f.uses {
			d := ds[u.col]
			switch {
			case err != nil:
				d.Unsupported = lacking(strings.TrimPrefix(f.file.path, v.root), err)
			case u.field >= got:
				d.Unsupported = "this kernel's " + strings.TrimPrefix(f.file.path, v.root) + " has fewer fields"
			}
		}
	}
	return nil
}

func (f *valueFile) scan() (int, error) {
	data, err := f.file.read()
	if err != nil {
		return 0, err
	}
	return integers(data, f.nums), nil
}

func (v *values) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, fr := range frames {
		fr.Reset(at)
		fr.Row(nil)
	}
	for i := range v.files {
		f := &v.files[i]
		if !f.wanted(frames) {
			continue
		}
		got, err := f.scan()
		for _, fr := range frames {
			for _, u := range f.uses {
				switch {
				case err != nil:
					fr.SetMissing(0, u.col, why(err))
				case u.field >= got:
					fr.SetMissing(0, u.col, metric.Unsupported)
				default:
					fr.SetInt(0, u.col, f.nums[u.field])
				}
			}
		}
	}
	return nil
}

func (f *valueFile) wanted(frames []*sample.Frame) bool {
	for _, fr := range frames {
		for _, u := range f.uses {
			if fr.Wants(u.col) {
				return true
			}
		}
	}
	return false
}
