package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"tachograph/store/storetest/proof"
)

// A step is a call of a tool, and what its answer must say.
type step struct{ tool, arguments, want string }

// dialogues are calls, as an assistant may make them, that end at the cause of an incident.
var dialogues = map[string][]step{
	"cpu-quota": {
		{"overview", `{}`, `"name":"cpu"`},
		{"why", `{}`, `"rows":\[`},
		// Nothing of that explains why work piles up. Who worked before?
		{"top", `{"to":"17:07:55","number":3}`, `"pid":12152,"name":"renderd".*"cpu_percent":17`},
		{"series", `{"metrics":["proc.psinfo.utime","proc.schedstat.run_delay"],"instance":"*renderd"}`, `"proc.schedstat.run_delay","instance":"012152 renderd".*0\.92`},
		{"process", `{"match":"renderd","from":"17:08:00","to":"17:08:50"}`, `"name":"renderd".*"cpu_percent":7\.9.*"cpu_percent":7\.`},
	},
	"fd-leak": {
		{"overview", `{}`, `"host_name":"vm"`},
		{"why", `{}`, `"text":"sessiond \(pid 24262\) came to hold 4078 open files`},
		{"find", `{"condition":"proc.fd.count > 4000","instance":"*sessiond"}`, `"instance":"024262 sessiond".*"extreme":4078`},
	},
	"memcg-oom": {
		{"overview", `{}`, `"host_name":"vm"`},
		{"why", `{}`, `the kernel killed a process for lack of memory: reportgen`},
		{"events", `{"kind":"memory pressure"}`, `"name":"reportgen","kind":"kill","what":"killed by the kernel for want of memory"`},
		{"series", `{"metrics":"proc.memory.rss","instance":"*reportgen"}`, `"instance":"010114 reportgen","units":"Kbyte".*"reason":"vanished"`},
	},
	"sigstop": {
		{"overview", `{}`, `"host_name":"vm"`},
		{"why", `{}`, `"rows":\[\{"kind":"stopped".*dbserver \(pid 13809\) was stopped`},
		{"process", `{"match":13809,"at":"16:52:10"}`, `"name":"dbserver","user":"root","state":"T"`},
		{"diff", `{"at":"16:51:46","before":"1m"}`, `Bytes received and sent, per interface \(lo\) fell`},
	},
	"zombies": {
		{"overview", `{}`, `"host_name":"vm"`},
		{"why", `{}`, `zombies.*children of cronmaster \(pid 31723\)`},
		{"series", `{"metrics":"proc.runq.defunct","how":"max"}`, `1580`},
		{"process", `{"match":"cronmaster","at":"17:04:00","number":3}`, `"ppid":31723,"name":"cronmaster","user":"root","state":"Z"`},
	},
	// Recorded here.
	"runaway-loop": {
		{"overview", `{}`, `"host_name":"build-03"`},
		{"why", `{}`, `pricecalc \(pid 102, app\) used 83 % of a core`},
		{"process", `{"match":102,"at":"09:02:48"}`, `"name":"pricecalc".*"cpu_percent":8\d`},
		{"top", `{"from":"09:02:03","to":"09:03:23","number":1}`, `"rows":\[\{"pid":102,"name":"pricecalc"`},
	},
	"sleep": {
		{"overview", `{}`, `"reason":"sleep`},
		{"why", `{"from":"09:30","to":"09:50"}`, `sleep|asleep`},
		{"series", `{"metrics":"kernel.all.load","instance":"1 minute"}`, `"absent":\[\{"from":"2026-03-02T`},
	},
}

// Few and short answers lead to the cause. TACHO_INCIDENTS is a directory of more recordings.
func TestDialoguesEndAtTheCause(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	const most, mostRead = 6, 12000
	for name, steps := range dialogues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("../../testdata/incidents", name)
			if _, err := os.Stat(dir); err != nil {
				dir = filepath.Join(os.Getenv("TACHO_INCIDENTS"), name)
			}
			if _, err := os.Stat(dir); err != nil {
				t.Skip("TACHO_INCIDENTS has no such recording")
			}
			k := speak(t, dir)
			for _, s := range steps {
				text, isError := k.ask(s.tool, s.arguments)
				if isError || !json.Valid([]byte(text)) || !regexp.MustCompile(s.want).MatchString(text) {
					t.Errorf("%s %s has no %s: %s", s.tool, s.arguments, s.want, text)
				}
			}
			k.end()
			if len(steps) > most || k.read > mostRead {
				t.Errorf("%d calls and %d characters", len(steps), k.read)
			}
			t.Logf("%d calls, %d characters", len(steps), k.read)
		})
	}
}
