package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/stacks/stackstest"
)

// A talk is a conversation of a client with replay mcp, line by line.
type talk struct {
	t      *testing.T
	to     *io.PipeWriter
	from   *bufio.Scanner
	status chan int
	errs   bytes.Buffer
	ids    int
	read   int // characters of answers
}

// later is a time after all recordings, where the times of a day are those of their day.
func later() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }

// speak starts replay mcp.
func speak(t *testing.T, args ...string) *talk {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	k := &talk{t: t, to: to, from: bufio.NewScanner(from), status: make(chan int, 1)}
	k.from.Buffer(nil, 1<<20)
	a := newApp(out, &k.errs, later)
	a.stdin = in
	go func() {
		k.status <- a.run(append([]string{"mcp"}, args...))
		out.Close()
	}()
	t.Cleanup(func() { to.Close(); io.Copy(io.Discard, from) })
	return k
}

// send writes a line.
func (k *talk) send(line string) {
	if _, err := io.WriteString(k.to, line+"\n"); err != nil {
		k.t.Fatal(err)
	}
}

// next is the next line of the server.
func (k *talk) next() string {
	k.t.Helper()
	if !k.from.Scan() {
		k.t.Fatalf("no line: %v", k.from.Err())
	}
	return k.from.Text()
}

// modern is what each request of the revision of 2026-07-28 has.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// ask calls a tool, and returns the text of its answer and whether that is an error.
func (k *talk) ask(tool, arguments string) (text string, isError bool) {
	k.t.Helper()
	k.ids++
	k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, k.ids, tool, arguments, modern))
	var got struct {
		ID     int
		Result struct {
			ResultType        string
			IsError           bool
			Content           []struct{ Type, Text string }
			StructuredContent json.RawMessage
		}
	}
	line := k.next()
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.ID != k.ids || len(got.Result.Content) != 1 || got.Result.ResultType != "complete" {
		k.t.Fatalf("%s %s: %.500s %v", tool, arguments, line, err)
	}
	text = got.Result.Content[0].Text
	if s := string(got.Result.StructuredContent); !got.Result.IsError && !sameJSON(s, text) || got.Result.IsError && s != "" {
		k.t.Errorf("%s: the text %.300s\nis not the structured content %.300s", tool, text, s)
	}
	k.read += len([]rune(text))
	return text, got.Result.IsError
}

func sameJSON(x, y string) bool {
	var a, b any
	return json.Unmarshal([]byte(x), &a) == nil && json.Unmarshal([]byte(y), &b) == nil && fmt.Sprint(a) == fmt.Sprint(b)
}

// end ends the conversation as clients do, by closing the server's input.
func (k *talk) end() {
	k.t.Helper()
	k.to.Close()
	if status := <-k.status; status != cli.Yes || k.errs.Len() > 0 {
		k.t.Errorf("status %d, %q", status, k.errs.String())
	}
}

// Clients of before 2026-07-28 begin with a handshake, those of today have none. Nothing but
// messages is on standard output, and what was asked before the end of the input is answered.
func TestBothErasOfTheProtocol(t *testing.T) {
	t.Parallel()
	const runaway = "../../testdata/incidents/runaway-loop"
	for era, lines := range map[string][]string{
		"modern": {
			`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modern + `}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modern + `}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"why","arguments":{},` + modern + `}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"rm","arguments":{},` + modern + `}}`,
			`{"jsonrpc":"2.0","id":5,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		},
		"legacy": {
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"why","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"rm"}}`,
			`{"jsonrpc":"2.0","id":5,"method":"ping"}`,
		},
	} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			a := newApp(&out, &errs, later)
			a.stdin = strings.NewReader(strings.Join(lines, "\n"))
			if status := a.run([]string{"mcp", runaway}); status != cli.Yes || errs.Len() > 0 {
				t.Fatalf("status %d, %s", status, errs.String())
			}
			answers := make(map[int]string)
			for line := range strings.Lines(out.String()) {
				var m struct {
					JSONRPC string
					ID      int
				}
				if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
					t.Fatalf("no message: %.200s", line)
				}
				answers[m.ID] = line
			}
			for id, want := range map[int][]string{
				1: {`"capabilities":{"tools":{}}`, `"instructions":"Tachograph is a flight recorder`},
				2: {`"name":"overview"`, `"name":"explain"`, `"readOnlyHint":true`, `"openWorldHint":false`, `"outputSchema"`, `"additionalProperties":false`},
				3: {`pricecalc (pid 102, app) used 83 % of a core`, `"structuredContent"`},
				4: {`"code":-32602`, `unknown tool`},
				5: {map[string]string{"modern": `"code":-32022`, "legacy": `"result":{}`}[era]},
			} {
				for _, text := range want {
					if !strings.Contains(answers[id], text) {
						t.Errorf("the answer to %d has no %s: %.400s", id, text, answers[id])
					}
				}
			}
			if n := strings.Count(answers[2], `"inputSchema"`); n != 12 {
				t.Errorf("%d tools", n)
			}
		})
	}
}

// What an answer says, its command says, too: each row of the answer is among the rows that the
// command prints.
func TestRerunGivesTheSame(t *testing.T) {
	t.Parallel()
	k := speak(t, "../../testdata/incidents/disk-filler")
	for _, c := range []struct{ tool, arguments string }{
		{"overview", `{}`}, {"why", `{"at":"09:03:03"}`}, {"moment", `{"at":"2026-03-02T09:03:03Z"}`}, {"top", `{"by":"write","from":"09:02","to":"09:03","number":5}`},
		{"process", `{"match":"dumpbackup","at":"09:03:00"}`}, {"process", `{"match":["dumpbackup"],"from":"09:02:30"}`},
		{"diff", `{"at":"09:02:03","before":"1m"}`}, {"series", `{"metrics":"disk.all.write_bytes","from":"09:02"}`}, {"series", `{"metrics":["disk.all.write_bytes"],"how":"max"}`},
		{"find", `{"condition":"rate(disk.all.write_bytes) > 3MB/s"}`}, {"events", `{}`}, {"search", `{"about":"disk write"}`}, {"explain", `{"metric":"disk.all.write_bytes"}`},
	} {
		text, isError := k.ask(c.tool, c.arguments)
		if isError {
			t.Errorf("%s %s: %s", c.tool, c.arguments, text)
			continue
		}
		var got struct {
			Archives []string
			Zone     string
			Rerun    string
			Rows     []map[string]any
			Series   []struct{ V []*float64 }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Rows)+len(got.Series) == 0 || len(got.Archives) != 1 || got.Zone == "" || len(text) > 4500 {
			t.Errorf("%s %s: %d bytes, %.300s", c.tool, c.arguments, len(text), text)
		}
		printed := printedRows(t, got.Rerun)
		for _, row := range got.Rows {
			delete(row, "absent")
			if !amongRows(row, printed) {
				t.Errorf("%s %s: %s does not print %v", c.tool, c.arguments, got.Rerun, row)
			}
		}
		for _, s := range got.Series {
			if !bytes.Contains(printed, []byte(`"metric":"disk.all.write_bytes"`)) || len(s.V) < 5 || len(s.V) > 60 {
				t.Errorf("%s: %s prints %.300s", c.tool, got.Rerun, printed)
			}
		}
	}
	k.end()
}

// printedRows runs commands as a shell does, whose words here hold no quotes but those of a shell.
func printedRows(t *testing.T, commands string) []byte {
	t.Helper()
	var all []byte
	for _, line := range strings.Split(commands, " && ") {
		var words []string
		for _, w := range regexp.MustCompile(`(?:'[^']*'|[^ ])+`).FindAllString(line, -1) {
			words = append(words, strings.ReplaceAll(w, "'", ""))
		}
		_, out, errs := runReplay(words[1:]...)
		if errs != "" {
			t.Fatalf("%s: %s", line, errs)
		}
		all = append(all, out...)
	}
	return all
}

// amongRows reports whether a row of an answer has only values that a printed row has.
func amongRows(row map[string]any, printed []byte) bool {
	for d := json.NewDecoder(bytes.NewReader(printed)); d.More(); {
		var other map[string]any
		if d.Decode(&other) != nil {
			return false
		}
		if inner, ok := other["process"].(map[string]any); ok {
			for name, v := range inner {
				other[name] = v
			}
		}
		same := true
		for name, v := range row {
			o := other[name]
			switch name {
			case "metrics":
				o = v // of the claims
			case "units":
				if o == nil {
					o = v
				}
			}
			same = same && alike(v, o)
		}
		if same {
			return true
		}
	}
	return false
}

// alike compares values: numbers of answers have six digits, times no zeros at their end, long texts are cut.
func alike(v, o any) bool {
	switch v := v.(type) {
	case float64:
		o, ok := o.(float64)
		return ok && math.Abs(v-o) <= 1e-5*math.Abs(o)
	case string:
		o, _ := o.(string)
		x, err1 := time.Parse(time.RFC3339Nano, v)
		y, err2 := time.Parse(time.RFC3339Nano, o)
		return err1 == nil && err2 == nil && x.Equal(y) || strings.HasPrefix(o, strings.TrimSuffix(v, "…"))
	}
	return fmt.Sprint(v) == fmt.Sprint(o)
}

// What was left out is where the answer says it is.
func TestTruncatedNamesTheCallForTheRest(t *testing.T) {
	t.Parallel()
	k := speak(t, "../../testdata/incidents/fork-storm")
	arguments, rows := `{"about":"disk"}`, 0
	seen := make(map[string]bool)
	for range 10 {
		text, _ := k.ask("search", arguments)
		var got struct {
			Rows      []struct{ Metric string }
			Truncated *struct {
				Shown, Of int
				Next      struct {
					Tool      string
					Arguments json.RawMessage
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		for _, r := range got.Rows {
			seen[r.Metric] = true
		}
		rows += len(got.Rows)
		if got.Truncated == nil {
			_, out, _ := runReplay("metrics", "--about", "disk", "--format", "csv", "--archive", "../../testdata/incidents/fork-storm")
			if want := strings.Count(out, "\n") - 1; rows != want || len(seen) != want {
				t.Errorf("%d rows, %d metrics, want %d", rows, len(seen), want)
			}
			k.end()
			return
		}
		if got.Truncated.Shown != len(got.Rows) || got.Truncated.Next.Tool != "search" {
			t.Fatalf("%+v", got.Truncated)
		}
		arguments = string(got.Truncated.Next.Arguments)
	}
	t.Error("it does not end")
}

// The configuration is JSON that clients read, with absolute paths.
func TestConfigurationForClients(t *testing.T) {
	status, out, errs := runReplay("mcp", "--print-config", "../../testdata/incidents/sleep")
	var got struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != cli.Yes || errs != "" {
		t.Fatalf("%d %s %s %v", status, out, errs, err)
	}
	s := got.MCPServers["tachograph"]
	if len(s.Args) != 3 || s.Args[0] != "mcp" || !filepath.IsAbs(s.Args[2]) || !filepath.IsAbs(s.Command) {
		t.Errorf("%+v", s)
	}
	for _, args := range [][]string{{"mcp", "--from", "03:00", "x"}, {"mcp", "no-such-file"}, {"mcp", "mcp_test.go"}} {
		if status, out, errs := runReplay(args...); status != cli.Failed || out != "" || !strings.HasPrefix(errs, "replay: ") {
			t.Errorf("%v: %d %q %q", args, status, out, errs)
		}
	}
}

// The tool stacks says who called the hottest functions, and both commands that prove it.
func TestAssistantsSeeCallers(t *testing.T) {
	t.Parallel()
	k := speak(t, stackstest.Write(t, stackstest.Incident()...))
	text, isError := k.ask("stacks", `{"match": "indexer", "running": true}`)
	for _, want := range []string{
		`"callers":[{"depth":0,"samples":140,"function":"engine::Scanner::scan"},{"depth":1,"samples":140,"function":"indexer::parse"},{"depth":2,"samples":140,"function":"main"}`,
		`replay stacks indexer --by=callers --format=json --min=3% --running`, `--running --top`,
	} {
		if isError || !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	var got struct{ Rerun string }
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(text) > 4200 {
		t.Error(err, len(text))
	}
	for _, command := range strings.Split(got.Rerun, " && ") {
		if out, errs, status := replay(openStore, words(command)[1:]...); status != cli.Yes || !strings.Contains(out, "engine::Scanner::scan") {
			t.Errorf("%s: %d %s %s", command, status, out, errs)
		}
	}
	k.end()
}
