//go:build linux && amd64

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var updateGolden = flag.Bool("update", false, "write golden files")

// reportsBegin is later than the times in the reports of package report's tests.
var reportsBegin = time.Date(2027, 12, 1, 12, 0, 0, 0, time.UTC)

// endings are a Mac whose processes crash, are killed for want of memory, and are tidied up. The
// pid of the first is used again.
const endings = `
host { root yes; rate_limit no }
clock wall 2027-12-01T12:00:00
process 700 { name Editor; path "/Applications/Editor.app/Contents/MacOS/Editor"; ppid 1; uid 501; start 2; exit 8 status 11 }
process 700 new { name again; ppid 1; uid 501; start 10 }
process 710 { name painter; ppid 1; uid 501; exit 9 status 9 detail 0x80020000 }
process 711 { name thumbnailer; ppid 1; uid 501; exit 9 status 9 detail 0x10020000 }
process 712 { name tidied; ppid 1; uid 501; exit 9 status 9 detail 0x08020000 }
process 713 { name alone; ppid 1; uid 501; exit 9.5 status 9 detail 0x00020000 }
process 714 { name unsigned; ppid 1; uid 501; exit 9.5 status 9 detail 0x00040000 }
`

const reporting = `
[classes]
process = "1s"
polled = "1s"
[budget]
max_cpu = "off"
max_memory = "off"
`

const (
	systemReports = "/Library/Logs/DiagnosticReports/"
	userReports   = "/Users/ana/Library/Logs/DiagnosticReports/"
)

// crashReport is a report about the process 700.
func crashReport(name, incident string, started, died time.Time, ticks int64) string {
	const layout = "2006-01-02 15:04:05.0000 -0700"
	return fmt.Sprintf(`{"app_name":"Editor","timestamp":%q,"bug_type":"309","os_version":"macOS 27.0 (26A1)","incident_id":%q}
{
  "captureTime" : %q, "procLaunch" : %q, "procStartAbsTime" : %d, "procExitAbsTime" : 18446744073709551615,
  "pid" : 700, "procName" : %q, "procPath" : "\/Applications\/Editor.app\/Contents\/MacOS\/Editor",
  "exception" : {"type":"EXC_BAD_ACCESS","signal":"SIGSEGV","subtype":"KERN_INVALID_ADDRESS at 0xffffffffffffffff"},
  "termination" : {"namespace":"SIGNAL","code":11,"indicator":"Segmentation fault: 11"},
  "faultingThread" : 0,
  "threads" : [{"triggered":true,"frames":[{"imageIndex":0,"imageOffset":4096,"symbol":"save","symbolLocation":12}]}],
  "usedImages" : [{"source":"P","name":"Editor","path":"\/Applications\/Editor.app\/Contents\/MacOS\/Editor"}]
}
`, died.Format("2006-01-02 15:04:05.00 -0700"), incident, died.Format(layout), started.Format(layout), ticks, name)
}

// jetsamReport is one about 710 to 712.
func jetsamReport(died time.Time) string {
	at := died.Format("2006-01-02 15:04:05.00 -0700")
	return fmt.Sprintf(`{"bug_type":"298","timestamp":%q,"os_version":"macOS 27.0 (26A1)","incident_id":"E-2"}
{ "date" : %q, "memoryStatus" : {"compressorSize":262144,"pageSize":16384,"memoryPages":{"free":6554}}, "largestProcess" : "painter",
  "processes" : [
  {"pid":1,"name":"launchd","rpages":900,"states":["daemon"]},
  {"pid":710,"name":"painter","rpages":52000,"reason":"vm-pageshortage"},
  {"pid":711,"name":"thumbnailer","rpages":30000,"reason":"per-process-limit"},
  {"pid":712,"name":"tidied","rpages":100,"reason":"idle-exit"}
  ] }
`, at, at)
}

// Reports that appear while the recorder records, as macOS writes them: some time after the death, in
// several writes, moved away soon. Each death is one row, and a report is about the process it is about.
func TestReports(t *testing.T) {
	t.Parallel()
	s := laptop(t, endings)
	s.config = reporting
	s.speed = pace(6)
	s.mkdir(systemReports)
	s.mkdir(userReports)
	l := s.live()
	l.until(reportsBegin.Add(20 * time.Second)) // twelve seconds after the end
	crash := crashReport("", "E-1", reportsBegin.Add(2*time.Second), reportsBegin.Add(8*time.Second), (183600+2)*24_000_000)
	l.put(userReports+"Editor-2027-12-01-120020.ips", crash[:len(crash)/2])
	l.put(systemReports+"JetsamEvent-2027-12-01-120009.ips", jetsamReport(reportsBegin.Add(9*time.Second)))
	// Of the process that had the pid on the day before, and not of the one that has it.
	l.put(systemReports+"Editor-2027-12-01-120015.ips", crashReport("Editor", "E-3", reportsBegin.Add(-24*time.Hour), reportsBegin.Add(15*time.Second), 77))
	l.put(systemReports+"Cut-2027-12-01-120016.ips", strings.ReplaceAll(crash[:len(crash)-200], "E-1", "E-4"))
	l.wait(2 * time.Second)
	l.grow(userReports+"Editor-2027-12-01-120020.ips", crash[len(crash)/2:])
	l.wait(4 * time.Second)
	l.mkdir(userReports + "Retired")
	l.move(userReports+"Editor-2027-12-01-120020.ips", userReports+"Retired/Editor-2027-12-01-120020.ips")
	files, err := filepath.Glob("../../../sample/report/testdata/*.*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d reports, %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		l.put(systemReports+filepath.Base(name), string(text))
	}
	l.wait(70 * time.Second) // a file that stays incomplete is given up
	l.stop()

	var b strings.Builder
	for _, d := range s.rows("deaths", "--all", "--from", reportsBegin.Format(time.RFC3339)) {
		if pid := d.text("pid"); strings.HasPrefix(pid, "7") {
			fmt.Fprintf(&b, "%s %s, %s by %s: %s\n", pid, d.text("name"), d.text("kind"), d.text("sources"), d.text("what"))
		}
	}
	b.WriteByte('\n')
	var ends []string
	for _, e := range s.rows("events", "--kind", "process exit", "--from", reportsBegin.Format(time.RFC3339)) {
		if strings.HasPrefix(e.label("pid"), "7") {
			ends = append(ends, e.text("text")+"\n")
		}
	}
	slices.Sort(ends)
	b.WriteString(strings.Join(ends, "") + "\n")
	var said []string
	for _, e := range s.rows("events", "--from", "2020-01-01") {
		if e.label("source") == "report" {
			of := ""
			if e.text("key") != "" {
				of = ", of a process that was met"
			}
			said = append(said, fmt.Sprintf("%s | %s%s | %s | %s\n", e.label("report"), e.text("kind"), of, e.text("text"), e.label("incident")))
		}
	}
	slices.Sort(said)
	b.WriteString(strings.Join(said, ""))
	const golden = "testdata/reports.txt"
	if *updateGolden {
		_ = os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; got\n%s", err, b.String())
	}
}

// A Mac that has just booted after a reset, whose folder of reports is refused at first, and on which a
// user logs in for the first time: the recorder says what is refused, once, and goes on.
func TestReportsComeLater(t *testing.T) {
	t.Parallel()
	s := laptop(t, `
host { root yes; rate_limit no }
clock wall 2027-12-01T12:00:00
clock uptime 20
clock slept 0
fail open:/Library/Logs/DiagnosticReports EACCES until 30
`)
	s.config = reporting
	s.speed = pace(6)
	s.mkdir(systemReports)
	l := s.live()
	l.until(reportsBegin.Add(5 * time.Second))
	l.mkdir("/Users/ben/Library/Logs/DiagnosticReports")
	l.put("/Users/ben/Library/Logs/DiagnosticReports/Editor-2027-12-01-120005.ips", crashReport("Editor", "E-5", reportsBegin, l.now, 1))
	l.until(reportsBegin.Add(70 * time.Second))
	text, err := os.ReadFile("../../../sample/report/testdata/ResetCounter-plain.diag")
	if err != nil {
		t.Fatal(err)
	}
	l.put(systemReports+"ResetCounter-2027-12-01-120110.diag", string(text))
	l.wait(70 * time.Second)
	l.stop()
	if n := strings.Count(s.log.String(), "DiagnosticReports: permission denied"); n != 1 {
		t.Errorf("said %d times that a folder is refused:\n%s", n, s.said())
	}
	if list := s.events("crash"); len(list) != 1 || list[0].label("incident") != "E-5" {
		t.Errorf("the new user's crash: %v", list)
	}
	booted := reportsBegin.Add(-20 * time.Second)
	resets := s.events("forced reset")
	if len(resets) != 1 {
		t.Fatalf("resets: %v", resets)
	}
	if at, err := time.Parse(time.RFC3339Nano, resets[0].text("time")); err != nil || !at.Before(booted) || at.Before(booted.Add(-time.Second)) {
		t.Errorf("the machine was reset at %v, and booted at %v", at, booted)
	}
}
