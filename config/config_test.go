package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
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
[[trigger]]
name = "runaway process"
when = "off"
[[trigger]]
name = "mine"
when = """kernel.all.load[1*]
   > 2 * hinv.ncpu"""
for = "1m30s"
stacks = { for = "5s", rate = 99, of = "all" }
cool_down = "1d"
[trigger.burst]
classes = ["fast", "process", "fast"]
for = "10s"
before = "20s"
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
	want := append(DefaultTriggers(), Trigger{Name: "mine", When: "kernel.all.load[1*] > 2 * hinv.ncpu", For: 90 * time.Second,
		Stacks: StacksWish{For: 5 * time.Second, Rate: 99, Of: "all"}, CoolDown: day, PerDay: 10,
		Burst: BurstWish{Classes: []metric.Class{metric.Fast, metric.Process}, Every: 100 * time.Millisecond, For: 10 * time.Second, Before: 20 * time.Second}})
	want[0] = Trigger{Name: "runaway process", When: "off", CoolDown: 10 * time.Minute, PerDay: 10}
	if !slices.EqualFunc(again.Triggers, want, func(a, b Trigger) bool { return a.Same(&b) }) {
		t.Errorf("triggers %+v\nwant %+v", again.Triggers, want)
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
		{"rule class", "[[rule]]\nmatch = \"x\"\nclass = \"quick\"", "f.toml:3: rule.0.class is none of static, constrained, polled, fast, process, thread, costly, disabled, network"},
		{"rule without match", "[[rule]]\nclass = \"fast\"\n[[rule]]\nclass=\"fast\"\nmatch=\"a\"", "f.toml:1: rule.0 has no match"},
		{"rule key", "[[rule]]\nclass = \"fast\"\nmatch = \"a\"\n[[rule]]\nmatches=\"b\"\nclass=\"fast\"\nmatch=\"b\"", "f.toml:5: rule.1.matches is not a key of the configuration"},
		{"rule pattern", "[[rule]]\nclass = \"fast\"\nmatch = \"a[\"", "f.toml:3: rule.0.match is not a pattern of metric names (write \"disk.dev.*\")"},
		{"a value after a string of many lines", "[process]\nthreads = [\"\"\"\nfast = \"x\"\n\"\"\"]\nargs = 1", "f.toml:5: process.args is not a string: put its value in quotes"},
		{"trigger without a name", "\n[[trigger]]\nwhen = \"off\"", "f.toml:2: trigger.0 has no name"},
		{"trigger twice", trigger("") + trigger(""), "f.toml:4: trigger.1 has the name of another trigger"},
		{"trigger key", trigger("before = \"5s\""), "f.toml:4: trigger.0.before is no key of a trigger (name, when, for, stacks, burst, run, cool_down, per_day)"},
		{"trigger cool_down", trigger("cool_down = \"1s\""), "f.toml:4: trigger.0.cool_down is too short: 10s at least"},
		{"trigger for", trigger("for = \"2d\""), "f.toml:4: trigger.0.for is too long: 1d at most"},
		{"trigger per_day", trigger("per_day = 0"), "f.toml:4: trigger.0.per_day is not a number from 1 to 1000"},
		{"trigger run", trigger("run = [\"logger\"]"), "f.toml:4: trigger.0.run does not begin with an absolute path"},
		{"trigger stacks", trigger("stacks = true"), "f.toml:4: trigger.0.stacks is not a table (write { for = \"5s\" })"},
		{"trigger stacks for", trigger("stacks = { rate = 5 }"), "f.toml:4: trigger.0.stacks has no for"},
		{"trigger stacks rate", trigger("stacks = { for = \"5s\", rate = 5000 }"), "f.toml:4: trigger.0.stacks has a mistake: rate is not a number from 1 to 1000"},
		{"trigger burst in a table", trigger("[trigger.burst]\nfor = \"10s\""), "f.toml:1: trigger.0.burst has no classes"},
		{"trigger burst key", trigger("burst = { for = \"10s\", secret = 1 }"), "f.toml:4: trigger.0.burst has a key that is none of before, classes, every, for"},
		{"trigger burst before", trigger("burst = { for = \"10s\", before = \"2m\", classes = [\"fast\"] }"), "f.toml:4: trigger.0.burst has a mistake: before is too long: 1m at most"},
		{"trigger burst class", trigger("burst = { for = \"10s\", classes = [\"static\"] }"), "f.toml:4: trigger.0.burst has a mistake: classes has a word that is no class which is read again and again (fast, process, thread, polled, costly, constrained, network)"},
		{"trigger burst too often", trigger("burst = { for = \"10s\", classes = [\"polled\"] }"), "f.toml:4: trigger.0.burst reads the class polled every 100ms, but its sources give nothing new more often than every 1s"},
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

// trigger returns a trigger with one more line.
func trigger(line string) string { return "[[trigger]]\nname = \"x\"\nwhen = \"off\"\n" + line }

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
		t.Run(tc.name, func(t *testing.T) {
			c, err := Parse("f", tc.text)
			if err != nil {
				t.Fatal(tc.name, err)
			}
			got := ""
			if err := c.CheckMetrics(descs); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
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
	// On a Mac no file says who is in root's group.
	group, alone := "a group may write the file", ""
	if os.Geteuid() == 0 && runtime.GOOS == "darwin" {
		group, alone = "may write it", "may write it"
	}
	command := "[archive]\non_finish = [\"/bin/true\"]\n"
	for _, tc := range []struct{ name, path, want string }{
		{"fine", write(t.TempDir(), 0o644, command), ""},
		{"world-writable", write(t.TempDir(), 0o646, ""), "everybody may write"},
		{"world-writable directory", write(open, 0o644, ""), "everybody may write"},
		{"group-writable with a command", write(t.TempDir(), 0o664, command), group},
		{"group-writable with a trigger's command", write(t.TempDir(), 0o664, trigger("run = [\"/bin/true\"]")), group},
		{"group-writable without", write(t.TempDir(), 0o664, ""), alone},
		{"absent", filepath.Join(t.TempDir(), "none"), "no such file"},
		{"a directory", t.TempDir(), "is not a file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Load(tc.path)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
			}
		})
	}
}

// TestRootObeysOnlyRoot tries what another user may own, or be able to write, around a
// configuration, the command in it and the directory of archives.
func TestRootObeysOnlyRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const stranger = 12345
	// place makes root's own tree: DIR/above/at/{file,program,archives}.
	type place struct{ above, at, file, program, archives string }
	newPlace := func(t *testing.T) place {
		base := t.TempDir()
		p := place{above: filepath.Join(base, "above")}
		p.at = filepath.Join(p.above, "at")
		p.file, p.program, p.archives = filepath.Join(p.at, "t.toml"), filepath.Join(p.at, "ship"), filepath.Join(p.at, "archives")
		os.MkdirAll(p.archives, 0o755)
		os.WriteFile(p.program, []byte("#!/bin/sh\n"), 0o755)
		os.WriteFile(p.file, []byte("[archive]\non_finish = [\""+p.program+"\"]\n"), 0o644)
		return p
	}
	for _, tc := range []struct {
		name      string
		spoil     func(p place)
		file, dir string // in the error of Load or of CheckDir; empty: no error
	}{
		{name: "fine", spoil: func(place) {}},
		{name: "a stranger's file", spoil: func(p place) { os.Chown(p.file, stranger, 0) }, file: "belongs to user 12345"},
		{name: "a stranger's file without a command", spoil: func(p place) {
			os.WriteFile(p.file, nil, 0o644)
			os.Chown(p.file, stranger, 0)
		}, file: "belongs to user 12345"},
		{name: "a file of a stranger's group", spoil: func(p place) { os.Chown(p.file, 0, stranger); os.Chmod(p.file, 0o664) }, file: "group 12345 may write it"},
		{name: "a stranger's directory", spoil: func(p place) { os.Chown(p.at, stranger, 0) }, file: "belongs to user 12345", dir: "belongs to user 12345"},
		{name: "a directory far above", spoil: func(p place) { os.Chown(p.above, stranger, 0) }, file: "belongs to user 12345", dir: "belongs to user 12345"},
		{name: "a group writes far above", spoil: func(p place) { os.Chown(p.above, 0, stranger); os.Chmod(p.above, 0o775) }, file: "group 12345 may write it", dir: "group 12345 may write it"},
		{name: "everybody writes far above", spoil: func(p place) { os.Chmod(p.above, 0o777) }, file: "everybody may write it", dir: "everybody may write"},
		{name: "everybody may add far above", spoil: func(p place) { os.Chmod(p.above, 0o777|os.ModeSticky) }},
		{name: "a stranger's program", spoil: func(p place) { os.Chown(p.program, stranger, 0) }, file: "archive.on_finish names a command that root must not run"},
		{name: "everybody's program", spoil: func(p place) { os.Chmod(p.program, 0o777) }, file: "archive.on_finish names a command that root must not run"},
		{name: "a stranger's program for a trigger", spoil: func(p place) {
			os.WriteFile(p.file, []byte(trigger("run = [\""+p.program+"\"]")), 0o644)
			os.Chown(p.program, stranger, 0)
		}, file: "t.toml:1: trigger.0 names a command that root must not run"},
		{name: "a stranger's script for an interpreter", spoil: func(p place) {
			os.WriteFile(p.file, []byte("[archive]\non_finish = [\"/bin/sh\", \""+p.program+"\"]\n"), 0o644)
			os.Chown(p.program, stranger, 0)
		}, file: "archive.on_finish names a command that root must not run"},
		{name: "a stranger's script in a text for a shell", spoil: func(p place) {
			os.WriteFile(p.file, []byte("[archive]\non_finish = [\"/bin/sh\", \"-c\", \"exec "+p.program+"; true\"]\n"), 0o644)
			os.Chown(p.program, stranger, 0)
		}, file: "archive.on_finish names a command that root must not run"},
		{name: "a stranger's file as an option", spoil: func(p place) {
			os.WriteFile(p.file, []byte(trigger("run = [\"/bin/sh\", \"--init-file="+p.program+"\"]")), 0o644)
			os.Chown(p.program, stranger, 0)
		}, file: "t.toml:1: trigger.0 names a command that root must not run"},
		{name: "a script to come in a stranger's directory", spoil: func(p place) {
			theirs := filepath.Join(p.above, "theirs")
			os.Mkdir(theirs, 0o755)
			os.Chown(theirs, stranger, 0)
			os.WriteFile(p.file, []byte("[archive]\non_finish = [\"/bin/sh\", \""+theirs+"/later\"]\n"), 0o644)
		}, file: "archive.on_finish names a command that root must not run"},
		{name: "a stranger's directory as an argument", spoil: func(p place) {
			theirs := filepath.Join(p.above, "theirs")
			os.Mkdir(theirs, 0o755)
			os.Chown(theirs, stranger, 0)
			os.WriteFile(p.file, []byte("[archive]\non_finish = [\"/bin/run-parts\", \""+theirs+"\"]\n"), 0o644)
		}, file: "archive.on_finish names a command that root must not run"},
		{name: "a script run from a stranger's directory", spoil: func(p place) {
			theirs := filepath.Join(p.above, "theirs")
			os.Mkdir(theirs, 0o755)
			os.Chown(theirs, stranger, 0)
			os.WriteFile(p.file, []byte(trigger("run = [\"/bin/sh\", \"-c\", \"cd "+theirs+" && ./later\"]")), 0o644)
		}, file: "t.toml:1: trigger.0 names a command that root must not run"},
		{name: "a stranger's pipe as an argument", spoil: func(p place) {
			theirs := filepath.Join(p.above, "theirs")
			syscall.Mkfifo(theirs, 0o644)
			os.Chown(theirs, stranger, 0)
			os.WriteFile(p.file, []byte("[archive]\non_finish = [\"/bin/sh\", \""+theirs+"\"]\n"), 0o644)
		}, file: "archive.on_finish names a command that root must not run"},
		{name: "directories of root's and of everybody's, and a device", spoil: func(p place) {
			os.WriteFile(p.file, []byte("[archive]\non_finish = [\"/bin/cp\", \"-t\", \""+p.archives+"\", \"/tmp\", \"/dev/null\"]\n"), 0o644)
		}},
		{name: "a program to come", spoil: func(p place) { os.Remove(p.program) }},
		{name: "a stranger's link", spoil: func(p place) {
			os.Rename(p.file, p.file+".real")
			os.Symlink(p.file+".real", p.file)
			os.Lchown(p.file, stranger, 0)
		}, file: "belongs to user 12345"},
		{name: "root's link to a stranger's place", spoil: func(p place) {
			os.Mkdir(filepath.Join(p.above, "x"), 0o755)
			os.Rename(p.file, filepath.Join(p.above, "x", "t"))
			os.Symlink("../x/t", p.file)
			os.Chown(filepath.Join(p.above, "x"), stranger, 0)
		}, file: "belongs to user 12345"},
		{name: "root's link", spoil: func(p place) {
			os.Rename(p.file, p.file+".real")
			os.Symlink("t.toml.real", p.file)
		}},
		{name: "a pipe", spoil: func(p place) { os.Remove(p.file); syscall.Mkfifo(p.file, 0o644) }, file: "is not a file"},
		{name: "archives that a group writes", spoil: func(p place) { os.Chown(p.archives, 0, stranger); os.Chmod(p.archives, 0o770) }, dir: "group 12345 may write it"},
		{name: "a stranger's archives", spoil: func(p place) { os.Chown(p.archives, stranger, 0) }, dir: "belongs to user 12345"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlace(t)
			tc.spoil(p)
			_, err := Load(p.file)
			dirErr := CheckDir(p.archives)
			for _, c := range []struct {
				what string
				err  error
				want string
			}{{"Load", err, tc.file}, {"CheckDir", dirErr, tc.dir}} {
				if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
					t.Errorf("%s: %v, want %q", c.what, c.err, c.want)
				}
			}
		})
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
