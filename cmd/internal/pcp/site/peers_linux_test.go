package site

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/config/trust"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// The test's own binary is the agent that pmcd starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[2] == "package" {
		return // what the test has written stays
	}
	if len(os.Args) > 1 && os.Args[1] == "pmda" {
		s := pcpserve.NewServer(few{}, pcpserve.Options{Names: pcp.Beside(500)})
		if err := s.Agent(context.Background(), standard{}, 500); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type standard struct{}

func (standard) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (standard) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

// few is a machine of which one number is known.
type few struct{}

var fewCatalog = &pcpserve.Catalog{Descs: some}

func (few) Catalog() *pcpserve.Catalog { return fewCatalog }

func (few) Fetch(context.Context, []*metric.Desc) (*pcpserve.View, error) {
	b := &metric.Block{Group: &metric.Group{Name: "some", Metrics: some[:1]}, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{8}}}}
	return &pcpserve.View{Blocks: []*metric.Block{b}}, nil
}

func (few) Instances(context.Context, string) ([]*metric.Instance, error) { return nil, nil }

// installation is a PCP of the test's own: Debian's programs and scripts, with a
// configuration, a name space and directories below one of the test's, and its pmcd.
type installation struct {
	*pmcdtest.Daemon
	env []string
}

// pcpHere makes one. Scripts may not signal other pmcds than this one, and what they
// sleep for is cut short.
func pcpHere(t *testing.T) *installation {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root") // who alone may install agents, PCP's scripts say
	}
	pmcdtest.Need(t, pmcdtest.Program, "pminfo", "pmprobe")
	own := pmcdtest.Config{Agents: []pmcdtest.Agent{pmcdtest.PMCD}, Names: []string{"root {\n\tpmcd\n}\npmcd {\n\tpid\t2:0:23\n}\n"}}
	d := pmcdtest.Start(t, own)
	d.Stop()
	dir := d.Dir
	in := &installation{Daemon: d, env: append(os.Environ(), "PCP_CONF="+filepath.Join(dir, "etc/pcp.conf"), "PCP_DIR=", "PMCD_PORT=1")}
	conf := get(t, "/etc/pcp.conf")
	for name, value := range map[string]string{
		"PCP_PMCDCONF_PATH": "etc/pmcd.conf", "PCP_VAR_DIR": "var", "PCP_PMDAS_DIR": "var/pmdas", "PCP_RUN_DIR": "", "PCP_LOG_DIR": "log",
		"PCP_TMP_DIR": "tmp", "PCP_TMPFILE_DIR": "tmp", "PCP_BINADM_DIR": "bin",
	} {
		conf += fmt.Sprintf("%s=%s\n", name, filepath.Join(dir, value))
		in.env = append(in.env, fmt.Sprintf("%s=%s", name, filepath.Join(dir, value)))
	}
	put(t, filepath.Join(dir, "etc/pcp.conf"), conf+"PCP_SYSTEMDUNIT_DIR=\n")
	for _, name := range []string{"var/pmdas", "var/config/pmlogconf", "var/config/pmieconf", "log/pmcd", "tmp", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	programs, err := filepath.Glob("/usr/lib/pcp/bin/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if err := os.Symlink(p, filepath.Join(dir, "bin", filepath.Base(p))); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"pmsleep":  "exec sleep 0.05\n",
		"pmsignal": "case \"$*\" in *HUP*pmcd) kill -HUP `pmprobe -v pmcd.pid | cut -d' ' -f3`;; *) exec /usr/lib/pcp/bin/pmsignal \"$@\";; esac\n",
		"pmpost":   "exit 0\n",
		"ping":     "exit 0\n",
	} {
		path := filepath.Join(dir, "bin", name)
		os.Remove(path)
		put(t, path, "#!/bin/sh\n"+text)
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in.env = append(in.env, "PATH="+filepath.Join(dir, "bin")+":/usr/sbin:/usr/bin:/usr/share/pcp/bin:/usr/bin/X11:/usr/local/bin:/bin")
	put(t, filepath.Join(dir, "etc/pmcd.conf"), "# agents\npmcd\t2\tdso\tpmcd_init\t/var/lib/pcp/pmdas/pmcd/pmda_pmcd.so\n\n[access]\ndisallow \".*\" : store;\nallow \"local:*\" : all;\n")
	put(t, filepath.Join(dir, "var/pmns/root"), get(t, "/usr/lib/pcp/pmns/root_pmcd"))
	put(t, filepath.Join(dir, "var/pmns/root_pmcd"), get(t, "/usr/lib/pcp/pmns/root_pmcd"))
	// The numbers of domains are put together when a machine's pmcd is first started.
	for _, name := range []string{"stdpmid.pcp", "stdpmid.local"} {
		put(t, filepath.Join(dir, "var/pmns", name), get(t, filepath.Join("/usr/lib/pcp/pmns", name)))
	}
	in.run(t, filepath.Join(dir, "var/pmns"), "sh", "/usr/lib/pcp/pmns/Make.stdpmid")
	own.Flags, own.Env = []string{"-c", filepath.Join(dir, "etc/pmcd.conf"), "-n", filepath.Join(dir, "var/pmns/root")}, in.env
	d.Configure(t, own)
	d.Launch(t)
	return in
}

// run runs one of PCP's programs or scripts with this installation's configuration.
func (in *installation) run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	if own := filepath.Join(in.Dir, "bin", program); program == filepath.Base(program) {
		if _, err := os.Stat(own); err == nil {
			program = own
		}
	}
	c := exec.Command(program, args...)
	c.Env, c.Dir = in.env, dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// site is this installation for what is tested, which tells its pmcd.
func (in *installation) site(t *testing.T) *Site {
	t.Helper()
	env := func(name string) string {
		if name == "PCP_CONF" {
			return filepath.Join(in.Dir, "etc/pcp.conf")
		}
		return ""
	}
	t.Setenv("PMCD_PORT", "1")
	owners := trust.Running(-1)
	paths, err := Find("", env, owners)
	if err != nil {
		t.Fatal(err)
	}
	p := pack(pcp.Beside(500))
	p.Recorder = os.Args[0]
	s := &Site{Paths: paths, EUID: 0, Owners: owners, Say: func(string, ...any) {}, Names: p.Names(), Tell: SignalPMCD(p.Probe()),
		Lines: []Line{{Agent, 500, "pipe\tbinary\t" + Words(os.Args[0], "pmda")}}}
	s.Files = s.Put(p)
	return s
}

// agents are the processes of this test that answer this pmcd.
func (in *installation) agents(t *testing.T) (pids []int) {
	t.Helper()
	for _, p := range agents([]Line{{How: "pipe\tbinary\t" + Words(os.Args[0], "pmda")}}) {
		pids = append(pids, p.pid)
	}
	return pids
}

// Debian's pmcd takes the agent when it is told, and PCP's own checkers have nothing to
// say against what was written.
func TestAPmcdTakesTheAgent(t *testing.T) {
	in := pcpHere(t)
	s := in.site(t)
	conf, pmns := s.Paths.PMCD, s.Paths.Names()
	confWas, pmnsWas := get(t, conf), get(t, pmns)
	if err := s.Install(false); err != nil {
		t.Fatalf("%v\n%s", err, in.Log())
	}
	if out := in.run(t, "", "pminfo", "-f", "tachograph.hinv.ncpu"); !strings.Contains(out, "value 8") {
		t.Error(out)
	}
	in.run(t, "", "/usr/lib/pcp/bin/pmcd", "-v", "-c", conf)
	want := "tachograph.filesys.full 500.2053.38\ntachograph.hinv.ncpu 500.1024.32\ntachograph.proc.nprocs 500.3080.99\ntachograph.recorder.cost 500.1.1\n"
	if out := in.run(t, "", "sh", "-c", "pminfo -n "+pmns+" -m tachograph | sed 's/ PMID://' | sort"); out != want {
		t.Errorf("%s\nwant\n%s", out, want)
	}
	if out := in.run(t, s.Paths.Dir(), "newhelp", "-n", "root", "-o", filepath.Join(in.Dir, "tmp/help"), "help"); out != "" {
		t.Errorf("newhelp: %s", out)
	}
	for class, want := range map[string]string{"static": ":y:once:", "polled": ":y:default:", "process": ":n:5 seconds:"} {
		if out := in.run(t, "", "pmlogconf", "-s", filepath.Join(s.Paths.Var, "config", "pmlogconf", Agent, class)); !strings.Contains(strings.Split(out, "\n")[0], want) {
			t.Errorf("pmlogconf of %s: %s", class, out)
		}
	}
	rules := filepath.Join(in.Dir, "tmp/rules.pmie")
	put(t, filepath.Join(s.Paths.Var, "config/pmieconf/global/parameters"), get(t, "/var/lib/pcp/config/pmieconf/global/parameters"))
	put(t, filepath.Join(s.Paths.Var, "config/pmieconf/global/pcp_actions"), get(t, "/var/lib/pcp/config/pmieconf/global/pcp_actions"))
	in.run(t, "", "pmieconf", "-f", rules, "-r", filepath.Join(s.Paths.Var, "config/pmieconf"), "modify", "tachograph.volume_full", "enabled", "yes")
	if out := in.run(t, "", "pmie", "-C", rules); out != "" || !strings.Contains(get(t, rules), "tachograph.filesys.full  > 95") {
		t.Errorf("pmie: %s%s", out, get(t, rules))
	}

	// An upgrade, which has other names, has pmcd start the agent anew.
	had := in.agents(t)
	s.Names = append(s.Names, Name{"tachograph.new", "500:9:9"})
	if err := s.Install(false); err != nil {
		t.Fatal(err)
	}
	in.Until(t, "another process is the agent", func() bool {
		has := in.agents(t)
		return len(had) == 1 && len(has) == 1 && had[0] != has[0]
	})
	s.Names = s.Names[:len(s.Names)-1]
	if err := s.Install(false); err != nil {
		t.Fatal(err)
	}

	// PCP's own script makes the name space anew, as after an upgrade of PCP.
	put(t, filepath.Join(in.Dir, "var/pmns/root"), pmnsWas)
	in.run(t, filepath.Join(in.Dir, "var/pmns"), "sh", "/usr/lib/pcp/pmns/Rebuild", "-us")
	if out := in.run(t, "", "sh", "-c", "pminfo -n "+pmns+" -m tachograph | sed 's/ PMID://' | sort"); out != want {
		t.Errorf("made anew:\n%s\nwant\n%s", out, want)
	}
	if err := s.Install(false); err != nil {
		t.Fatal(err)
	}
	s.Tell = SignalPMCD("")
	if err := s.Remove(false); err != nil {
		t.Fatal(err)
	}
	in.Until(t, "pmcd has let the agent go", func() bool {
		return strings.Contains(in.run(t, "", "sh", "-c", "pmprobe tachograph.hinv.ncpu; true"), "Unknown metric name")
	})
	if got := get(t, conf); got != confWas {
		t.Errorf("pmcd.conf:\n%s\nwas\n%s", got, confWas)
	}
	if out := in.run(t, "", "sh", "-c", "pminfo -n "+pmns+" | grep -c tachograph; true"); out != "0\n" {
		t.Errorf("%s names are left", out)
	}
}

// What package writes is what PCP's own Install and Remove want.
func TestPCPsOwnScriptsTakeThePackage(t *testing.T) {
	in := pcpHere(t)
	dir := filepath.Join(in.Dir, "var/pmdas", Agent)
	p := pack(pcp.Beside(500))
	p.Recorder = os.Args[0]
	for _, f := range append(p.Files(), p.Templates()...) {
		if _, err := Write(filepath.Join(dir, f.Path), f); err != nil {
			t.Fatal(err)
		}
	}
	if out := in.run(t, dir, "./Install"); !strings.Contains(out, "Check tachograph metrics have appeared ... ") || strings.Contains(out, "long line") {
		t.Errorf("%s\n%s", out, in.Log())
	}
	if out := in.run(t, "", "pminfo", "-f", "tachograph.hinv.ncpu"); !strings.Contains(out, "value 8") {
		t.Error(out)
	}
	// The recorder does not undo what it did not do.
	if err := in.site(t).Install(false); err == nil || !strings.Contains(err.Error(), "run ./Remove in its directory") {
		t.Error(err)
	}
	if out := in.run(t, dir, "./Remove"); !strings.Contains(out, "Check tachograph metrics have gone away ... OK") {
		t.Errorf("%s\n%s", out, in.Log())
	}
	if text := get(t, filepath.Join(in.Dir, "etc/pmcd.conf")); strings.Contains(text, Agent) {
		t.Error(text)
	}
	for _, kind := range []string{"pmlogconf", "pmieconf"} {
		if _, err := os.Stat(filepath.Join(in.Dir, "var/config", kind, Agent)); err == nil {
			t.Errorf("templates of %s are left", kind)
		}
	}
}
