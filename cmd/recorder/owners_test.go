package main

import (
	"bytes"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/platform"
)

// tenants is a source that has found owners.
type tenants struct{ *people }

func (tenants) Owners() []owner.Count {
	var t owner.Tally
	add := func(f owner.Field, name string, times int) {
		var o owner.Owner
		o.Put(f, name)
		for range times {
			t.Add(&o, func(owner.Field) string { return "cgroup /" + name })
		}
	}
	add(owner.Service, "ssh.service", 2)
	add(owner.Service, "cron.service", 3)
	add(owner.Container, "web\x1b[2J", 1)
	none := owner.None(metric.Permission)
	t.Add(&none, nil)
	return t.Counts()
}

func TestProbeOwners(t *testing.T) {
	probe := func(s sample.Source, args ...string) (out, errs string, status int) {
		var o, e bytes.Buffer
		a := newApp(&o, &e)
		a.catalog = func() []*metric.Desc { return nil }
		a.sources = func(platform.Options) ([]sample.Source, error) { return []sample.Source{newMachine(), s}, nil }
		status = a.run(append([]string{"probe", "--wait", "1ms", "--owners"}, args...))
		return o.String(), e.String(), status
	}
	const want = `KIND       NAME          PROCESSES  FOUND BY
container  web?[2J       1          cgroup /web\x1b[2J
service    cron.service  3          cgroup /cron.service
service    ssh.service   2          cgroup /ssh.service
-          -             1          permission denied
`
	clean := func(s string) string { return strings.ReplaceAll(s, "\x1b", "?") }
	if out, errs, status := probe(tenants{newPeople()}); clean(out) != want || strings.Contains(out, "\x1b") || status != cli.Yes {
		t.Errorf("status %d, printed\n%s%s", status, out, errs)
	}
	const line = `{"kind":"service","name":"cron.service","processes":3,"found_by":"cgroup /cron.service"}`
	if out, _, _ := probe(tenants{newPeople()}, "--json"); !strings.Contains(out, line) || strings.Count(out, "\n") != 4 {
		t.Errorf("as JSON: %s", out)
	}
	for errs, run := range map[string]func() (string, string, int){
		"the processes of this machine cannot be read":     func() (string, string, int) { return probe(newPeople()) },
		"--owners prints all owners, and takes no PATTERN": func() (string, string, int) { return probe(tenants{newPeople()}, "disk") },
	} {
		if _, got, status := run(); !strings.Contains(got, errs) || status == cli.Yes {
			t.Errorf("status %d, %q, want %q", status, got, errs)
		}
	}
}
