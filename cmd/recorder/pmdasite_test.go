package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
)

const sitePMCD = "# agents\nroot\t1\tpipe\tbinary\t/pmdas/root/pmdaroot\n\n[access]\nallow \"local:*\" : all;\n"

// pcpAt is the directory of a machine with a PCP that was just installed.
func pcpAt(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"etc/pcp.conf":          "PCP_PMCDCONF_PATH=/etc/pcp/pmcd.conf\nPCP_VAR_DIR=/var/lib/pcp\nPCP_PMDAS_DIR=/var/lib/pcp/pmdas\nPCP_RUN_DIR=/run/pcp\nPCP_GROUP=performance\n",
		"etc/pcp/pmcd.conf":     sitePMCD,
		"var/lib/pcp/pmns/root": "root {\n\tpmcd\n}\n\npmcd {\n\tpid\t2:0:23\n}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// onMachine runs a subcommand on the made-up machine, under systemd.
func onMachine(t *testing.T, args ...string) (out, errs string, status int) {
	t.Helper()
	t.Setenv("PCP_CONF", "")
	t.Setenv("PCP_DIR", "")
	h := configured(t, "systemd", "")
	h.euid = 501
	var o, e bytes.Buffer
	a := &app{
		out: toPeople(&o), err: toPeople(&e), now: platform.Now, host: func() (host, error) { return h, nil },
		sources: func(platform.Options) ([]sample.Source, error) { return []sample.Source{newMachine()}, nil },
		catalog: func() []*metric.Desc {
			return []*metric.Desc{
				{Name: "hinv.ncpu", PMID: metric.NewPMID(60, 0, 32), Type: metric.U32, Sem: metric.Discrete, Class: metric.Static, Help: "processors"},
				{Name: "smc.temperature", Type: metric.F32, Sem: metric.Instant, Class: metric.Polled, Help: "temperature", Unsupported: "Linux has no SMC"},
			}
		},
	}
	status = a.run(args)
	return o.String(), e.String(), status
}

func textAt(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPmdaIsInstalledAndRemoved(t *testing.T) {
	const before = "root\t1\tpipe\tbinary\t/pmdas/root/pmdaroot\n"
	for _, c := range []struct {
		name string
		args []string
		line string
		unit string
	}{
		{"a pipe", []string{"--daemon=false"}, "tachograph\t500\tpipe\tbinary\t\"/opt/a b/recorder\" pmda --beside --domain 500\n", ""},
		{"another domain", []string{"--daemon=false", "--domain", "499"}, "tachograph\t499\tpipe\tbinary\t\"/opt/a b/recorder\" pmda --beside --domain 499\n", ""},
		{"a daemon", []string{"--daemon"}, "tachograph\t500\tsocket\tunix\t/run/tachograph-pmda/500.sock\n", "--beside --socket 500=unix:/run/tachograph-pmda/500.sock"},
		{"a daemon, another domain", []string{"--daemon", "--domain", "499"}, "tachograph\t499\tsocket\tunix\t/run/tachograph-pmda/499.sock\n",
			"--beside --domain 499 --socket 499=unix:/run/tachograph-pmda/499.sock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := pcpAt(t)
			names := textAt(t, root, "var/lib/pcp/pmns/root")
			args := append([]string{"pmda", "install", "--root", root, "--beside", "--recorder", "/opt/a b/recorder"}, c.args...)
			for range 2 {
				if _, errs, status := onMachine(t, args...); status != cli.Yes || errs != "" {
					t.Fatal(errs)
				}
			}
			if got := textAt(t, root, "etc/pcp/pmcd.conf"); got != strings.Replace(sitePMCD, before, before+c.line, 1) {
				t.Errorf("pmcd.conf:\n%s", got)
			}
			if got := textAt(t, root, "var/lib/pcp/pmns/root"); !strings.Contains(got, "\ttachograph\n") || !strings.Contains(got, "\tncpu\t") || strings.Contains(got, "temperature") {
				t.Errorf("the name space:\n%s", got)
			}
			unit := filepath.Join(root, "etc/systemd/system/tachograph-pmda.service")
			if _, err := os.Stat(unit); (err == nil) != (c.unit != "") {
				t.Errorf("a unit: %v", err)
			}
			if c.unit != "" && !strings.Contains(textAt(t, unit), "ExecStart=\"/opt/a b/recorder\" pmda "+c.unit+" --socket-group performance\n") {
				t.Error(textAt(t, unit))
			}
			remove := []string{"pmda", "remove", "--root", root}
			if c.unit != "" {
				remove = []string{"uninstall", "--root", root} // the recorder, which the agent is
			}
			if out, errs, status := onMachine(t, remove...); status != cli.Yes || errs != "" || !strings.Contains(out, "changed "+root) {
				t.Errorf("%s%s", out, errs)
			}
			if textAt(t, root, "etc/pcp/pmcd.conf") != sitePMCD || textAt(t, root, "var/lib/pcp/pmns/root") != names {
				t.Error("it is not as it was")
			}
			if _, err := os.Stat(unit); err == nil {
				t.Error("the unit is left")
			}
		})
	}
}

func TestPmdaIsPackaged(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if out, errs, status := onMachine(t, "pmda", "package", "--beside", "--recorder", "/usr/bin/recorder", dir); status != cli.Yes || errs != "" {
			t.Fatalf("%s%s", out, errs)
		}
	}
	for name, want := range map[string]string{
		"domain.h": "#define TACHOGRAPH 500\n", "pmns": "\tncpu\tTACHOGRAPH:1024:32\n", "root": "root { tachograph }\n", "help": "@ tachograph.hinv.ncpu processors\n",
		"pmdatachograph": "exec /usr/bin/recorder pmda --beside \"$@\"\n", "Install": "iam=tachograph\n", "Remove": "pmdaRemove\n", "pmlogconf/tachograph/static": "\ttachograph.hinv.ncpu\n",
	} {
		if text := textAt(t, dir, name); !strings.Contains(text, want) || strings.Contains(text, "RECORDER") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestMistakesAboutPmdaAreOneSentence(t *testing.T) {
	root, empty := pcpAt(t), t.TempDir()
	owned := pcpAt(t)
	if err := os.WriteFile(filepath.Join(owned, "etc/pcp/pmcd.conf"), []byte("other\t500\tpipe\tbinary\t/x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(root string, more ...string) []string {
		return append([]string{"pmda", "install", "--beside", "--daemon=false", "--root", root}, more...)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{at(root, "--domain", "511"), "--domain 511: PCP's domains are 1 to 510, and 385 to 510 are free for all"},
		{at(root, "--replace"), "--replace is for a Mac, and without --beside: beside PCP's agents it replaces none"},
		{at(root, "--recorder", "bin/recorder"), "--recorder bin/recorder: pmcd wants a whole path"},
		{at(empty), "there is no PCP here, for there is no /etc/pcp.conf, /usr/local/etc/pcp.conf, /opt/homebrew/etc/pcp.conf or /opt/local/etc/pcp.conf (install PCP, or say where its pcp.conf is with PCP_CONF)"},
		{at(owned), `domain 500 belongs to the agent "other" in /etc/pcp/pmcd.conf (give another one with --domain, of 385 to 510)`},
		{[]string{"pmda", "package"}, "recorder pmda package takes one argument, the directory to write to"},
		{[]string{"pmda", "remove", "now"}, `recorder pmda remove takes no arguments, but got "now" (see recorder pmda remove --help)`},
	} {
		if out, errs, status := onMachine(t, c.args...); status != cli.Failed || errs != "recorder: "+c.want+"\n" || out != "" {
			t.Errorf("%v: status %d\nsaid %q\nwant %q\nout %q", c.args, status, errs, c.want, out)
		}
	}
	if runtime.GOOS != "darwin" {
		if _, errs, _ := onMachine(t, "pmda", "install", "--beside=false", "--root", root); !strings.Contains(errs, "--beside=false is for a Mac") {
			t.Error(errs)
		}
	}
}
