package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
)

func TestExampleFileIsTheDefaults(t *testing.T) {
	c, err := Parse("default.toml", DefaultText)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.TOML(), Default().TOML(); got != want {
		t.Errorf("the example file means\n%s\nthe defaults are\n%s", got, want)
	}
	for _, k := range keys {
		if c.lines[k.path] == 0 {
			t.Errorf("the example file does not mention %s", k.path)
		}
	}
}

func TestEffectiveTextReadsBack(t *testing.T) {
	c, err := Parse("x", `
[archive]
keep_for = "2w"
max_size = "1500MB"
rotate = "@hourly"
[classes]
fast = "2s"
costly = "off"
[process]
args = "redacted"
threads = ["Safari*"]
[budget]
max_cpu = "1.5%"
max_memory = "off"
[[rule]]
match = "disk.dev"
class = "fast"
[[rule]]
match = ["a.*", "b"]
class = "disabled"
`)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("x", c.TOML())
	if err != nil {
		t.Fatalf("%v in\n%s", err, c.TOML())
	}
	if again.TOML() != c.TOML() {
		t.Errorf("read back as\n%s\nwant\n%s", again.TOML(), c.TOML())
	}
	if c.Archive.KeepFor != 14*day || c.Archive.MaxSize != 1500<<20 || c.Budget.MaxCPU != 0.015 || c.Budget.MaxMemory != 0 {
		t.Errorf("read %+v %+v", c.Archive, c.Budget)
	}
	if c.Interval(metric.Costly) != Off || c.Interval(metric.Thread) != 5*time.Second || c.Interval(metric.Fast) != 2*time.Second {
		t.Errorf("intervals %v", c.Intervals)
	}
}

func TestMistakesNameFileLineAndKey(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "[archive]\ndri = \"/x\"", "f.toml:2: archive.dri is not a key of the configuration; did you mean archive.dir?"},
		{"unknown section", "\n[nonsense]\nx = 1", "f.toml:3: nonsense.x is not a key of the configuration"},
		{"key in the wrong section", "max_cpu = \"1%\"", "f.toml:1: max_cpu is not a key of the configuration; did you mean budget.max_cpu?"},
		{"duration", "[archive]\n\nkeep_for = \"fortnight\"", "f.toml:3: archive.keep_for is not a duration (write \"10s\", \"5m\", \"1h30m\", \"30d\")"},
		{"duration without unit", "[classes]\nfast = 10", "f.toml:2: classes.fast is not a string: put its value in quotes"},
		{"duration too short", "[classes]\nfast = \"1ms\"", "f.toml:2: classes.fast is too short: 100ms at least"},
		{"size", "[archive]\nkeep_size = \"plenty\"", "f.toml:2: archive.keep_size is not a size (write \"500KB\", \"100MB\", \"2GB\")"},
		{"size too small", "[budget]\nmax_memory = \"1MB\"", "f.toml:2: budget.max_memory is too small: 16MB at least, or \"off\""},
		{"cron", "archive.rotate = \"61 0 * * *\"", "f.toml:1: archive.rotate is not a schedule (write minute, hour, day of month, month, day of week: \"0 0 * * *\", or \"off\")"},
		{"choice", "[process]\nargs = \"some\"", "f.toml:2: process.args is none of off, redacted, full"},
		{"command", "[archive]\non_finish = [\n \"ship\",\n]", "f.toml:2: archive.on_finish does not begin with an absolute path"},
		{"percent", "[budget]\nmax_cpu = \"0.5\"", "f.toml:2: budget.max_cpu is not a percentage of one core (write \"1%\", or \"off\")"},
		{"rule class", "[[rule]]\nmatch = \"x\"\nclass = \"quick\"", "f.toml:3: rule.0.class is none of static, constrained, polled, fast, process, thread, costly, disabled"},
		{"rule without match", "[[rule]]\nclass = \"fast\"\n[[rule]]\nclass=\"fast\"\nmatch=\"a\"", "f.toml:1: rule.0 has no match"},
		{"rule key", "[[rule]]\nclass = \"fast\"\nmatch = \"a\"\n[[rule]]\nmatches=\"b\"\nclass=\"fast\"\nmatch=\"b\"", "f.toml:5: rule.1.matches is not a key of the configuration"},
		{"rule pattern", "[[rule]]\nclass = \"fast\"\nmatch = \"a[\"", "f.toml:3: rule.0.match is not a pattern of metric names (write \"disk.dev.*\")"},
		{"a value after a string of many lines", "[process]\nthreads = [\"\"\"\nfast = \"x\"\n\"\"\"]\nargs = 1", "f.toml:5: process.args is not a string: put its value in quotes"},
		{"not TOML", "[archive]\nroot:$6$secret:19000:0:99999:7:::", "f.toml:2: this line is not valid TOML"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("f.toml", tc.text)
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != tc.want {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Error("the error shows the line")
			}
		})
	}
}

func TestAllMistakesAtOnceInOrder(t *testing.T) {
	_, err := Parse("f", "[log]\nlevel = 1\nformat = 2\n[process]\nargs = 3\n")
	var lines []string
	for _, l := range strings.Split(err.Error(), "\n") {
		lines = append(lines, l[:4])
	}
	if got := strings.Join(lines, " "); got != "f:2: f:3: f:5:" {
		t.Errorf("mistakes in the order %s", got)
	}
}

func TestMonotonicRule(t *testing.T) {
	descs := []*metric.Desc{
		{Name: "hinv.ncpu", Class: metric.Static},
		{Name: "hinv.physmem", Class: metric.Static},
		{Name: "kern.hostname", Class: metric.Constrained},
		{Name: "disk.dev.read", Class: metric.Polled},
		{Name: "smc.temp", Class: metric.Polled, Fastest: 20 * time.Second, Unsupported: "no sensor"},
		{Name: "kernel.all.load", Class: metric.Fast},
	}
	for _, tc := range []struct{ name, text, want string }{
		{"defaults", "", ""},
		{"a polled metric every second", "[[rule]]\nmatch=\"disk.*\"\nclass=\"fast\"", ""},
		{"static metrics every second", "\n[[rule]]\nmatch=\"hinv\"\nclass=\"fast\"",
			"f:2: rule.0 reads hinv.ncpu every 1s, but it is static: it cannot change while the machine runs, and is read once an archive (and 1 more metrics like it)"},
		{"a class too fast", "[classes]\nconstrained = \"5s\"",
			"f:2: classes.constrained reads kern.hostname every 5s, but its source cannot give anything new more often than every 10s"},
		{"later rules win", "[[rule]]\nmatch=\"hinv\"\nclass=\"fast\"\n[[rule]]\nmatch=\"*\"\nclass=\"disabled\"", ""},
	} {
		c, err := Parse("f", tc.text)
		if err != nil {
			t.Fatal(tc.name, err)
		}
		got := ""
		if err := c.CheckMetrics(descs); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
	c, _ := Parse("f", "[[rule]]\nmatch=\"nfs\"\nclass=\"fast\"")
	if idle := c.IdleRules(descs); len(idle) != 1 || idle[0].Error() != "f:1: rule.0 matches no metric of this machine" {
		t.Errorf("idle rules: %v", idle)
	}
}

func TestLoadRefusesUnsafePlaces(t *testing.T) {
	write := func(dir string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, "tachograph.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	open := t.TempDir()
	os.Chmod(open, 0o777)
	command := "[archive]\non_finish = [\"/bin/true\"]\n"
	for _, tc := range []struct{ name, path, want string }{
		{"fine", write(t.TempDir(), 0o644, command), ""},
		{"world-writable", write(t.TempDir(), 0o646, ""), "everybody may write this file"},
		{"world-writable directory", write(open, 0o644, ""), "everybody may write its directory"},
		{"group-writable with a command", write(t.TempDir(), 0o664, command), "names a command, but a group may write the file"},
		{"group-writable without", write(t.TempDir(), 0o664, ""), ""},
		{"absent", filepath.Join(t.TempDir(), "none"), "no such file"},
		{"a directory", t.TempDir(), "is not a file"},
	} {
		_, err := Load(tc.path)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if os.Geteuid() == 0 {
		path := write(t.TempDir(), 0o644, command)
		os.Chown(path, 12345, 12345)
		_, err := Load(path)
		var e *Error
		if !errors.As(err, &e) || e.Line != 2 || !strings.Contains(e.Msg, "belongs to user 12345") {
			t.Errorf("a stranger's file with a command: %v", err)
		}
	}
}

func TestCheckDir(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	os.WriteFile(file, nil, 0o600)
	open := filepath.Join(base, "open")
	os.Mkdir(open, 0o700)
	os.Chmod(open, 0o777)
	for _, tc := range []struct{ dir, want string }{
		{base, ""},
		{filepath.Join(base, "new"), ""},
		{filepath.Join(base, "new", "deeper"), ""},
		{file, "is not a directory"},
		{filepath.Join(file, "x"), "not a directory"},
		{open, "everybody may write"},
		{filepath.Join(open, "x"), "everybody may write"},
	} {
		err := CheckDir(tc.dir)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.dir, err, tc.want)
		}
	}
	c, _ := Parse("f", "[archive]\ndir = \""+file+"\"")
	if err := c.CheckDir(file); err == nil || !strings.HasPrefix(err.Error(), "f:2: archive.dir cannot be used: ") {
		t.Errorf("the key is not named: %v", err)
	}
}
