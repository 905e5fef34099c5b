package site

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tachograph/config/trust"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

const pcpConf = `# paths
PCP_PMCDCONF_PATH=/etc/pcp/pmcd/pmcd.conf
PCP_VAR_DIR=/var/lib/pcp
PCP_PMDAS_DIR=/var/lib/pcp/pmdas
PCP_RUN_DIR=/run/pcp
PCP_LOG_DIR=/var/log/pcp
PCP_BIN_DIR=/usr/bin
`

// machine is a PCP below a directory of the test's, as bare as one that was just installed.
func machine(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"etc/pcp.conf": pcpConf, "etc/pcp/pmcd/pmcd.conf": macAgents, "var/lib/pcp/pmns/root": small} {
		put(t, filepath.Join(root, name), text)
	}
	for _, dir := range []string{"var/lib/pcp/pmdas", "var/lib/pcp/config/pmlogconf", "var/lib/pcp/config/pmieconf"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// snapshot is every file of a tree, with its mode.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			text = get(t, path)
		}
		all[path] = info.Mode().String() + "\n" + text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for path := range want {
		if got[path] != want[path] {
			t.Errorf("%s: %s is\n%.300s\nand was\n%.300s", what, path, got[path], want[path])
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: %s is new", what, path)
		}
	}
}

var some = []*metric.Desc{
	{Name: "hinv.ncpu", PMID: metric.NewPMID(60, 0, 32), Type: metric.U32, Sem: metric.Discrete, Class: metric.Static, Help: "how many processors there are"},
	{Name: "filesys.full", PMID: metric.NewPMID(78, 5, 38), Type: metric.F64, Sem: metric.Instant, Indom: "filesys", Class: metric.Polled, Help: "how full a volume is"},
	{Name: "proc.nprocs", PMID: metric.NewPMID(3, 8, 99), Type: metric.U32, Sem: metric.Instant, Class: metric.Process, Help: "processes"},
	{Name: "recorder.cost", PMID: metric.NewPMID(metric.OwnDomain, 1, 1), Type: metric.U64, Sem: metric.Counter, Class: metric.Fast, Help: strings.Repeat("a long explanation ", 10), LongHelp: "@ first\n# second"},
}

func pack(l pcp.Layout) *Package {
	space := pcp.NewSpaceOf(l)
	p := &Package{Domain: l.Domain, Recorder: "/opt/the recorder", Class: func(d *metric.Desc) metric.Class { return d.Class }, Every: metric.Class.Interval,
		Indom: func(name string) (string, string) { return "instances of " + name, "" }}
	for _, d := range some {
		p.Metrics = append(p.Metrics, space.Add(d))
	}
	return p
}

// at is a site below root that says what it does to said.
func at(t *testing.T, root string, said *strings.Builder) *Site {
	t.Helper()
	s := &Site{Root: root, Stage: true, EUID: os.Geteuid(), Owners: trust.Running(-1), Say: func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }}
	var err error
	if s.Paths, err = Find(root, func(string) string { return "" }, s.Owners); err != nil {
		t.Fatal(err)
	}
	p := pack(pcp.Beside(500))
	s.Lines, s.Names, s.Files = ours, p.Names(), s.Put(p)
	return s
}

func TestInstalledTwiceIsOnceAndRemovedIsNever(t *testing.T) {
	root := machine(t)
	conf := filepath.Join(root, "etc/pcp/pmcd/pmcd.conf")
	if err := os.Chmod(conf, 0o640); err != nil {
		t.Fatal(err)
	}
	owner := [2]uint32{uint32(os.Geteuid()), uint32(os.Getegid())}
	if os.Geteuid() == 0 {
		owner = [2]uint32{1, 2}
		if err := os.Chown(conf, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, root)
	var said strings.Builder
	s := at(t, root, &said)
	if err := s.Install(true); err != nil {
		t.Fatal(err)
	}
	same(t, "a dry run", snapshot(t, root), before)
	if want := "would change " + conf + ":\n  + tachograph\t500\tpipe\tbinary\t/r pmda\n"; !strings.Contains(said.String(), want) {
		t.Errorf("a dry run says\n%s", said.String())
	}
	if err := s.Install(false); err != nil {
		t.Fatal(err)
	}
	once := snapshot(t, root)
	if once[conf] == before[conf] || !strings.HasPrefix(once[conf], "-rw-r-----") {
		t.Errorf("pmcd.conf is %s", once[conf])
	}
	info, err := os.Stat(conf)
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || [2]uint32{st.Uid, st.Gid} != owner {
		t.Errorf("pmcd.conf belongs to %d:%d", st.Uid, st.Gid)
	}
	said.Reset()
	if err := s.Install(false); err != nil || said.String() != "the agent is installed already: nothing to change\n" {
		t.Errorf("%v: %s", err, said.String())
	}
	same(t, "twice", snapshot(t, root), once)

	s.Names = slices.Concat(s.Names, names("tachograph.new 500:9:9"))
	if err := s.Install(false); err != nil || !strings.Contains(get(t, filepath.Join(root, "var/lib/pcp/pmns/root")), "new\t500:9:9") {
		t.Errorf("an upgrade: %v", err)
	}
	if err := s.Remove(false); err != nil {
		t.Fatal(err)
	}
	same(t, "removed", snapshot(t, root), before)
	said.Reset()
	if err := s.Remove(false); err != nil || said.String() != "the agent is not installed: nothing to remove\n" {
		t.Errorf("%v: %s", err, said.String())
	}
}

func TestOthersMayChangeTheirFilesMeanwhile(t *testing.T) {
	root := machine(t)
	s := at(t, root, &strings.Builder{})
	if err := s.Install(false); err != nil {
		t.Fatal(err)
	}
	conf, pmns := filepath.Join(root, "etc/pcp/pmcd/pmcd.conf"), filepath.Join(root, "var/lib/pcp/pmns/root")
	put(t, conf, strings.Replace(get(t, conf), "[access]", "simple\t253\tpipe\tbinary\t/x\n\n[access]", 1))
	put(t, pmns, strings.Replace(get(t, pmns), "\ttachograph\n", "\ttachograph\n\tsimple\t253:*:*\n", 1))
	if err := s.Install(false); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(false); err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, conf), strings.Replace(macAgents, "[access]", "simple\t253\tpipe\tbinary\t/x\n\n[access]", 1); got != want {
		t.Errorf("pmcd.conf:\n%s\nwant\n%s", got, want)
	}
	if got, want := get(t, pmns), strings.Replace(small, "\tmmv\t70:*:*\n", "\tmmv\t70:*:*\n\tsimple\t253:*:*\n", 1); got != want {
		t.Errorf("the name space:\n%s\nwant\n%s", got, want)
	}
}

func TestAMacsAgentsArePutBack(t *testing.T) {
	root := machine(t)
	before := snapshot(t, root)
	s := at(t, root, &strings.Builder{})
	p := pack(pcp.Native(500))
	s.Lines, s.Names, s.Files = native, p.Names(), s.Put(p)
	if err := s.Install(false); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("without a word: %v", err)
	}
	same(t, "refused", snapshot(t, root), before)
	s.Replace = true
	if err := s.Install(false); err != nil {
		t.Fatal(err)
	}
	conf := get(t, filepath.Join(root, "etc/pcp/pmcd/pmcd.conf"))
	if strings.Contains(conf, "pmda_darwin") || !strings.Contains(conf, "darwin\t78\tpipe\tbinary\t/r pmda 78\n") {
		t.Error(conf)
	}
	if err := s.Remove(false); err != nil {
		t.Fatal(err)
	}
	same(t, "removed", snapshot(t, root), before)
}

// What cannot be changed leaves everything else as it was.
func TestAFailureIsTakenBack(t *testing.T) {
	root := machine(t)
	conf := filepath.Join(root, "etc/pcp/pmcd/pmcd.conf")
	out := filepath.Join(t.TempDir(), "pmcd.conf")
	put(t, out, macAgents)
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, conf); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, root)
	s := at(t, root, &strings.Builder{})
	if err := s.Install(false); err == nil || !strings.Contains(err.Error(), "leads out of "+root) {
		t.Errorf("a link out of the root: %v", err)
	}
	same(t, "failed", snapshot(t, root), before)
	if get(t, out) != macAgents {
		t.Error("what is outside was changed")
	}
}

// PCP's packages for macOS give its templates to the user of its daemons, who is not to
// lead root elsewhere.
func TestTemplatesMayBelongToPCP(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root") // who can give files away
	}
	for _, led := range []bool{false, true} {
		root := machine(t)
		s := at(t, root, &strings.Builder{})
		s.Stage, s.Root, s.Owners = false, root, trust.Root()
		config, outside := filepath.Join(root, "var/lib/pcp/config"), t.TempDir()
		for _, name := range []string{"", "pmlogconf", "pmieconf"} {
			if err := os.Chown(filepath.Join(config, name), 4711, 4711); err != nil {
				t.Fatal(err)
			}
		}
		if led {
			if err := os.Symlink(outside, filepath.Join(config, "pmlogconf", Agent)); err != nil {
				t.Fatal(err)
			}
		}
		before := snapshot(t, root)
		err := s.Install(false)
		if led {
			if list, _ := os.ReadDir(outside); err == nil || len(list) > 0 {
				t.Errorf("led elsewhere: %v, %v", list, err)
			}
		} else if err == nil {
			err = s.Remove(false)
			if err != nil {
				t.Error(err)
			}
		} else {
			t.Error(err)
		}
		same(t, "in the end", snapshot(t, root), before)
	}
}

func TestNobodyElseMayChangeIt(t *testing.T) {
	root := machine(t)
	s := at(t, root, &strings.Builder{})
	s.Stage, s.EUID = false, 501
	if err := s.Install(false); err == nil || err.Error() != "PCP's configuration can be changed only by root: use sudo (--dry-run shows what would change)" {
		t.Error(err)
	}
	if err := s.Install(true); err != nil {
		t.Error(err)
	}
}

func TestPCPIsFound(t *testing.T) {
	root := t.TempDir()
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	find := func() (Paths, error) { return Find(root, get, trust.Running(-1)) }
	if _, err := find(); err == nil || err.Error() != "there is no PCP here, for there is no /etc/pcp.conf, /usr/local/etc/pcp.conf, /opt/homebrew/etc/pcp.conf or /opt/local/etc/pcp.conf (install PCP, or say where its pcp.conf is with PCP_CONF)" {
		t.Error(err)
	}
	put(t, filepath.Join(root, "opt/homebrew/etc/pcp.conf"), strings.ReplaceAll(pcpConf, "=/", "=/opt/homebrew/"))
	if p, err := find(); err != nil || p.PMCD != "/opt/homebrew/etc/pcp/pmcd/pmcd.conf" || p.Names() != "/opt/homebrew/var/lib/pcp/pmns/root" {
		t.Errorf("%+v %v", p, err)
	}
	put(t, filepath.Join(root, "x/etc/pcp.conf"), "PCP_VAR_DIR=var\n")
	env["PCP_DIR"] = "/x"
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "/x/etc/pcp.conf does not say where things are: ") {
		t.Error(err)
	}
	put(t, filepath.Join(root, "y.conf"), pcpConf)
	env["PCP_CONF"], env["PCP_VAR_DIR"] = "/y.conf", "/elsewhere"
	if p, err := find(); err != nil || p.Names() != "/elsewhere/pmns/root" || p.Group != "pcp" {
		t.Errorf("%+v %v", p, err)
	}
}
