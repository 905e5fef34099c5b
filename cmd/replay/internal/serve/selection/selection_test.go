package selection

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// macBook is the catalogue of a Mac that lacks one metric and does not record
// threads.
func macBook() *Catalogue {
	info := &archive.Info{Host: metric.Host{Platform: "macos"}}
	for c := range metric.NumClasses {
		info.Intervals[c] = time.Second
	}
	info.Intervals[metric.Thread] = 0
	metrics := catalog.For(catalog.Darwin)
	for _, d := range metrics {
		if d.Name == "hw.perflevel1.name" {
			d.Unsupported = "there is one kind of core only"
		}
	}
	return New(info, metrics)
}

func names(list []*metric.Desc) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.Name)
	}
	return out
}

func TestChoose(t *testing.T) {
	c := macBook()
	for _, test := range []struct {
		metrics, categories []string
		absent              bool
		want                string // names
		errors              string // items and codes
	}{
		{metrics: []string{"vm.loadavg"}, want: "vm.loadavg"},
		{metrics: []string{"vm.loadavg", "vm.loadavg", "vm.loada*"}, want: "vm.loadavg"},
		{metrics: []string{"vm.swap"}, want: "", errors: "vm.swap 5"},
		{categories: []string{"vm.swap"}, want: "vm.swap_enabled vm.swapfileprefix vm.swapusage"},
		{metrics: []string{"vm.swap*"}, want: "vm.swap_enabled vm.swapfileprefix vm.swapusage"},
		{metrics: []string{"kern.ipc"}, want: "kern.ipc.maxsockbuf kern.ipc.nmbclusters kern.ipc.somaxconn"},
		{metrics: []string{"kern.ipc."}, want: "kern.ipc.maxsockbuf kern.ipc.nmbclusters kern.ipc.somaxconn"},
		{metrics: []string{"vm.pags"}, errors: "vm.pags 5"},
		{metrics: []string{"hw.perflevel1.name"}, want: "hw.perflevel1.name"},
		{metrics: []string{"hw.perflevel?.name"}, want: "hw.perflevel0.name"},
		{metrics: []string{"hw.perflevel?.name"}, absent: true, want: "hw.perflevel0.name hw.perflevel1.name"},
		{metrics: []string{"hw.perflevel1.n*"}, errors: "hw.perflevel1.n* 5"},
		{metrics: []string{"/(/"}, errors: "/(/ 3"},
		{metrics: []string{"thread.cpu.use*"}, errors: "thread.cpu.use* 5"},
		{metrics: []string{"mem.vmstat.pgfault"}, want: "mem.vmstat.pgfault"},
		{categories: []string{"hw.misc"}},
		{categories: []string{"vn"}, errors: "vn 5"},
		{metrics: []string{"computed.total_connections"}, categories: []string{"kpc"}, want: "computed.total_connections kpc.pc_capture_supported kperf.debug_level"},
	} {
		got, err := c.Choose(&tachographv1.Selection{Metrics: test.metrics, Categories: test.categories}, test.absent)
		if err != nil {
			t.Errorf("%v: %v", test, err)
			continue
		}
		var errors []string
		for _, e := range got.Errors {
			errors = append(errors, fmt.Sprint(e.Item, " ", e.Code))
		}
		if s := strings.Join(names(got.Metrics), " "); s != test.want || strings.Join(errors, "; ") != test.errors {
			t.Errorf("%v %v: %s; %v", test.metrics, test.categories, s, got.Errors)
		}
	}
}

// Each of the 250 metrics of the telemetry service is chosen by its name, and all
// and nothing else by its 32 categories.
func TestTelemetryIsChosen(t *testing.T) {
	c := macBook()
	var all []string
	for _, category := range catalog.TelemetryCategories() {
		got, err := c.Choose(&tachographv1.Selection{Categories: []string{category}}, false)
		if err != nil || len(got.Errors) > 0 {
			t.Errorf("%s: %v %v", category, err, got)
			continue
		}
		for _, d := range got.Metrics {
			if said, ok := catalog.FindTelemetry(d.Name); !ok || said.Category != category || said.Class != d.Class {
				t.Errorf("%s has %s: %+v", category, d.Name, said)
			}
			one, err := c.Choose(&tachographv1.Selection{Metrics: []string{d.Name}}, false)
			if err != nil || len(one.Metrics) != 1 || one.Metrics[0] != d {
				t.Errorf("%s: %v %v", d.Name, one, err)
			}
			all = append(all, d.Name)
		}
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 250 || len(catalog.TelemetryCategories()) != 32 {
		t.Errorf("%d metrics", len(all))
	}
}

func TestWhatIsAbsentSaysWhy(t *testing.T) {
	linux := &archive.Info{Host: metric.Host{Platform: "linux"}}
	linux.Intervals[metric.Fast] = time.Second
	for _, test := range []struct {
		*Catalogue
		name, want string
	}{
		{macBook(), "hw.perflevel1.name", "there is one kind of core only"},
		{macBook(), "mem.vmstat.pgfault", "exists on Linux only"},
		{New(linux, []*metric.Desc{catalog.Find(catalog.Linux, "kernel.all.load")}), "vm.pages", "exists on macOS only"},
		{New(linux, []*metric.Desc{catalog.Find(catalog.Linux, "kernel.all.load")}), "mem.physmem", "is not in this recording"},
		{New(linux, []*metric.Desc{catalog.Find(catalog.Linux, "mem.physmem")}), "mem.physmem", "metrics of class static are not recorded as the recorder is configured"},
		{New(linux, []*metric.Desc{catalog.Find(catalog.Linux, "kernel.all.load")}), "kernel.all.load", ""},
		{New(nil, nil), "kernel.all.load", "nothing has been recorded yet"},
	} {
		if d := test.Lookup(test.name); d == nil || d.Unsupported != test.want {
			t.Errorf("%s: %+v, want %q", test.name, d, test.want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	got, err := macBook().Choose(&tachographv1.Selection{Metrics: []string{"vm.loadvg", "\x1b[2J", "vm.swap"}, Categories: []string{"vm.pagess"}}, false)
	if err != nil || len(got.Errors) != 4 {
		t.Fatalf("%v %v", got, err)
	}
	for i, want := range []string{"did you mean vm.loadavg", `there is no metric \x1b[2J`, "it is a category", "did you mean vm.pages"} {
		if !strings.Contains(got.Errors[i].Message, want) {
			t.Errorf("%q, want %q", got.Errors[i].Message, want)
		}
	}
}

func TestTooMuch(t *testing.T) {
	many := func(n int, s string) []string { return slices.Repeat([]string{s}, n) }
	c := macBook()
	for what, sel := range map[string]*tachographv1.Selection{
		"selection":            {Metrics: many(1500, "vm.pages"), Categories: many(501, "vm.pages")},
		"selection.metrics":    {Metrics: many(101, "*")},
		"selection.instances":  {Instances: many(101, "a")},
		"selection.categories": {Categories: []string{strings.Repeat("x", 401)}},
	} {
		if _, err := c.Choose(sel, false); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), what+": ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, sel := range []*tachographv1.Selection{{Metrics: []string{""}}, {Metrics: []string{"\xff"}}, {Instances: []string{"/(/"}}} {
		if _, err := c.Choose(sel, false); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", sel, err)
		}
	}
	got, err := c.Choose(&tachographv1.Selection{Metrics: many(2000, "nothing")}, false)
	if err != nil || len(got.Errors) != mostErrors+1 || !strings.Contains(got.Errors[mostErrors].Message, "more items") {
		t.Errorf("%d errors, %v", len(got.Errors), err)
	}
}

func TestInstances(t *testing.T) {
	got, err := macBook().Choose(&tachographv1.Selection{Instances: []string{"disk*", "en0"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"disk0": true, "en0": true, "en1": false} {
		if got.Instance("any", &metric.Instance{Key: "k", Name: name}) != want {
			t.Errorf("%s: not %v", name, want)
		}
	}
}

// Whatever a stranger selects is chosen or refused, and what is said of it can be
// sent and shown.
func FuzzChoose(f *testing.F) {
	for _, sel := range []*tachographv1.Selection{
		{}, {Metrics: []string{"vm.*", "kernel.all", "/a|b/"}, Categories: []string{"vm.pages"}, Instances: []string{"*x*"}}, {Metrics: []string{"\x1b"}},
	} {
		b, err := proto.Marshal(sel)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, true)
	}
	c := macBook()
	f.Fuzz(func(t *testing.T, b []byte, absent bool) {
		sel := new(tachographv1.Selection)
		if proto.Unmarshal(b, sel) != nil {
			return
		}
		got, err := c.Choose(sel, absent)
		if err != nil {
			if connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Fatal(err)
			}
			return
		}
		if !slices.IsSortedFunc(got.Metrics, func(a, b *metric.Desc) int { return strings.Compare(a.Name, b.Name) }) {
			t.Error("not in order")
		}
		for _, e := range got.Errors {
			if _, err := proto.Marshal(e); err != nil || strings.ContainsRune(e.Message, 0x1b) {
				t.Errorf("%q %v", e.Message, err)
			}
		}
		if got.Instance != nil {
			got.Instance("process", &metric.Instance{Key: "1", Name: "000001 x"})
		}
	})
}
