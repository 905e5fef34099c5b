package pcp

import (
	"testing"

	"tachograph/sample/metric"
)

func TestInstanceName(t *testing.T) {
	for name, want := range map[string]string{
		"cpu0": "cpu0", "000123 Safari Helper": "000123 Safari Helper", "000123/004567 main thread": "000123/004567 main thread",
		"5 minute": "5 minute", "/Volumes/My Disk": "/Volumes/My_Disk", "/ a": "/_a", " x": "_x", "": "", "fan 1": "fan_1",
		"tcp :443": "tcp_:443", "firefox → net-3f2a9c81:443": "firefox_→_net-3f2a9c81:443",
	} {
		if got := InstanceName(name); got != want {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
	if got := Distinct("1 second", 77) + Distinct("disk", 8); got != "1#77 second"+"disk#8" {
		t.Error(got)
	}
}

// Connections of one process to one port are called alike, and PCP needs names that differ.
func TestConnectionsDiffer(t *testing.T) {
	one, other := &metric.Instance{Key: "0a", Name: "firefox → net-1:443"}, &metric.Instance{Key: "0b", Name: "firefox → net-1:443"}
	if a, b := InstanceName(Title("connection", one)), InstanceName(Title("connection", other)); a != "0a_firefox_→_net-1:443" || a == b {
		t.Errorf("%s, %s", a, b)
	}
	if got := Title("listener", &metric.Instance{Key: "tcp :443", Name: "tcp :443"}); got != "tcp :443" {
		t.Error(got)
	}
}

// Some instances have a natural number, which is the same in every run. Others have none.
func TestNaturalNumber(t *testing.T) {
	for _, c := range []struct {
		indom string
		in    metric.Instance
		want  uint32
		ok    bool
	}{
		{"process", metric.Instance{Name: "000012 sh", Labels: []metric.Label{{Name: "pid", Value: "12"}}}, 12, true},
		{"process", metric.Instance{Name: "4194303 sh"}, 4194303, true},
		{"process", metric.Instance{Name: "sh"}, 0, false},
		{"thread", metric.Instance{Name: "000012/000013 main", Labels: []metric.Label{{Name: "tid", Value: "2147483647"}}}, 1<<31 - 1, true},
		{"thread", metric.Instance{Name: "000012/000013 main", Labels: []metric.Label{{Name: "tid", Value: "2147483648"}}}, 0, false},
		{"coalition", metric.Instance{Key: "71531548458", Name: "7 Days"}, 0, false},
		{"coalition", metric.Instance{Key: "2000000", Name: "7 Days"}, 2000000, true},
		{"connection", metric.Instance{Key: "000000000000002a", Name: "42"}, 0, false}, {"listener", metric.Instance{Key: "tcp :443", Name: "443"}, 0, false},
		{"cpu", metric.Instance{Name: "cpu11"}, 11, true}, {"cpu", metric.Instance{Name: "11"}, 0, false},
		{"load", metric.Instance{Name: "15 minute"}, 15, true}, {"load", metric.Instance{Name: "15 second"}, 0, false},
		{"pressure", metric.Instance{Name: "10 second"}, 0, false}, {"cache level", metric.Instance{Name: "2"}, 2, true},
		{"cache level", metric.Instance{Name: "1048576"}, 0, false}, {"disk", metric.Instance{Name: "sda"}, 0, false},
	} {
		if got, ok := NaturalNumber(c.indom, &c.in); got != c.want || ok != c.ok {
			t.Errorf("%s %s: %d, %v", c.indom, c.in.Name, got, ok)
		}
	}
}

func TestNumbers(t *testing.T) {
	n := NewNumbers("disk")
	a, b := &metric.Instance{Key: "sda", Name: "sda"}, &metric.Instance{Key: "sda", Name: "sda"}
	first := n.Of("boot 1 sda", a)
	second := n.Of("boot 2 sda", b)
	if first < firstHashed || second != first+1 || n.Of("boot 1 sda", a) != first || len(n.byKey) != 2 {
		t.Errorf("%d, %d", first, second)
	}
	n.Forget("boot 1 sda")
	if n.Of("boot 3 sda", a) != first {
		t.Error("a number that is free is not given again")
	}
}
