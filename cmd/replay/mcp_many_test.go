package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/store/storetest/proof"
)

type toolCall struct{ tool, arguments string }

// everyTool returns calls of each tool of replay mcp; at is an instant in the recording.
func everyTool(at string) []toolCall {
	return []toolCall{
		{"overview", `{}`}, {"why", `{}`}, {"why", `{"at": "` + at + `"}`}, {"moment", `{"at": "` + at + `"}`}, {"top", `{"by": "memory"}`}, {"process", `{"sort": "memory"}`},
		{"diff", `{"at": "` + at + `", "before": "20s"}`}, {"series", `{"metrics": ["kernel.all.load", "mem.*"]}`}, {"find", `{"condition": "kernel.all.load > 0"}`},
		{"events", `{}`}, {"search", `{"about": "disk"}`}, {"explain", `{"metric": "kernel.all.load"}`}, {"stacks", `{}`},
	}
}

// heap is how much memory is in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// However many calls a session has, one after the other, at once, or with lines between them that are
// no calls, it answers each, and its memory does not grow.
func TestManyCallsInASession(t *testing.T) {
	proof.Unraced(t)
	k := speak(t, "../../testdata/incidents/runaway-loop")
	all := everyTool("09:03")
	hostile := []string{
		"replay top", "\x1b]0;owned\a", `{"jsonrpc":"2.0","id":1,`, strings.Repeat("[", 10000), `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2<<20) + `"}`,
	}
	round := func(i int) {
		c := all[i%len(all)]
		if text, isError := k.ask(c.tool, c.arguments); isError != (c.tool == "stacks") || len(text) > 4500 {
			t.Errorf("%s %s: %d bytes: %.300s", c.tool, c.arguments, len(text), text)
		}
		if i%5 == 0 {
			k.send(hostile[i/5%len(hostile)])
			if line := k.next(); !strings.Contains(line, `"id":null,"error"`) || visible.Text(line) != line || len(line) > 1000 {
				t.Errorf("a line that is no call: %.300s", line)
			}
		}
	}
	for i := range 2 * len(all) {
		round(i)
	}
	const most = 4 << 20
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range 200 {
		round(i)
	}
	if grown := heap() - before; grown > most {
		t.Errorf("200 calls left %d bytes", grown)
	}
	// Many at once: all are answered, if only that there are too many.
	const many = 300
	go func() {
		for id := range many {
			c := all[id%len(all)]
			k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"at once %d","method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, c.tool, c.arguments, modern))
		}
	}()
	answered := make(map[string]bool)
	good, peak := 0, int64(0)
	for i := range many {
		line := k.next()
		var got struct {
			ID     string
			Result struct{ IsError bool }
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || answered[got.ID] || len(line) > 12000 {
			t.Fatalf("%v: %.300s", err, line)
		}
		if answered[got.ID] = true; !got.Result.IsError {
			good++
		}
		if i%50 == 25 {
			peak = max(peak, heap())
		}
	}
	if good == 0 {
		t.Error("none was answered well")
	}
	if grown := peak - before; grown > 150<<20 {
		t.Errorf("calls at once took %d bytes", grown)
	}
	if grown := heap() - before; grown > most {
		t.Errorf("calls at once left %d bytes", grown)
	}
	t.Logf("%d of %d calls at once answered, %d KB at most, %d KB after all, %d goroutines before and %d after", good, many, (peak-before)>>10, (heap()-before)>>10, goroutines, runtime.NumGoroutine())
	k.end()
}

// Command lines are for assistants only with --show-args, whatever tool is asked and however. What
// strangers write in them cannot control a terminal.
func TestCommandLinesForAssistants(t *testing.T) {
	t.Parallel()
	const secret = "/etc/accounting/server.yaml"
	archive := recordedText(t, "commands.txt")
	calls := append([]toolCall{
		{"series", `{"metrics": "proc.psinfo.psargs"}`}, {"series", `{"metrics": "proc.psinfo.psarg?", "how": "last"}`}, {"series", `{"metrics": "proc.psinfo.*", "how": "max"}`},
		{"series", `{"metrics": "last(proc.psinfo.psargs)"}`}, {"find", `{"condition": "proc.psinfo.psargs == 'evil'"}`}, {"find", `{"condition": "proc.psinfo.psargs > 0"}`},
		{"process", `{"match": ["java", "evil"]}`}, {"process", `{"match": "evil", "from": "-2m"}`}, {"process", `{"match": "*accounting*"}`}, {"top", `{"match": "*accounting*"}`},
		{"explain", `{"metric": "proc.psinfo.psargs"}`}, {"search", `{"about": "command line"}`}, {"events", `{"kind": "process*"}`},
	}, everyTool("03:01")...)
	for _, show := range []bool{false, true} {
		args := []string{archive}
		if show {
			args = append(args, "--show-args")
		}
		k := speak(t, args...)
		shown, controlled := false, false
		for _, c := range calls {
			text, _ := k.ask(c.tool, c.arguments)
			if !json.Valid([]byte(text)) || visible.Text(text) != text || strings.Contains(text, `\u00`) || strings.Contains(text, "\u202e") {
				t.Errorf("%s %s: %q", c.tool, c.arguments, text)
			}
			if strings.Contains(text, secret) || strings.Contains(text, "52;c;") {
				if shown = true; !show {
					t.Errorf("%s %s shows command lines: %s", c.tool, c.arguments, text)
				}
				controlled = controlled || strings.Contains(text, "52;c;")
			}
		}
		if show && !(shown && controlled) {
			t.Error("--show-args shows no command lines")
		}
		k.end()
	}
	if status, out, _ := runReplay("mcp", "--print-config", "--show-args", archive); status != cli.Yes || !strings.Contains(out, "--show-args") {
		t.Errorf("%d %s", status, out)
	}
}
