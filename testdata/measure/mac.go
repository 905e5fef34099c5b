package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"tachograph/sample/darwin/darwintest"
)

// The recorder for macOS records a simulated Mac, whose clocks are faster, for some minutes of it.
const (
	macSpeed   = "10"
	macMinutes = 10
	macShort   = 1
)

// macConfig lets the recorder read everything: what its calls cost is the simulation's time.
const macConfig = "[budget]\nmax_cpu = \"90%\"\n"

// recordMac returns the directory of an archive of the simulated Mac, which it makes unless an
// earlier run has.
func (m *measure) recordMac() (string, error) {
	minutes := macMinutes
	if m.short {
		minutes = macShort
	}
	dir := filepath.Join(m.work, fmt.Sprintf("mac%d", minutes))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	host, err := darwintest.FindMac(".")
	if err != nil {
		return "", err
	}
	recorder, err := host.Program("tachograph/cmd/recorder")
	if err != nil {
		return "", err
	}
	m.say("recording the simulated Mac")
	scratch, err := os.MkdirTemp(m.work, "mac")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	in := func(name string) string { return filepath.Join(scratch, name) }
	if err := os.Mkdir(in("root"), 0o755); err != nil {
		return "", err
	}
	scenario := fmt.Sprintf("include %q\nclock wall 2026-03-02T09:00:00\n%s", filepath.Join(host.Shipped, "macbook-m.scn"), macProcesses(60*minutes))
	for _, file := range [][2]string{{"scenario", scenario}, {"config", macConfig}} {
		if err := os.WriteFile(in(file[0]), []byte(file[1]), 0o600); err != nil {
			return "", err
		}
	}
	cmd := host.Command([]string{"--speed", macSpeed, "--scenario", in("scenario"), "--root", in("root")},
		recorder, "run", "--archive", in("archive"), "--config", in("config"), "--for", fmt.Sprintf("%dm", minutes))
	cmd.Env = append(os.Environ(), "TZ=UTC")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the recorder on the simulated Mac: %w\n%s", err, out)
	}
	return dir, os.Rename(in("archive"), dir)
}

// macDaemons run all the time; many Macs have several of some of them.
var macDaemons = strings.Fields(`UserEventAgent cfprefsd distnoted trustd secd nsurlsessiond bluetoothd airportd configd coreaudiod powerd locationd
sharingd rapportd cloudd bird fileproviderd photolibraryd mediaanalysisd suggestd knowledge-agent duetexpertd siriactionsd spindump syspolicyd tccd
opendirectoryd diskarbitrationd fseventsd mds_stores corespotlightd Dock SystemUIServer ControlCenter NotificationCenter Spotlight Mail Calendar
Messages Music Notes Terminal Xcode SourceKitService Slack Code`)

// macTasks come and go.
var macTasks = strings.Fields("mdworker_shared mdworker clang swift-frontend ld zsh git ps sh grep quicklookd XPCService")

// macProcesses returns the processes of a scenario: some 450 that last, and for so many seconds
// two a second that come and go.
func macProcesses(seconds int) string {
	rnd := rand.New(rand.NewPCG(1, 3))
	var b strings.Builder
	b.WriteString("host { forks 8 }\n")
	for i := range 440 {
		busy := 20000
		if i%20 == 0 {
			busy = 20000000
		}
		fmt.Fprintf(&b, "process %d { name %s; path \"/usr/libexec/%s\"; uid %d; threads %d; rss %d; fds %d; user_ns counter %d %d; system_ns counter %d %d; faults counter %d %d; csw counter %d %d }\n",
			2000+i, macDaemons[i%len(macDaemons)], macDaemons[i%len(macDaemons)], []int{0, 501, 501, 205}[i%4], 2+rnd.IntN(9), 4000000+rnd.IntN(90000000), 5+rnd.IntN(60),
			rnd.IntN(1e9), rnd.IntN(busy), rnd.IntN(1e9), rnd.IntN(busy), rnd.IntN(1e6), busy/200000, rnd.IntN(1e6), 1+busy/100000)
	}
	for i := range 2 * seconds {
		began, rate := float64(i)/2, 1000000+rnd.IntN(700000000)
		lasts := 0.2 + 2*rnd.ExpFloat64()
		if i%10 == 0 {
			lasts = 20 + 60*rnd.Float64()
		}
		name := macTasks[rnd.IntN(len(macTasks))]
		fmt.Fprintf(&b, "process %d { name %s; path \"/usr/bin/%s\"; uid 501; threads 1; start %.1f; exit %.1f; rss %d; user_ns counter %d %d; system_ns 3000000 }\n",
			3000+i, name, name, began, began+lasts, 2000000+rnd.IntN(200000000), -int(began*float64(rate)), rate)
	}
	return b.String()
}
