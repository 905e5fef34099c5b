package redact

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/catalog"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	reports "tachograph/sample/said"
)

// Every text metric and every instance domain of both systems is in a table: a
// new one that nobody has thought of would be dropped without a word.
func TestEverythingIsClassified(t *testing.T) {
	inCatalogue := make(map[string]bool)
	check := func(d *metric.Desc) {
		inCatalogue[d.Name] = true
		if d.Type == metric.String && texts[d.Name] == nil {
			t.Errorf("%s is text that nobody has classified: texts.go says how to map what texts hold", d.Name)
		}
		if d.Indom != metric.NoIndom && domains[d.Indom] == nil {
			t.Errorf("%s has instances of the domain %q, which nobody has classified: domains.go says how to map their names", d.Name, d.Indom)
		}
		if dropsNumber(d.Name) {
			t.Errorf("the values of %s are dropped for its name", d.Name)
		}
		if d.Type != metric.String && catalog.Telltale(d.Name) && numbers[d.Name] == numberAsIs {
			t.Errorf("%s may tell one machine from all others: numbers in texts.go says what becomes of it", d.Name)
		}
		if strings.HasPrefix(d.Name, "proc.id.") && d.Type != metric.String && d.Name != "proc.id.ngid" && numbers[d.Name] != numberOfAccount {
			t.Errorf("%s is the number of a user or group: numbers in texts.go lacks it", d.Name)
		}
	}
	for _, p := range []catalog.Platform{catalog.Darwin, catalog.Linux} {
		for _, d := range catalog.For(p) {
			check(d)
		}
	}
	for _, g := range append(engine.SelfGroups(), reports.TextGroup()) {
		for _, d := range g.Metrics {
			check(d)
		}
	}
	// Sysctls that a Mac's kernel has besides the catalogue, and old names.
	beside := []string{"kern.bootsessionuuid", "kern.bootargs", "hw.machine", "hw.model", "hw.product", "hw.target", "hw.targettype", "kern.osproductversioncompat",
		"kern.shutdownreason", "kern.wakereason", "kern.corefile", "machdep.cpu.vendor", "machdep.cpu.features", "machdep.cpu.leaf7_features", "machdep.cpu.extfeatures"}
	for name := range texts {
		if !inCatalogue[name] && !slices.Contains(beside, name) {
			t.Errorf("%s is classified, but no system has it", name)
		}
	}
}

// The table of well-known names is in order: no name stands twice in a section,
// and sections are those that are asked for.
// What is left out of a redacted copy is shown by PCP's agents only to those who may see
// everything.
func TestWhatIsDroppedIsPrivate(t *testing.T) {
	isDropped := func(f textMap) bool { return reflect.ValueOf(f).Pointer() == reflect.ValueOf(dropped).Pointer() }
	all := append(catalog.For(catalog.Darwin), catalog.For(catalog.Linux)...)
	all = append(all, reports.TextGroup().Metrics...)
	all = append(all, &metric.Desc{Name: "kern.found.text", Type: metric.String}, &metric.Desc{Name: "hw.found.ecid", Type: metric.U64})
	private := 0
	for _, d := range all {
		if drop := d.Type == metric.String && isDropped((*Mapping)(nil).textOf(d.Name)) || numbers[d.Name] == numberDropped || dropsNumber(d.Name); drop {
			private++
			if !pcpserve.Private(d) {
				t.Errorf("%s is told to everybody", d.Name)
			}
		}
	}
	if private < 4 {
		t.Errorf("%d metrics are left out", private)
	}
}

func TestKnownNames(t *testing.T) {
	for _, section := range []string{"programs of macOS", "programs of Linux", "programs that are everywhere", "users", "groups", "directories"} {
		if len(table()[section]) < 50 {
			t.Errorf("section %q has %d names", section, len(table()[section]))
		}
	}
	for _, s := range []string{"kernel_task", "launchd", "systemd", "Activity Monitor", "kworker/0:1H", "kworker/u8:3", "ksoftirqd/3", "jbd2/sda1-8", "python3.11", "mdworker_shared",
		"com.apple.WebKit", "com.apple.WebKit.WebContent"} {
		if !knownProgram(s) {
			t.Errorf("%q is not known", s)
		}
	}
	for _, s := range []string{"Zaphod", "kworker/zaphod:1", "jbd2/zaphod home-8", "kworker/0:1-zaphod", "", "main\nzaphod"} {
		if knownProgram(s) || knownThread(s) {
			t.Errorf("%q is known", s)
		}
	}
	for _, s := range []string{"root", "_spotlight", "www-data", "systemd-network", "wheel"} {
		if !systemAccount(s) {
			t.Errorf("%q is not known", s)
		}
	}
}

func TestPaths(t *testing.T) {
	m := New(Options{})
	for _, s := range []string{"/", "/sbin/launchd", "/usr/bin/python3", "/System/Library/CoreServices/Finder.app/Contents/MacOS/Finder", "/usr/lib/systemd/systemd"} {
		if got := m.path(s); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
	for _, s := range []string{"/Users/Zaphod/bin/Zaphodd", "/Applications/Zaphod Tool.app/Contents/MacOS/Zaphod Tool", "/opt/Zaphod/1.2/Zaphod (deleted)", "Zaphod", "/Volumes/Zaphod's Disk/x"} {
		if got := m.path(s); strings.Contains(got, "Zaphod") || strings.Count(got, "/") != strings.Count(s, "/") {
			t.Errorf("%s became %s", s, got)
		}
	}
	if m.path("/home/zaphod/bin/sh") != "/home/"+m.user("zaphod")+"/bin/sh" {
		t.Errorf("the home of a user is %s", m.path("/home/zaphod/bin/sh"))
	}
	for _, s := range []string{"/", "/boot/efi", "/System/Volumes/Data", "/home"} {
		if got := m.mountPoint(s); got != s {
			t.Errorf("mount point %s became %s", s, got)
		}
	}
	for in, want := range map[string]string{
		"/dev/disk3s1s1": "/dev/disk3s1s1", "/dev/nvme0n1p2": "/dev/nvme0n1p2", "tmpfs": "tmpfs", "map auto_home": "map auto_home",
		"/dev/mapper/zaphod-root":      "/dev/mapper/" + m.names.of(aVolume, "zaphod-root"),
		"zaphod.example:/export/music": m.host("zaphod.example") + ":/" + m.names.of(aDirectory, "export") + "/",
		"10.1.2.3:/x":                  m.names.of(anAddress, "10.1.2.3") + ":/",
		"tank/zaphod":                  m.names.of(aVolume, "tank") + "/" + m.names.of(aVolume, "zaphod"),
		"//zaphod:secret@nas/share":    "//" + m.user("zaphod") + "@" + m.host("nas") + "/",
	} {
		if got := m.device(in); !strings.HasPrefix(got, want) && got != want {
			t.Errorf("device %s became %s, not %s", in, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	m := New(Options{})
	host := m.host("Zaphods-Mac.local")
	volume := m.learn(aVolume, "Heart of Gold")
	for in, want := range map[string]string{
		"the machine was started, 3m2s after the last that was recorded": "the machine was started, 3m2s after the last that was recorded",
		"process: read every 10s instead of 5s: the recorder's budget":   "process: read every 10s instead of 5s: the recorder's budget",
		"the host Zaphods-Mac.local is here":                             "the host " + host + " is here",
		"the volume Heart of Gold, too":                                  "the volume " + volume + ", too",
		"disk.dev.read_bytes of sda1":                                    "disk.dev.read_bytes of sda1",
		"the address 10.1.2.3:22 of the host":                            "the address " + m.names.of(anAddress, "10.1.2.3:22") + " of the host",
		"the last tick is of 2026-11-20T03:12:04.123Z":                   "the last tick is of 2026-11-20T03:12:04.123Z",
		"size 1GB":           "size 1GB",
		"schedule 0 0 * * *": "schedule 0 0 * * *",
		"open /Users/zaphod/a file: permission denied":                            "open /Users/" + m.user("zaphod") + "/" + m.process("a file") + ": permission denied",
		"the interface 00:11:22:33:44:55 of 0F31C2A5-9D3E-4B8C-8A37-77D8E1B1F0AA": "the interface " + m.names.of(anAddress, "00:11:22:33:44:55") + " of " + m.names.of(aUUID, "0f31c2a5-9d3e-4b8c-8a37-77d8e1b1f0aa"),
	} {
		if got := m.sentence(in); got != want {
			t.Errorf("%q became %q, not %q", in, got, want)
		}
	}
	for _, in := range []string{"Zaphod", "of Zaphod's", "key=Zaphod;x", `"Zaphod"`, "a/Zaphod/b", "the zaphod.example.com", "user@Zaphod.example", "fe80::1%Zaphod", "x\x00Zaphod", "https://Zaphod:pw@x/"} {
		if got := m.sentence(in); strings.Contains(strings.ToLower(got), "zaphod") {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// A pseudonym is one name's, whatever the digits; with a key it is the same
// everywhere, and without one nowhere.
func TestPseudonyms(t *testing.T) {
	a := New(Options{})
	seen := make(map[string]string)
	for i := range 20000 {
		s := "name" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26%50) + string(rune('0'+i/1300))
		p := a.process(s)
		if was, ok := seen[p]; ok && was != s {
			t.Fatalf("%q and %q are both %s", was, s, p)
		}
		seen[p] = s
		if a.process(s) != p {
			t.Fatalf("%q is %s, and then %s", s, p, a.process(s))
		}
	}
	for i := range uint64(20000) {
		if n := a.number(5000 + i); n < idsFrom || n >= 1<<31 {
			t.Fatalf("the number %d became %d", 5000+i, n)
		}
	}
	key := []byte("a key of a fleet that nobody knows")
	b, c, d := New(Options{Key: key}), New(Options{Key: key}), New(Options{})
	c.process("another name, met before")
	if b.host("web-1") != c.host("web-1") || b.user("zaphod") != c.user("zaphod") || b.number(1001) != c.number(1001) {
		t.Error("with one key a name has two pseudonyms")
	}
	if b.host("web-1") == b.names.of(aUser, "web-1") || a.host("web-1") == d.host("web-1") && a.user("zaphod") == d.user("zaphod") {
		t.Error("pseudonyms can be told without a key")
	}
	if b.host("Web-1.local") != b.host("web-1") {
		t.Error("a host is two in its local network")
	}
}

func TestNumbersOfAccounts(t *testing.T) {
	m := New(Options{})
	for name, maps := range map[string]bool{"proc.id.uid": true, "reduced.max.proc.id.gid": true, "proc.psinfo.pid": false, "kern.hostid": true, "my.serial_number": true, "hw.ncpu": false} {
		d := &metric.Desc{Name: name, Type: metric.U32}
		if m.Maps(d) != maps {
			t.Errorf("%s is mapped: %v", name, !maps)
		}
		if n, keep := m.Number(d, 5001); maps == (keep && n == 5001) {
			t.Errorf("5001 of %s became %d, %v", name, n, keep)
		}
	}
	if n := m.number(0); n != 0 {
		t.Errorf("root became %d", n)
	}
}

func TestZones(t *testing.T) {
	m := New(Options{})
	for in, want := range map[string]string{"Europe/Berlin": "Europe/Berlin", "America/Argentina/Ushuaia": "America/Argentina/Ushuaia", "+05:30": "+05:30", "UTC": "UTC",
		"/home/zaphod/tz": "UTC", "Zaphod": "UTC", "": "", "../zaphod": "UTC"} {
		if got := m.Zone(in); got != want {
			t.Errorf("zone %q became %q", in, got)
		}
	}
}

func TestAllMapsKnownNames(t *testing.T) {
	m := New(Options{All: true})
	for _, s := range []string{"launchd", "systemd", "bash"} {
		if got := m.process(s); got == s {
			t.Errorf("%s stays", s)
		}
	}
	if m.user("www-data") == "www-data" || m.user("root") != "root" {
		t.Errorf("users are %s and %s", m.user("www-data"), m.user("root"))
	}
}

func TestReadKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if key, err := ReadKey(write("good", strings.Repeat("k", 32), 0o600)); err != nil || len(key) != 32 {
		t.Errorf("a good key: %d bytes, %v", len(key), err)
	}
	for path, want := range map[string]string{
		write("short", "password", 0o600):             "can be guessed",
		write("open", strings.Repeat("k", 32), 0o644): "others may read it",
		filepath.Join(dir, "none"):                    "no such file",
		dir:                                           "regular file",
	} {
		if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestConfig(t *testing.T) {
	m := New(Options{})
	got := m.Config("# Zaphod's\n[archive]\ndir = \"/Users/zaphod/Archives\"\ngroup = \"zaphods\"\nrotate = \"0 0 * * *\"\nmax_size = \"1GB\"\non_finish = [] # set, Zaphod\nzaphod = 1\n" +
		"[process]\nargs = \"full\"\nthreads = [\"Zaphod*\"]\n[zaphod]\nkey = 5\n[[rule]]\nmatch = [\"disk.dev.*\", \"network\"]\nclass = \"fast\"\n[log]\nformat = \"zaphod\"\n")
	if strings.Contains(strings.ToLower(got), "zaphod") {
		t.Errorf("it still says\n%s", got)
	}
	for _, want := range []string{"rotate = \"0 0 * * *\"", "max_size = \"1GB\"", "args = \"full\"", "class = \"fast\"", "match = [\"disk.dev.*\", \"network\"]", "on_finish = []"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing from\n%s", want, got)
		}
	}
}

// The patterns of a rule are kept where they fit metrics that everybody has; others are
// names of somebody's.
func TestConfigPatterns(t *testing.T) {
	m := New(Options{})
	for pattern, keep := range map[string]bool{
		`["disk.dev.*", "network"]`: true, `"proc.*"`: true, `["*"]`: true, `["kernel.all.lo?d"]`: true,
		`["zaphod.*"]`: false, `"*zaphod*"`: false, `["disk.dev.*", "openmetrics.zaphod"]`: false, `["[zaphod]*"]`: false, `"disk.zaphod"`: false,
	} {
		got := m.Config("[[rule]]\nmatch = " + pattern + "\nclass = \"fast\"\n")
		if want := "match = " + pattern + "\n"; strings.Contains(got, want) != keep || !keep && strings.Contains(got, "zaphod") {
			t.Errorf("%s became %s", pattern, got)
		}
		if !keep && strings.Contains(pattern, "disk.dev") && !strings.Contains(got, "disk.dev.*") {
			t.Errorf("%s became %s, in which nothing is left", pattern, got)
		}
	}
}

func TestEvents(t *testing.T) {
	m := New(Options{})
	p := m.process("zaphodd")
	for _, e := range []struct{ in, want metric.Event }{
		{metric.Event{Kind: metric.EventProcessStart, Indom: "process", Key: "12/34", Text: "001234 zaphodd started", Labels: []metric.Label{{Name: "pid", Value: "12"}, {Name: "name", Value: "zaphodd"}, {Name: "secret", Value: "zaphod"}}},
			metric.Event{Kind: metric.EventProcessStart, Indom: "process", Key: "12/34", Text: "001234 " + p + " started", Labels: []metric.Label{{Name: "pid", Value: "12"}, {Name: "name", Value: p}}}},
		{metric.Event{Kind: metric.EventProcessExec, Text: "001234 sh replaced zaphodd (exec)", Labels: []metric.Label{{Name: "was", Value: "zaphodd"}}},
			metric.Event{Kind: metric.EventProcessExec, Text: "001234 sh replaced " + p + " (exec)", Labels: []metric.Label{{Name: "was", Value: p}}}},
		{metric.Event{Kind: metric.EventProcessExit, Text: "001234 zaphodd ended: signal 9 core"}, metric.Event{Kind: metric.EventProcessExit, Text: "001234 " + p + " ended: signal 9 core"}},
		{metric.Event{Kind: metric.EventProcessExits, Text: "7 more short-lived processes called zaphodd ended, too many for a row each"},
			metric.Event{Kind: metric.EventProcessExits, Text: "7 more short-lived processes called " + p + " ended, too many for a row each"}},
		{metric.Event{Kind: metric.EventMount, Text: "/dev/sdb1 was mounted on /media/Zaphod was here", Indom: "filesys", Key: "/media/Zaphod was here"},
			metric.Event{Kind: metric.EventMount, Text: "/dev/sdb1 was mounted on /media/" + m.learn(aVolume, "Zaphod was here"), Indom: "filesys", Key: "/media/" + m.learn(aVolume, "Zaphod was here")}},
		{metric.Event{Kind: metric.EventOwner, Text: "zaphodd.service: the kernel killed 1 process at its memory limit of 512 MB, and it ended", Indom: "cgroup", Key: "/system.slice/zaphodd.service",
			Labels: []metric.Label{{Name: "what", Value: "killed"}, {Name: "service", Value: "zaphodd.service"}, {Name: "count", Value: "1"}, {Name: "limit", Value: "536870912"}}},
			metric.Event{Kind: metric.EventOwner, Text: p + ".service: the kernel killed 1 process at its memory limit of 512 MB, and it ended", Indom: "cgroup", Key: "/system.slice/" + p + ".service",
				Labels: []metric.Label{{Name: "what", Value: "killed"}, {Name: "service", Value: p + ".service"}, {Name: "count", Value: "1"}, {Name: "limit", Value: "536870912"}}}},
		{metric.Event{Kind: metric.EventOwner, Text: "zaphodd.service: the kernel killed 2 processes at the memory limit of system.slice, 2 GB"},
			metric.Event{Kind: metric.EventOwner, Text: p + ".service: the kernel killed 2 processes at the memory limit of system.slice, 2 GB"}},
		{metric.Event{Kind: metric.EventOwner, Text: "container zaphodd of pod zaphodd/zaphodd started"}, metric.Event{Kind: metric.EventOwner, Text: "container " + m.learn(aContainer, "zaphodd") + " of pod " + m.learn(aName, "zaphodd") + "/" + m.learn(aPod, "zaphodd") + " started"}},
		{metric.Event{Kind: metric.EventOwner, Text: "session 3 of zaphod ended"}, metric.Event{Kind: metric.EventOwner, Text: "session 3 of " + m.user("zaphod") + " ended"}},
		{metric.Event{Kind: metric.EventOwner, Text: "zaphodd.service was held back by its quota of 50 % of a processor, which it used up in 71 % of the periods of a minute"},
			metric.Event{Kind: metric.EventOwner, Text: p + ".service was held back by its quota of 50 % of a processor, which it used up in 71 % of the periods of a minute"}},
		{metric.Event{Kind: metric.EventOwner, Text: "zaphodd: its memory limit is none now, before that 1.5 GB", Labels: []metric.Label{{Name: "what", Value: "limit"}, {Name: "was", Value: "1.5 GB"}, {Name: "is", Value: "none"}}},
			metric.Event{Kind: metric.EventOwner, Text: p + ": its memory limit is none now, before that 1.5 GB", Labels: []metric.Label{{Name: "what", Value: "limit"}, {Name: "was", Value: "1.5 GB"}, {Name: "is", Value: "none"}}}},
		{metric.Event{Kind: metric.EventOwner, Text: "30 more owners came and 0 went, too many for an event each", Labels: []metric.Label{{Name: "what", Value: "came"}, {Name: "came", Value: "30"}}},
			metric.Event{Kind: metric.EventOwner, Text: "30 more owners came and 0 went, too many for an event each", Labels: []metric.Label{{Name: "what", Value: "came"}, {Name: "came", Value: "30"}}}},
		{metric.Event{Kind: metric.EventTunableChange, Text: "kern.hostname was changed from a to zaphod", Labels: []metric.Label{{Name: "was", Value: "a"}, {Name: "is", Value: "zaphod"}, {Name: "metric", Value: "kern.hostname"}}},
			metric.Event{Kind: metric.EventTunableChange, Text: "kern.hostname was changed from " + m.host("a") + " to " + m.host("zaphod"),
				Labels: []metric.Label{{Name: "was", Value: m.host("a")}, {Name: "is", Value: m.host("zaphod")}, {Name: "metric", Value: "kern.hostname"}}}},
		{metric.Event{Kind: metric.EventTunableChange, Text: "vm.swappiness was changed from 60 to 10 while nothing was recorded", Labels: []metric.Label{{Name: "was", Value: "60"}, {Name: "is", Value: "10"}, {Name: "metric", Value: "vm.swappiness"}}},
			metric.Event{Kind: metric.EventTunableChange, Text: "vm.swappiness was changed from 60 to 10 while nothing was recorded", Labels: []metric.Label{{Name: "was", Value: "60"}, {Name: "is", Value: "10"}, {Name: "metric", Value: "vm.swappiness"}}}},
		{metric.Event{Kind: metric.EventUpdate, Text: "Debian GNU/Linux 12 (bookworm) became Debian GNU/Linux 13 (trixie)", Labels: []metric.Label{{Name: "was", Value: "Debian GNU/Linux 12 (bookworm)"}, {Name: "is", Value: "Debian GNU/Linux 13 (trixie)"}, {Name: "metric", Value: "kernel.uname.distro"}}},
			metric.Event{Kind: metric.EventUpdate, Text: "Debian GNU/Linux 12 (bookworm) became Debian GNU/Linux 13 (trixie)", Labels: []metric.Label{{Name: "was", Value: "Debian GNU/Linux 12 (bookworm)"}, {Name: "is", Value: "Debian GNU/Linux 13 (trixie)"}}}},
		{metric.Event{Kind: metric.EventTimeZone, Text: "the time zone changed from UTC to Europe/Berlin", Labels: []metric.Label{{Name: "from", Value: "UTC"}, {Name: "to", Value: "Europe/Berlin"}}},
			metric.Event{Kind: metric.EventTimeZone, Text: "the time zone changed from UTC to Europe/Berlin", Labels: []metric.Label{{Name: "from", Value: "UTC"}, {Name: "to", Value: "Europe/Berlin"}}}},
	} {
		got, keep := m.Event(e.in)
		if !keep || got.Text != e.want.Text || got.Kind != e.want.Kind || got.Indom != e.want.Indom || got.Key != e.want.Key || !slices.Equal(got.Labels, e.want.Labels) {
			t.Errorf("%+v became\n%+v, not\n%+v", e.in, got, e.want)
		}
	}
}

// Reasons and descriptions can hold the text of an error.
func TestWordsOfMetrics(t *testing.T) {
	m := New(Options{})
	if r := m.Reason(metric.FailureFor("open /home/Zaphod/x: permission denied")); strings.Contains(r.String(), "Zaphod") || !r.Failure() || !strings.HasSuffix(r.String(), ": permission denied") {
		t.Errorf("the reason became %q", r)
	}
	if m.Reason(metric.Permission) != metric.Permission {
		t.Error("a reason that everybody knows has changed")
	}
	d := catalog.Find(catalog.Linux, "filesys.used")
	d.Unsupported = "cannot read /home/Zaphod: refused"
	out := m.Desc(d)
	if strings.Contains(out.Unsupported, "Zaphod") || out.Help != d.Help || out.Source != d.Source || out == d {
		t.Errorf("the description became %+v", out)
	}
	stranger := &metric.Desc{Name: "x.y", Help: "Zaphod's metric", Source: "/home/Zaphod/x", Unsupported: ""}
	if out := m.Desc(stranger); strings.Contains(out.Help+out.Source, "Zaphod") {
		t.Errorf("a stranger's became %+v", out)
	}
}

// FuzzSentence: whatever a sentence is, no name that nobody knows stays in it, and
// mapping again gives the same when all names in it are known.
func FuzzSentence(f *testing.F) {
	for _, s := range []string{"the %s was started", "open /Users/%s/x: no such file", "\"%s\"", "%s:%s@%s", "[%s]", "/%s", "%s's", "a=%s,b", "kernel.all.load[%s]", "é%s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, format string) {
		const secret = "zaphodbeeblebrox"
		in := strings.ReplaceAll(format, "%s", secret)
		m := New(Options{})
		m.learn(aVolume, "Heart of "+secret)
		once := m.sentence(in)
		// A secret that is part of a longer word is that word.
		if strings.Contains(once, secret) {
			t.Fatalf("%q became %q", in, once)
		}
		// What is a path's at its end is known for a program from then on.
		twice := m.sentence(in)
		if again := m.sentence(in); again != twice || strings.Contains(again, secret) {
			t.Fatalf("%q became %q, and then %q", in, twice, again)
		}
		m.replaceKnown(in)
	})
}

// What is named after somebody gets another name, and what the kernel numbers stays.
func TestInstances(t *testing.T) {
	m := New(Options{})
	id := strconv.FormatUint(m.number(1000), 10)
	label := func(name, value string) metric.Label { return metric.Label{Name: name, Value: value} }
	for _, c := range []struct {
		indom    string
		in, want metric.Instance
	}{
		{"interface", metric.Instance{Key: "enp0s31f6", Name: "enp0s31f6", Labels: []metric.Label{label("kind", "physical"), label("driver", "e1000e"), label("mac", "00:11:22:33:44:55")}},
			metric.Instance{Key: "enp0s31f6", Name: "enp0s31f6", Labels: []metric.Label{label("kind", "physical"), label("driver", "e1000e")}}},
		{"interface", metric.Instance{Key: "enx001122334455", Name: "enx001122334455"}, metric.Instance{Key: m.names.of(anIface, "enx001122334455"), Name: m.names.of(anIface, "enx001122334455")}},
		{"interface", metric.Instance{Key: "br-6f1c3a2b4d5e", Name: "br-6f1c3a2b4d5e"}, metric.Instance{Key: m.names.of(anIface, "br-6f1c3a2b4d5e"), Name: m.names.of(anIface, "br-6f1c3a2b4d5e")}},
		{"disk", metric.Instance{Key: "nvme0n1", Name: "nvme0n1", Labels: []metric.Label{label("model", "Samsung SSD 970 EVO 1TB"), label("rotational", "0"), label("serial", "S5H9")}},
			metric.Instance{Key: "nvme0n1", Name: "nvme0n1", Labels: []metric.Label{label("model", "Samsung SSD 970 EVO 1TB"), label("rotational", "0")}}},
		{"disk", metric.Instance{Key: "disk4 Zaphod Stick", Name: "disk4", Labels: []metric.Label{label("model", "Zaphod Stick")}},
			metric.Instance{Key: "disk4 " + m.model("Zaphod Stick"), Name: "disk4", Labels: []metric.Label{label("model", m.model("Zaphod Stick"))}}},
		{"filesys", metric.Instance{Key: "/srv/zaphod", Name: "/srv/zaphod", Labels: []metric.Label{label("device", "/dev/mapper/zaphod-lv"), label("type", "ext4")}},
			metric.Instance{Key: m.mountPoint("/srv/zaphod"), Name: "/srv/" + m.learn(aVolume, "zaphod"), Labels: []metric.Label{label("device", "/dev/mapper/"+m.learn(aVolume, "zaphod-lv")), label("type", "ext4")}}},
		{"process", metric.Instance{Key: "12/345", Name: "000012 zaphodd", Labels: []metric.Label{label("pid", "12"), label("uid", "1000"), label("exe", "/usr/bin/bash"), label("cgroup", "zaphod.slice")}},
			metric.Instance{Key: "12/345", Name: "000012 " + m.process("zaphodd"), Labels: []metric.Label{label("pid", "12"), label("uid", strconv.FormatUint(m.number(1000), 10)), label("exe", "/usr/bin/bash")}}},
		{"thread", metric.Instance{Key: "12/345/13", Name: "000012/000013 zaphod's", Labels: []metric.Label{label("process", "12/345")}},
			metric.Instance{Key: "12/345/13", Name: "000012/000013 " + m.thread("zaphod's"), Labels: []metric.Label{label("process", "12/345")}}},
		{"cgroup", metric.Instance{Key: "/system.slice/zaphod.service", Name: "/system.slice/zaphod.service"},
			metric.Instance{Key: "/system.slice/" + m.process("zaphod") + ".service", Name: "/system.slice/" + m.process("zaphod") + ".service"}},
		{"cgroup", metric.Instance{Key: "/system.slice/sshd.service", Name: "/kubepods/burstable/podzaphod/crio-zaphod"},
			metric.Instance{Key: "/system.slice/sshd.service", Name: "/kubepods/burstable/" + m.process("podzaphod") + "/" + m.process("crio-zaphod")}},
		{"cgroup", metric.Instance{Key: "/user.slice/user-1000.slice/user@1000.service/app.slice", Name: "/x", Labels: []metric.Label{label("inner", "yes"), label("session", "3 of zaphod")}},
			metric.Instance{Key: "/user.slice/user-" + id + ".slice/user@" + id + ".service/app.slice", Name: "/" + m.process("x"),
				Labels: []metric.Label{label("inner", "yes"), label("session", "3 of "+m.user("zaphod"))}}},
		{"process", metric.Instance{Key: "12/346", Name: "000012 sh", Labels: []metric.Label{label("app", "Zaphod's"), label("service", "zaphod@42.service"), label("container", "zaphod-web"), label("pod", "zaphod/web-1"), label("session", "pts/4")}},
			metric.Instance{Key: "12/346", Name: "000012 sh", Labels: []metric.Label{label("app", m.process("Zaphod's")), label("service", m.process("zaphod")+"@42.service"),
				label("container", m.learn(aContainer, "zaphod-web")), label("pod", m.learn(aName, "zaphod")+"/"+m.learn(aPod, "web-1")), label("session", "pts/4")}}},
		{"process", metric.Instance{Key: "12/347", Name: "000012 sh", Labels: []metric.Label{label("service", "com.apple.bird"), label("session", "zaphod")}},
			metric.Instance{Key: "12/347", Name: "000012 sh", Labels: []metric.Label{label("service", "com.apple.bird"), label("session", m.learn(aUser, "zaphod"))}}},
		{"process", metric.Instance{Key: "12/348", Name: "000012 sh", Labels: []metric.Label{label("service", "kernel")}},
			metric.Instance{Key: "12/348", Name: "000012 sh", Labels: []metric.Label{label("service", "kernel")}}},
		{"owner", metric.Instance{Key: "container zaphod-web", Name: "zaphod-web", Labels: []metric.Label{label("container", "zaphod-web")}},
			metric.Instance{Key: "container " + m.learn(aContainer, "zaphod-web"), Name: m.learn(aContainer, "zaphod-web"), Labels: []metric.Label{label("container", m.learn(aContainer, "zaphod-web"))}}},
		{"coalition", metric.Instance{Key: "71", Name: "Zaphod's", Labels: []metric.Label{label("id", "71"), label("start", "2026-03-02T09:00:04Z"), label("app", "Zaphod's"), label("service", "zaphod.agent")}},
			metric.Instance{Key: "71", Name: m.process("Zaphod's"), Labels: []metric.Label{label("id", "71"), label("start", "2026-03-02T09:00:04Z"), label("app", m.process("Zaphod's")), label("service", m.process("zaphod.agent"))}}},
		{"coalition", metric.Instance{Key: "73", Name: "zaphodd", Labels: []metric.Label{label("id", "73")}},
			metric.Instance{Key: "73", Name: m.process("zaphodd"), Labels: []metric.Label{label("id", "73")}}},
		{"coalition", metric.Instance{Key: "75", Name: "coalition 75"}, metric.Instance{Key: "75", Name: "coalition 75"}},
		{"cgroup disk", metric.Instance{Key: "/zaphod.slice::sda", Name: "/zaphod.slice::253:7", Labels: []metric.Label{label("service", "zaphod.slice"), label("inner", "yes"), label("device", "sda")}},
			metric.Instance{Key: "/" + m.process("zaphod") + ".slice::sda", Name: "/" + m.process("zaphod") + ".slice::253:7", Labels: []metric.Label{label("service", m.process("zaphod")+".slice"), label("inner", "yes"), label("device", "sda")}}},
		{"connection", metric.Instance{Key: "00000000000a41c7", Name: "zaphodd :50412 → net-3f2a9c81:443", Labels: []metric.Label{label("process", "12/345"), label("pid", "12"), label("name", "zaphodd"), label("app", "Zaphod's"),
			label("protocol", "tcp"), label("direction", "out"), label("port", "50412"), label("peer", "net-3f2a9c81"), label("peer_port", "443"), label("interface", "wlan0"), label("host", "zaphod.example")}},
			metric.Instance{Key: "00000000000a41c7", Name: m.process("zaphodd") + " :50412 → " + m.learn(aRemote, "net-3f2a9c81") + ":443", Labels: []metric.Label{label("process", "12/345"), label("pid", "12"), label("name", m.process("zaphodd")), label("app", m.process("Zaphod's")),
				label("protocol", "tcp"), label("direction", "out"), label("port", "50412"), label("peer", m.learn(aRemote, "net-3f2a9c81")), label("peer_port", "443"), label("interface", "wlan0")}}},
		{"connection", metric.Instance{Key: "1f", Name: "zaphod → x → lan-00c0ffee:53", Labels: []metric.Label{label("peer", "lan-00c0ffee"), label("interface", "wg-zaphod"), label("direction", "zaphod"), label("protocol", "zaphod")}},
			metric.Instance{Key: m.learn(anInstance, "1f"), Name: m.process("zaphod → x") + " → " + m.learn(aNeighbour, "lan-00c0ffee") + ":53", Labels: []metric.Label{label("peer", m.learn(aNeighbour, "lan-00c0ffee")), label("interface", m.learn(anIface, "wg-zaphod"))}}},
		{"connection", metric.Instance{Key: "00000000000a41c8", Name: "nginx :443 ← 203.0.113.7"}, metric.Instance{Key: "00000000000a41c8", Name: "nginx :443 ← " + m.learn(aRemote, "203.0.113.7")}},
		{"connection", metric.Instance{Key: "00000000000a41c9", Name: ":443 ← localhost"}, metric.Instance{Key: "00000000000a41c9", Name: ":443 ← localhost"}},
		{"connection", metric.Instance{Key: "00000000000a41ca", Name: "zaphodd"}, metric.Instance{Key: "00000000000a41ca", Name: m.process("zaphodd")}},
		{"listener", metric.Instance{Key: "tcp :443", Name: "tcp :443", Labels: []metric.Label{label("protocol", "tcp"), label("port", "443"), label("process", "12/345"), label("name", "zaphodd"), label("service", "zaphod.service"), label("holders", "4")}},
			metric.Instance{Key: "tcp :443", Name: "tcp :443", Labels: []metric.Label{label("protocol", "tcp"), label("port", "443"), label("process", "12/345"), label("name", m.process("zaphodd")), label("service", m.process("zaphod")+".service"), label("holders", "4")}}},
		{"connection", metric.Instance{Key: "00000000000a41cb", Name: "? :443 ←"}, metric.Instance{Key: "00000000000a41cb", Name: "? :443 ←"}},
		{"connection", metric.Instance{Key: "00000000000a41cc", Name: "zaphodd → :443"}, metric.Instance{Key: "00000000000a41cc", Name: m.process("zaphodd") + " → :443"}},
		{"listener", metric.Instance{Key: "tcp :80 in 4026532281", Name: "tcp :80 in zaphod-web"}, metric.Instance{Key: "tcp :80 in 4026532281", Name: "tcp :80 in " + m.learn(aContainer, "zaphod-web")}},
		{"listener", metric.Instance{Key: "udp an address:53", Name: "udp an address:53"}, metric.Instance{Key: "udp an address:53", Name: "udp an address:53"}},
		{"listener", metric.Instance{Key: "tcp [fe80::1%en0]:8080", Name: "udp 10.42.0.9:53", Labels: []metric.Label{label("address", "10.42.0.9")}},
			metric.Instance{Key: "tcp [" + m.learn(aNeighbour, "fe80::1%en0") + "]:8080", Name: "udp " + m.learn(aNeighbour, "10.42.0.9") + ":53", Labels: []metric.Label{label("address", m.learn(aNeighbour, "10.42.0.9"))}}},
		{"source", metric.Instance{Key: "filesys", Name: "filesys"}, metric.Instance{Key: "filesys", Name: "filesys"}},
		{"a stranger's", metric.Instance{Key: "zaphod", Name: "zaphod", Labels: []metric.Label{label("x", "zaphod")}}, metric.Instance{Key: m.learn(anInstance, "zaphod"), Name: m.learn(anInstance, "zaphod")}},
	} {
		got := m.Instance(c.indom, &c.in)
		if got.Key != c.want.Key || got.Name != c.want.Name || !slices.Equal(got.Labels, c.want.Labels) {
			t.Errorf("%s %+v became\n%+v, not\n%+v", c.indom, c.in, *got, c.want)
		}
		if m.Instance(c.indom, &c.in) != got {
			t.Errorf("%s %s is mapped to another each time", c.indom, c.in.Key)
		}
	}
}
