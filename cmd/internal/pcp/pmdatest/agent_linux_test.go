package pmdatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/testdata/built"
)

const moduleRoot = "../../../.."

// domain is the one that the agent answers for beside PCP's own.
const domain = 500

// recorder is the one for this machine, for tests that have PCP's programs beside.
func recorder(t testing.TB) string {
	t.Helper()
	pmcdtest.Need(t, pmcdtest.Program, "pminfo", "pmval", "pmrep", "pmlogger", "pmie")
	return built.Program(t, "recorder")
}

// dynamic is the name space of an agent that names its metrics itself.
const dynamic = "root { tachograph 500:*:* }\n"

// installed is the name space that is installed for the agent on this machine.
func installed(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tachograph")
	if out, err := exec.Command(recorder(t), "pmda", "package", "--here", dir).CombinedOutput(); err != nil {
		t.Fatalf("recorder pmda package: %v\n%s", err, out)
	}
	return packaged(t, dir)
}

// packaged is the name space in a package.
func packaged(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pmns"))
	if err != nil {
		t.Fatal(err)
	}
	// As PCP's preprocessor leaves it.
	plain := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(text), "")
	var roots []string
	for _, m := range regexp.MustCompile(`(?m)^(\w+) \{`).FindAllStringSubmatch(plain, -1) {
		roots = append(roots, m[1])
	}
	return "root { " + strings.Join(roots, " ") + " }\n" + strings.ReplaceAll(plain, "TACHOGRAPH:", strconv.Itoa(domain)+":")
}

// ours is recorder as an agent that pmcd starts.
func ours(t testing.TB, flags ...string) pmcdtest.Agent {
	return pmcdtest.Agent{Name: "tachograph", Domain: domain, How: "pipe binary " + strings.Join(append([]string{recorder(t), "pmda"}, flags...), " ")}
}

// answering starts a pmcd with recorder as its agent, and one of the two name spaces.
func answering(t testing.TB, names string) *pmcdtest.Daemon {
	t.Helper()
	return pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{pmcdtest.PMCD, ours(t)}, Names: []string{names, pmcdNames},
		For: []string{"tachograph.kernel.all.load"},
	})
}

// pmcdNames is what of pmcd itself is asked for, by tests and by pmlogger.
const pmcdNames = `root { pmcd }
pmcd { numagents 2:0:2 pid 2:0:23 seqnum 2:0:24 pmlogger }
pmcd.pmlogger { host 2:3:3 port 2:3:0 archive 2:3:2 }
`

// row is what `recorder metrics` lists of a metric.
type row struct {
	Metric, PMID, Type, Semantics, Units, Indom, Class, Formula, Help, Reason string
	LongHelp                                                                  string `json:"long_help"`
	Supported                                                                 bool
}

// asked are the lines of JSON that a command of the recorder's prints.
func asked[T any](t testing.TB, cmd *exec.Cmd) (rows []T) {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, errs.Bytes())
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	lines.UseNumber()
	for lines.More() {
		var r T
		if err := lines.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// listed is what the recorder lists, as a layout has it for PCP.
func listed(t testing.TB, rows []row, layout pcp.Layout) map[string]*pcp.Metric {
	t.Helper()
	list, space := make(map[string]*pcp.Metric), pcp.NewSpaceOf(layout)
	for _, r := range rows {
		d := &metric.Desc{Name: r.Metric, Indom: r.Indom, Formula: r.Formula, Help: r.Help, LongHelp: r.LongHelp, Unsupported: r.Reason}
		var err error
		if d.Units, err = metric.ParseUnits(r.Units); err != nil {
			t.Fatal(err)
		}
		if r.PMID != "" {
			var a, b, c uint32
			if _, err := fmt.Sscanf(r.PMID, "%d.%d.%d", &a, &b, &c); err != nil {
				t.Fatalf("%s has the number %q: %v", r.Metric, r.PMID, err)
			}
			d.PMID = metric.NewPMID(a, b, c)
		}
		var ok bool
		if d.Type, ok = types[r.Type]; !ok {
			t.Fatalf("%s is of type %q", r.Metric, r.Type)
		}
		for s := range metric.Semantics(8) {
			if s.String() == r.Semantics {
				d.Sem = s
			}
		}
		m := space.Add(d)
		list[m.Name] = m
	}
	return list
}

var types = func() map[string]metric.Type {
	list := make(map[string]metric.Type)
	for t := range metric.Type(32) {
		list[t.String()] = t
	}
	return list
}()
