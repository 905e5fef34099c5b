package pcpserve

import (
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

func names(r *roster, ins ...*metric.Instance) string {
	var s []string
	for _, l := range r.list(nil, ins) {
		s = append(s, strconv.Itoa(int(l.id))+"="+l.name)
	}
	return strings.Join(s, ", ")
}

// A pid that is used again is the same number with another name; who runs another
// program has another name anyhow.
func TestReuse(t *testing.T) {
	r := newRoster("process")
	for _, x := range []struct {
		in   *metric.Instance
		want string
	}{
		{process(7, "1", "sh", "0"), "7=000007 sh"},
		{process(7, "1", "sh", "0"), "7=000007 sh"},
		{process(7, "2", "sh", "0"), "7=000007 sh #2"},
		{process(7, "3", "sh", "0"), "7=000007 sh #3"},
		{process(7, "3", "vi", "0"), "7=000007 vi #3"},
		{process(7, "4", "sh", "0"), "7=000007 sh"},
	} {
		if got := names(r, x.in); got != x.want {
			t.Errorf("%s: %s, want %s", x.in.Key, got, x.want)
		}
	}
}

// Numbers and names are the same in every run. The first word tells instances apart.
func TestNumbersOfNames(t *testing.T) {
	in := func(list ...string) (ins []*metric.Instance) {
		for _, n := range list {
			ins = append(ins, &metric.Instance{Key: n, Name: n})
		}
		return ins
	}
	for _, x := range []struct {
		indom string
		ins   []*metric.Instance
		want  string
	}{
		{"cpu", in("cpu0", "cpu11"), "0=cpu0, 11=cpu11"},
		{"load", averages, "1=1 minute, 5=5 minute, 15=15 minute"},
		{"cache level", in("1", "3"), "1=1, 3=3"},
		{"interface", in("lo0", "en0"), "275894484=lo0, 916333518=en0"},
		{"interface", in("en0", "lo0"), "916333518=en0, 275894484=lo0"},
		{"filesys", in("/", "/Volumes/My Disk", "/Volumes/My Other", "/Volumes/My_Disk"), ""},
		{"pressure", in("1 minute", "1 second"), ""},
	} {
		got := names(newRoster(x.indom), x.ins...)
		if x.want != "" && got != x.want {
			t.Errorf("%s: %s, want %s", x.indom, got, x.want)
		}
		words := make(map[string]bool)
		for _, l := range newRoster(x.indom).list(nil, x.ins) {
			if word := firstWord(l.name); words[word] {
				t.Errorf("%s: two names begin with %q: %s", x.indom, word, got)
			} else {
				words[word] = true
			}
		}
	}
}

// A machine whose processes come and go for months is not remembered for ever.
func TestRostersForget(t *testing.T) {
	r := newRoster("process")
	g := &metric.Group{Indom: "process"}
	for i := range 100_000 {
		rows := []*metric.Instance{process(i%4000+1, strconv.Itoa(i), "sh", "0"), shells[0]}
		if ids := r.seat(&metric.Block{Group: g, Rows: rows}); ids[0] != uint32(i%4000+1) || ids[1] != 7 {
			t.Fatalf("%d: %v", i, ids)
		}
	}
	if len(r.members) > 2*fewMembers || len(r.pids.now)+len(r.pids.before) > 2*usesKept {
		t.Errorf("%d members, %d uses", len(r.members), len(r.pids.now)+len(r.pids.before))
	}
}
