package remote

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tachograph/cmd/internal/peertest"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/cmd/replay/internal/push"
	"tachograph/sample/catalog"
	"tachograph/store"
	"tachograph/store/follow"
	"tachograph/testdata/built"
)

const fleetDocs = "../../../../../docs/fleet"

// TestAlerts has promtool judge the rules, which fire when they should and not else.
func TestAlerts(t *testing.T) {
	peertest.Need(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = filepath.Join(fleetDocs, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	rules, err := os.ReadFile(filepath.Join(fleetDocs, "prometheus/alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(filepath.Join(fleetDocs, "prometheus/alerts_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		for _, kind := range []string{"fires", "is quiet"} {
			if !strings.Contains(string(tests), "- name: "+m[1]+" "+kind+"\n") {
				t.Errorf("no test says when %s %s", m[1], kind)
			}
		}
	}
}

// A dashboard is what of one is looked at here.
type dashboard struct {
	UID           string `json:"uid"`
	SchemaVersion int    `json:"schemaVersion"`
	Panels        []struct {
		Title       string `json:"title"`
		FieldConfig struct {
			Defaults struct {
				Unit string `json:"unit"`
			} `json:"defaults"`
		} `json:"fieldConfig"`
		Targets []struct {
			Expr       string `json:"expr"`
			Datasource struct {
				UID string `json:"uid"`
			} `json:"datasource"`
		} `json:"targets"`
	} `json:"panels"`
}

func dashboards(t *testing.T) (all []dashboard) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fleetDocs, "grafana/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no dashboards", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all = append(all, d)
	}
	return all
}

// TestNamesOfDashboards has dashboards and alerts ask for what there is.
func TestNamesOfDashboards(t *testing.T) {
	known := make(map[string]bool)
	for _, p := range []catalog.Platform{catalog.Darwin, catalog.Linux} {
		for _, d := range catalog.For(p) {
			known[naming.Own(d).Name] = true
		}
	}
	names, err := os.ReadFile("../../../../../docs/PROMETHEUS.md") // which a test writes
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("\\| `(node_\\w+)` \\|").FindAllStringSubmatch(string(names), -1) {
		known[m[1]] = true
	}
	look := func(where, text string) {
		for _, name := range regexp.MustCompile(`\b(tachograph|node)_\w+`).FindAllString(text, -1) {
			if !known[name] && !strings.HasPrefix(name, "tachograph_recorder_") { // the recorder's own are asked for below
				t.Errorf("%s asks for %s, which nothing is called", where, name)
			}
		}
	}
	uids := make(map[string]bool)
	for _, d := range dashboards(t) {
		if d.UID == "" || uids[d.UID] || d.SchemaVersion < 39 {
			t.Errorf("%q, schema %d", d.UID, d.SchemaVersion)
		}
		uids[d.UID] = true
		for _, p := range d.Panels {
			if p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s: %q has no unit or shows nothing", d.UID, p.Title)
			}
			for _, target := range p.Targets {
				look(d.UID, target.Expr)
				if target.Datasource.UID != "${datasource}" {
					t.Errorf("%s: %q has a data source of its own", d.UID, p.Title)
				}
				if strings.Contains(target.Expr, "rate(") && !strings.Contains(target.Expr, "[$__rate_interval]") {
					t.Errorf("%s: %q has an interval of its own", d.UID, p.Title)
				}
			}
		}
	}
	rules, err := os.ReadFile(filepath.Join(fleetDocs, "prometheus/alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(rules)) {
		if !strings.Contains(line, "#") && !strings.Contains(line, "- name:") {
			look("alerts.yml", line)
		}
	}
}

// TestDashboardsShowSomething records this machine, pushes that to Prometheus, and asks
// for all that dashboards show. A rate takes two readings, and so classes are read each
// second here; those of sources that give nothing new so often are not asked for rates.
func TestDashboardsShowSomething(t *testing.T) {
	peertest.Need(t, "prometheus")
	t.Parallel()
	recorder := built.Program(t, "recorder")
	dir := t.TempDir()
	archive := filepath.Join(dir, "a")
	often := filepath.Join(dir, "often.toml")
	if err := os.WriteFile(often, []byte("[classes]\npolled = \"1s\"\nprocess = \"1s\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(recorder, "run", "--config", often, "--archive", archive, "--for", "5s").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := store.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	info := *r.Archives()[0]
	r.Close()
	server := prometheus(t, "global: {}\n")
	endpoint, err := push.NewEndpoint(server.address+"/api/v1/write", push.Access{})
	if err != nil {
		t.Fatal(err)
	}
	open, oldest := push.Archives(follow.Options{}, archive)
	if err := push.New(push.Options{Target: "prometheus", Sink: NewSink(endpoint, SinkOptions{Own: true, Node: true}), Open: open, Oldest: oldest,
		State: filepath.Join(dir, "s.push")}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			found := 0
			for _, target := range p.Targets {
				expr := strings.NewReplacer("$__rate_interval", "1m", "$instance", info.Host.Name).Replace(target.Expr)
				answer, err := http.Get(server.address + "/api/v1/query?" + url.Values{"query": {expr}, "time": {strconv.FormatFloat(float64(info.To)/1e9, 'f', 3, 64)}}.Encode())
				if err != nil {
					t.Fatal(err)
				}
				var got struct {
					Status, Error string
					Data          struct{ Result []json.RawMessage }
				}
				err = json.NewDecoder(answer.Body).Decode(&got)
				answer.Body.Close()
				if err != nil || got.Status != "success" {
					t.Errorf("%s: %v %s", expr, err, got.Error)
				}
				found += len(got.Data.Result)
			}
			if found == 0 {
				t.Errorf("%s: %q shows nothing: %s", d.UID, p.Title, fmt.Sprint(p.Targets))
			}
		}
	}
}
