package pmcdtest

import (
	"reflect"
	"strings"
	"testing"
)

// TestJoin joins name spaces.
func TestJoin(t *testing.T) {
	got := Join("root {\n\ta\n\tb 1:*:*\n}\na { x 1:0:0 }\n", "c { y 2:0:0 }\nroot { c }\n")
	want := "root {\n\ta\n\tb 1:*:*\n\tc\n}\n\na { x 1:0:0 }\nc { y 2:0:0 }\n"
	if got != want {
		t.Errorf("joined:\n%q\nwant\n%q", got, want)
	}
}

// TestDaemon starts a pmcd with agents of PCP's, ends an agent, and kills and restarts pmcd.
func TestDaemon(t *testing.T) {
	d := Start(t, Config{
		Agents: []Agent{PMCD, Sample}, For: []string{"sample.long.million", "pmcd.numagents"},
		Names: []string{"root { sample }\nsample { long }\nsample.long { million 29:0:13 }\n", "root { pmcd }\npmcd { numagents 2:0:2 }\n"},
		Env:   []string{"PMCD_RESTART_AGENTS=0"},
	})
	million := func() bool {
		out, err := d.Try("pminfo", "-f", "sample.long.million")
		return err == nil && strings.Contains(out, "value 1000000")
	}
	if !million() {
		t.Fatal("the agent does not answer")
	}
	if out := d.Run(t, "pmprobe", "-v", "pmcd.numagents"); !strings.Contains(out, "pmcd.numagents 1 2") {
		t.Errorf("pmprobe says %q", out)
	}
	first := d.AgentPID("sample")
	if first == 0 {
		t.Fatalf("the log tells of no agent:\n%s", d.Log())
	}
	Kill(t, first)
	d.Until(t, "its end is noticed", func() bool { return !million() })
	d.Reload(t)
	d.Until(t, "the agent is there again", million)
	if again := d.AgentPID("sample"); again == first {
		t.Errorf("the agent still is %d:\n%s", again, d.Log())
	}
	d.Kill()
	if !d.Ended() || million() {
		t.Error("pmcd was killed and answers")
	}
	d.Launch(t)
	d.Until(t, "pmcd answers again", million)
	d.Stop()
}

// TestParseInfo reads what pminfo printed.
func TestParseInfo(t *testing.T) {
	list := ParseInfo(t, `
kernel.all.load PMID: 60.2.0 [1, 5 and 15 minute load average]
    Data Type: float  InDom: 60.2 0xf000002
    Semantics: instant  Units: none
Help:
The load.

Of late.
    inst [1 or "1 minute"] value 6.6199999
    inst [5 or "5 minute"] value 6.27

kernel.uname.release PMID: 60.12.0 [release level of the running kernel]
    Data Type: string  InDom: PM_INDOM_NULL 0xffffffff
    Semantics: discrete  Units: none
Help:
See also pmda.uname.
    value "6.18.44
of two lines"

disk.md.status PMID: 60.60.0 [code]
    Data Type: 32-bit int  InDom: 60.25 0xf000019
    Semantics: instant  Units: none
Help:
code
No value(s) available!

a.b PMID: 60.60.1 []
    Data Type: 32-bit int  InDom: PM_INDOM_NULL 0xffffffff
    Semantics: counter  Units: Kbyte / sec
Error: Missing metric value(s)
`)
	want := []*Told{
		{Name: "kernel.all.load", PMID: "60.2.0", Type: "float", InDom: "60.2", Semantics: "instant", Units: "none", OneLine: "1, 5 and 15 minute load average",
			Help: "The load.\n\nOf late.", Values: []ToldValue{{1, "1 minute", "6.6199999"}, {5, "5 minute", "6.27"}}},
		{Name: "kernel.uname.release", PMID: "60.12.0", Type: "string", InDom: "PM_INDOM_NULL", Semantics: "discrete", Units: "none", OneLine: "release level of the running kernel",
			Help: "See also pmda.uname.", Values: []ToldValue{{-1, "", "6.18.44\nof two lines"}}},
		{Name: "disk.md.status", PMID: "60.60.0", Type: "32-bit int", InDom: "60.25", Semantics: "instant", Units: "none", OneLine: "code", Help: "code", Empty: true},
		{Name: "a.b", PMID: "60.60.1", Type: "32-bit int", InDom: "PM_INDOM_NULL", Semantics: "counter", Units: "Kbyte / sec", Error: "Missing metric value(s)"},
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("read:")
		for _, m := range list {
			t.Errorf("%+v", m)
		}
	}
}
