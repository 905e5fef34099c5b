package proc

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/proc/libproc"
	"tachograph/sample/software"
)

// newFakeApps opens the sources on a fakeMac that has apps installed. The files are texts by their
// paths.
func newFakeApps(t *testing.T, files map[string]string, people ...*macPerson) (*fakeMac, *fakeReader, *macKernel) {
	t.Helper()
	m, r := newFakeMac(t, people...)
	for i, p := range people {
		p.micros, p.noTerminal = someMicros+int64(i), true
		if p.unique == 0 {
			p.unique = uint64(p.pid)
		}
	}
	k := r.source.k.(*macKernel)
	k.opt.Args = cmdline.Full
	k.belong.apps.root = t.TempDir()
	for name, text := range files {
		writeBelow(t, k.belong.apps.root, name, text)
	}
	return m, r, k
}

func writeBelow(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func infoPlist(identifier, version string) string {
	return "<plist><dict><key>CFBundleIdentifier</key><string>" + identifier +
		"</string><key>CFBundleShortVersionString</key><string>" + version + "</string></dict></plist>"
}

// owners are the values of proc.owner of a process, in the order of the fields.
func (r *fakeReader) owners(key string) string {
	var list []string
	for f := range owner.NumFields {
		if f != owner.Container && f != owner.Pod {
			list = append(list, r.cell(key, "proc.owner."+f.String()))
		}
	}
	return strings.Join(list, " | ")
}

func (r *fakeReader) expectOwners(want map[string]string) {
	r.t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got := r.owners(key); got != want[key] {
			r.t.Errorf("process %s:\n got %s\nwant %s", key, got, want[key])
		}
	}
}

const (
	safari     = "/System/Cryptexes/App/System/Applications/Safari.app"
	terminal   = "/System/Applications/Utilities/Terminal.app"
	chrome     = "/Applications/Google Chrome.app"
	webContent = "/System/Library/Frameworks/WebKit.framework/Versions/A/XPCServices/com.apple.WebKit.WebContent.xpc/Contents/MacOS/com.apple.WebKit.WebContent"
)

// aMac are the processes of a Mac at work.
func aMac() (map[string]string, []*macPerson) {
	files := map[string]string{
		safari + "/Contents/Info.plist":   infoPlist("com.apple.Safari", "18.5"),
		terminal + "/Contents/Info.plist": infoPlist("com.apple.Terminal", "2.14"),
		chrome + "/Contents/Info.plist":   infoPlist("com.google.Chrome", "131.0"),
	}
	return files, []*macPerson{
		{pid: 0, unique: 900},
		{pid: 1, path: "/sbin/launchd", coalition: 2, identity: "com.apple.xpc.launchd", signed: libproc.SignedByApple},
		{pid: 20, ppid: 1, path: "/usr/libexec/logd", coalition: 41, identity: "com.apple.logd", signed: libproc.SignedByApple},
		{pid: 30, ppid: 1, path: safari + "/Contents/MacOS/Safari", coalition: 51, uid: 501, signed: libproc.SignedByApple},
		{pid: 31, ppid: 1, path: webContent, coalition: 51, uid: 501, responsible: 30},
		{pid: 32, ppid: 1, path: webContent, coalition: 51, uid: 501, responsible: -1},
		{pid: 40, ppid: 1, path: chrome + "/Contents/MacOS/Google Chrome", coalition: 61, uid: 501, team: "EQHXZ8M8AV"},
		{pid: 41, ppid: 40, path: chrome + "/Contents/Frameworks/Google Chrome Framework.framework/Versions/131.0/Helpers/Google Chrome Helper.app/Contents/MacOS/Google Chrome Helper",
			coalition: 61, uid: 501, responsible: 40},
		{pid: 50, ppid: 1, path: terminal + "/Contents/MacOS/Terminal", coalition: 71, uid: 501, signed: libproc.SignedByApple},
		{pid: 51, ppid: 50, path: "/bin/zsh", coalition: 71, uid: 501, responsible: 50},
		{pid: 52, ppid: 51, path: "/Applications/Docker.app/Contents/Resources/bin/docker", coalition: 71, uid: 501, responsible: 50},
		{pid: 53, ppid: 51, path: chrome + "/Contents/MacOS/Google Chrome", coalition: 71, uid: 501, responsible: 50},
		{pid: 60, ppid: 1, path: "/usr/local/sbin/nginx", coalition: 81, job: "org.nginx", identity: "nginx"},
		{pid: 61, ppid: 60, parent: 60, path: "/usr/local/sbin/nginx", coalition: 81, uid: 70},
		{pid: 70, ppid: 1, path: "/Users/bob/agent", coalition: 91, uid: 502},
		{pid: 71, ppid: 1, path: "/Users/ana/agent", coalition: 101, uid: 501},
	}
}

func TestMacOwners(t *testing.T) {
	files, people := aMac()
	m, r, _ := newFakeApps(t, files, people...)
	m.console = 501
	m.jobs = new(owner.Jobs)
	m.jobs.Add(owner.Job{Label: "com.apple.logd", Program: "/usr/libexec/logd"})
	people[9].noTerminal = false
	r.read()
	const (
		app      = "!" + "has no terminal and works for an app"
		screen   = "console of somebody"
		none     = "!has no terminal and is not of the user at the screen"
		noLabel  = "!no property list of launchd names its program"
		apple    = "!signed by Apple as a part of macOS"
		nobodys  = "!works for no app"
		unsigned = "!signed by no team"
		bare     = "!the program is in no bundle"
		nothing  = " | !works for no app and no service | !works for no app and no service | !works for no app and no service"
		safaris  = " | " + app + " | com.apple.Safari | 18.5 | " + apple
		chromes  = "Google Chrome | " + noLabel + " | " + app + " | com.google.Chrome | 131.0 | EQHXZ8M8AV"
		tools    = "Terminal | " + noLabel + " | "
		version  = " | com.apple.Terminal | 2.14 | " + apple
		web      = "Safari | com.apple.WebKit.WebContent" + safaris
	)
	r.expectOwners(map[string]string{
		"900": nobodys + " | kernel | " + none + " | " + bare + " | " + bare + " | " + bare,
		"1":   nobodys + " | launchd | " + none + " | com.apple.xpc.launchd | " + bare + " | " + apple,
		"20":  nobodys + " | com.apple.logd | " + none + " | com.apple.logd | " + bare + " | " + apple,
		"30":  "Safari | " + noLabel + safaris,
		"31":  web,
		"32":  web,
		"40":  chromes,
		"41":  chromes,
		"50":  tools + app + version,
		"51":  tools + "ttys000" + version,
		"52":  tools + app + version,
		"53":  chromes,
		"60":  nobodys + " | org.nginx | " + none + " | nginx | " + bare + " | " + unsigned,
		"61":  nobodys + " | org.nginx | " + none + " | nginx | " + bare + " | " + unsigned,
		"70":  nobodys + " | " + noLabel + " | " + none + nothing,
		"71":  nobodys + " | " + noLabel + " | " + screen + nothing,
	})
	in := r.frames[0].Block().Rows[slices.IndexFunc(r.frames[0].Block().Rows, func(in *metric.Instance) bool { return in.Key == "31" })]
	if kind, name := in.MainOwner(); kind != metric.OwnerApp || name != "Safari" || in.Label(metric.OwnerService) != "com.apple.WebKit.WebContent" {
		t.Errorf("labels %v", in.Labels)
	}
}

func TestMacOwnersAreFoundBy(t *testing.T) {
	files, people := aMac()
	m, r, k := newFakeApps(t, files, people...)
	m.console = 501
	m.jobs = new(owner.Jobs)
	m.jobs.Add(owner.Job{Label: "com.apple.logd", Program: "/usr/libexec/logd"})
	r.read()
	type of struct {
		pid int32
		f   owner.Field
	}
	for what, want := range map[of]string{
		{0, owner.Service}:  byNumber,
		{20, owner.Service}: byList,
		{30, owner.App}:     byBundle,
		{31, owner.App}:     byResponsible,
		{31, owner.Service}: byService,
		{32, owner.App}:     byCoalition,
		{41, owner.App}:     byBundle,
		{51, owner.App}:     byResponsible,
		{60, owner.Service}: byEnvironment,
		{61, owner.Service}: byParent,
		{71, owner.Session}: "user of /dev/console",
		{70, owner.App}:     "",
		{70, owner.Bundle}:  "",
	} {
		if got := k.foundBy(k.table.lookup(what.pid), what.f); got != want {
			t.Errorf("%s of process %d: %q, want %q", what.f, what.pid, got, want)
		}
	}
	if list := r.source.Owners(); len(list) == 0 || list[0].Kind != metric.OwnerApp || list[0].Name != "Google Chrome" || list[0].Processes != 3 || list[0].FoundBy != byBundle {
		t.Errorf("%+v", list)
	}
}

// Each process is asked about twice, and no sweep asks again. What is common to an app or a
// program is asked for once.
func TestMacOwnersAreAskedForOnce(t *testing.T) {
	files, people := aMac()
	m, r, _ := newFakeApps(t, files, people...)
	r.read()
	if n := len(people); m.calls["coalition"] != n || m.calls["responsible"] != n {
		t.Errorf("%d coalitions and %d responsible processes asked for, of %d", m.calls["coalition"], m.calls["responsible"], n)
	}
	signing := m.calls["signing"]
	for i := range 40 {
		pid := int32(200 + i)
		m.processes = append(m.processes, &macPerson{pid: pid, unique: 1000 + uint64(i), micros: someMicros + 99, ppid: 40,
			path: chrome + "/Contents/MacOS/Google Chrome", coalition: 61, responsible: 40})
	}
	r.read()
	r.read()
	if m.calls["signing"] != signing {
		t.Errorf("%d questions about signatures that had been asked", m.calls["signing"]-signing)
	}
	if n := len(people) + 40; m.calls["coalition"] != n || m.calls["responsible"] != n {
		t.Errorf("%d coalitions and %d responsible processes asked for, of %d", m.calls["coalition"], m.calls["responsible"], n)
	}
	first := r.source.table.lookup(40).owner
	for _, pid := range []int32{41, 53, 200, 239} {
		if got := r.source.table.lookup(pid); got.owner.Label(metric.OwnerApp) != "Google Chrome" {
			t.Errorf("process %d has %+v", pid, got.owner)
		}
	}
	if r.source.table.lookup(239).owner != r.source.table.lookup(200).owner || first == nil {
		t.Error("processes of one app have copies of their owners")
	}
}

func TestMacResponsibleProcess(t *testing.T) {
	files, _ := aMac()
	app := func(pid int32, unique uint64) *macPerson {
		return &macPerson{pid: pid, unique: unique, ppid: 1, path: safari + "/Contents/MacOS/Safari", coalition: 51}
	}
	xpc := func(responsible int32, coalition uint64) *macPerson {
		return &macPerson{pid: 99, unique: 99, ppid: 1, path: "/usr/libexec/x", coalition: coalition, responsible: responsible}
	}
	for _, c := range []struct {
		name   string
		people []*macPerson
		want   string
	}{
		{"alive", []*macPerson{app(30, 30), xpc(30, 7)}, "Safari"},
		{"itself", []*macPerson{app(30, 30), xpc(0, 7)}, "!works for no app"},
		{"refused", []*macPerson{app(30, 30), xpc(-1, 7)}, "!works for no app"},
		{"ended", []*macPerson{app(30, 30), xpc(31, 7)}, "!works for no app"},
		{"ended, its number has another", []*macPerson{app(30, 120), xpc(30, 7)}, "!works for no app"},
		{"ended, but the app lives", []*macPerson{app(30, 30), xpc(31, 51)}, "Safari"},
		{"no coalition is known", []*macPerson{{pid: 30, ppid: 1, path: safari + "/Contents/MacOS/Safari"}, xpc(-1, 0)}, "!works for no app"},
		{"an app that a shell started is not its coalition's",
			[]*macPerson{{pid: 30, ppid: 29, path: safari + "/Contents/MacOS/Safari", coalition: 51}, xpc(-1, 51)}, "!works for no app"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r, _ := newFakeApps(t, files, c.people...)
			r.read()
			if got := r.cell("99", "proc.owner.app"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestMacAppsAsTheyAreOnDisk(t *testing.T) {
	const a = "/Applications/A.app"
	main := func(path string) *macPerson {
		return &macPerson{pid: 9, ppid: 1, path: path + "/Contents/MacOS/A", coalition: 5, identity: "com.a.signed", team: "T"}
	}
	const info, signed = "com.a", "com.a.signed"
	for _, c := range []struct {
		name   string
		files  map[string]string
		person *macPerson
		bundle string
		ver    string
	}{
		{"an Info.plist", map[string]string{a + "/Contents/Info.plist": infoPlist(info, "1.0")}, main(a), info, "1.0"},
		{"in UTF-16", map[string]string{a + "/Contents/Info.plist": "\xfe\xff" + wide(infoPlist(info, "1.0"))}, main(a), info, "1.0"},
		{"only the number of the build", map[string]string{a + "/Contents/Info.plist": "<dict><key>CFBundleIdentifier</key><string>com.a</string><key>CFBundleVersion</key><string> 77 </string></dict>"},
			main(a), info, "77"},
		{"no identifier", map[string]string{a + "/Contents/Info.plist": "<dict><key>CFBundleVersion</key><string>77</string></dict>"}, main(a), signed, "77"},
		{"not a property list", map[string]string{a + "/Contents/Info.plist": "?"}, main(a), signed, "!the app's Info.plist does not say it"},
		{"none", map[string]string{a + "/Contents/PkgInfo": ""}, main(a), signed, "!the app has no Info.plist"},
		{"a folder in its place", map[string]string{a + "/Contents/Info.plist/x": ""}, main(a), signed, "!the app's Info.plist does not say it"},
		{"deleted while it runs", nil, main(a), signed, "!vanished"},
		{"an app of iOS", map[string]string{a + "/WrappedBundle/Info.plist": infoPlist(info, "1.0")},
			&macPerson{pid: 9, path: a + "/Wrapper/R.app/R"}, info, "1.0"},
		{"on a volume", map[string]string{"/Volumes/X/A.app/Contents/Info.plist": infoPlist(info, "1.0")}, main("/Volumes/X/A.app"), signed, "!macOS guards the folder that the app lies in"},
		{"in a folder that macOS guards", map[string]string{"/Users/ana/Downloads/A.app/Contents/Info.plist": infoPlist(info, "1.0")},
			main("/Users/ana/Downloads/A.app"), signed, "!macOS guards the folder that the app lies in"},
		{"in another folder of a user", map[string]string{"/Users/ana/Applications/A.app/Contents/Info.plist": infoPlist(info, "1.0")},
			main("/Users/ana/Applications/A.app"), info, "1.0"},
		{"a helper is not asked for the identifier", nil, &macPerson{pid: 9, path: a + "/Contents/Helpers/H.app/Contents/MacOS/H", identity: "com.a.helper"}, "!vanished", "!vanished"},
		{"launchd's environment", nil, &macPerson{pid: 9, ppid: 1, path: a + "/Contents/MacOS/A", job: "application.com.a.env.12.13", identity: signed}, "com.a.env", "!vanished"},
		{"the program's file was deleted", nil, &macPerson{pid: 9, ppid: 1, deleted: true, given: a + "/Contents/MacOS/A", job: "0", identity: signed}, signed, "!vanished"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r, _ := newFakeApps(t, c.files, c.person)
			r.read()
			r.expect("9", map[string]string{"proc.owner.app": "A", "proc.owner.bundle": c.bundle, "proc.owner.version": c.ver})
		})
	}
}

// wide is an ASCII text in UTF-16.
func wide(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteByte(0)
		b.WriteByte(c)
	}
	return b.String()
}

func TestMacReasonsOfFiles(t *testing.T) {
	for err, want := range map[error]metric.Reason{
		&os.PathError{Err: syscall.EPERM}:  guardedFolder,
		&os.PathError{Err: syscall.EACCES}: metric.Permission,
		errNoSmallFile:                     badInfo,
		errors.New("x"):                    badInfo,
	} {
		if got := infoReason(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// An update replaces an app while it runs: what runs keeps its version, and what begins has the
// new one.
func TestMacAppIsUpdated(t *testing.T) {
	files, _ := aMac()
	m, r, k := newFakeApps(t, files, &macPerson{pid: 40, ppid: 1, path: chrome + "/Contents/MacOS/Google Chrome", coalition: 61})
	r.read()
	name := filepath.Join(k.belong.apps.root, chrome, "Contents/Info.plist")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	writeBelow(t, k.belong.apps.root, chrome+"/Contents/Info.plist", infoPlist("com.google.Chrome", "132.0"))
	if err := os.Chtimes(name, time.Time{}, time.Unix(2e9, 0)); err != nil {
		t.Fatal(err)
	}
	m.processes = append(m.processes,
		&macPerson{pid: 41, unique: 41, ppid: 40, micros: someMicros + 9, path: chrome + "/Contents/MacOS/Google Chrome", coalition: 61, responsible: 40},
		&macPerson{pid: 42, unique: 42, ppid: 1, micros: someMicros + 9, path: chrome + "/Contents/MacOS/Google Chrome", coalition: 62})
	r.read()
	for key, want := range map[string]string{"40": "131.0", "41": "131.0", "42": "132.0"} {
		if got := r.cell(key, "proc.owner.version"); got != want {
			t.Errorf("process %s has version %q, want %q", key, got, want)
		}
	}
	want := []software.Change{software.Update(time.UnixMicro(someMicros+9), "Google Chrome", "131.0", "132.0")}
	if got := r.source.Updates(); !slices.Equal(got, want) || r.source.Updates() != nil {
		t.Errorf("updates %v, want %v once", got, want)
	}
}

func TestMacOwnersAfterExec(t *testing.T) {
	files, _ := aMac()
	p := &macPerson{pid: 9, ppid: 50, path: "/bin/zsh", comm: "zsh", coalition: 5}
	m, r, _ := newFakeApps(t, files, p)
	r.read()
	if got := r.cell("9", "proc.owner.app"); got != "!works for no app" {
		t.Errorf("at first %q", got)
	}
	p.path, p.comm = chrome+"/Contents/MacOS/Google Chrome", "Google Chrome"
	m.events = []macEvent{{pid: 9, exec: true, at: r.now}}
	r.read()
	if got := r.cell("9", "proc.owner.app"); got != "Google Chrome" || m.calls["responsible"] != 2 || m.calls["coalition"] != 1 {
		t.Errorf("%q, after %d and %d calls", got, m.calls["responsible"], m.calls["coalition"])
	}
}

// The property lists of launchd are read beside the sweeps, so that their labels may come late.
func TestMacJobsComeLate(t *testing.T) {
	m, r, _ := newFakeApps(t, nil,
		&macPerson{pid: 20, ppid: 1, path: "/usr/libexec/logd", coalition: 41, identity: "com.apple.logd"},
		&macPerson{pid: 21, ppid: 20, path: "/usr/libexec/helper", coalition: 41})
	r.read()
	r.expect("20", map[string]string{"proc.owner.service": "!no property list of launchd names its program"})
	m.jobs = new(owner.Jobs)
	m.jobs.Add(owner.Job{Label: "com.apple.logd", Program: "/usr/libexec/logd"})
	r.read()
	for _, key := range []string{"20", "21"} {
		r.expect(key, map[string]string{"proc.owner.service": "com.apple.logd", "proc.owner.bundle": "com.apple.logd"})
	}
	if m.calls["responsible"] != 2 {
		t.Errorf("%d calls", m.calls["responsible"])
	}
}

func TestMacJobInApp(t *testing.T) {
	const agent = chrome + "/Contents/Library/LaunchAgents/com.google.agent.plist"
	_, r, _ := newFakeApps(t, map[string]string{
		agent: "<dict><key>Label</key><string>com.google.agent</string><key>BundleProgram</key><string>Contents/MacOS/agent</string></dict>",
	}, &macPerson{pid: 20, ppid: 1, path: chrome + "/Contents/MacOS/agent", coalition: 41})
	r.read()
	r.expect("20", map[string]string{"proc.owner.service": "com.google.agent", "proc.owner.app": "Google Chrome"})
}

func TestMacCoalitionsAreForgotten(t *testing.T) {
	m, r, k := newFakeApps(t, nil, &macPerson{pid: 20, ppid: 1, path: "/usr/libexec/logd", coalition: 41})
	for i := range uint64(3 * few) {
		m.processes = append(m.processes[:1], &macPerson{pid: 21, unique: 100 + i, micros: someMicros + int64(i), path: "/bin/job", coalition: 1000 + i})
		r.read()
	}
	if n := len(k.belong.coalitions); n > 2*len(m.processes)+few {
		t.Errorf("%d coalitions of %d processes", n, len(m.processes))
	}
	if k.belong.coalitions[41] != k.table.lookup(20).platform.group {
		t.Error("the coalition of a living process was dropped")
	}
}
