package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/metric"
	"tachograph/store/storetest/proof"
)

// schemaPath is the file that describes what --format json prints.
const schemaPath = "../../docs/answers.schema.json"

// A schema is the part of JSON Schema that the descriptions of answers need.
type schema struct {
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        []string           `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Unit        string             `json:"x-unit,omitempty"`
	Examples    []string           `json:"examples,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Closed      *bool              `json:"additionalProperties,omitempty"`
	Items       *schema            `json:"items,omitempty"`

	objects, had int // how many objects it describes, and how many objects had it as a property
}

// answersAsked has a question for each kind of row that a command prints, by the name of its schema.
// Between them the questions of a name have every type of value. A question of "stacks", "waits", "stopped" or "damaged"
// is asked of an archive that the test makes.
var answersAsked = []struct{ name, archive, question string }{
	{"overview", "mac", ""},
	{"at", "mac", "at 03:12"}, {"at", "stacks", "at 2026-11-20T03:12:01Z"},
	{"why", "blame", "why"}, {"why", "mac", "why --from 03:01 --to 03:08"}, {"why", "mac", "why"}, {"why", "net", "why"}, {"why", "energy", "why"}, {"why", "deaths", "why"}, {"why", "whose", "why"},
	{"diff", "mac", "diff 03:05..03:10 03:11..03:16 --all -n 0"}, {"diff", "deaths", "diff --across-update"},
	{"ps", "mac", "ps"}, {"ps", "whose", "ps"}, {"ps-history", "mac", "ps /./ --from 03:05"}, {"ps-group", "whose", "ps --group owner"},
	{"top", "mac", "top"}, {"top", "mac", "top --by runs"}, {"top", "whose", "top --group owner"},
	{"net", "net", "net"}, {"net-peers", "net", "net --peers"}, {"net-connections", "net", "net --connections"}, {"net-listeners", "net", "net --listeners"},
	{"energy", "energy", "energy"},
	{"threads", "mac", "threads"},
	{"stacks", "stacks", "stacks"}, {"stacks", "waits", "stacks"}, {"stacks-top", "stacks", "stacks --top"}, {"stacks-callers", "stacks", "stacks --by callers"},
	{"stacks-stats", "stacks", "stacks --stats"}, {"stacks-stats", "stopped", "stacks --stats"},
	{"rates", "mac", "rates kernel mem proc.psinfo"}, {"values", "mac", "values kernel mem thermal proc.psinfo"}, {"values", "distrust", "values network"},
	{"rates", "semantics", "rates t.c t.i t.d --raw"}, {"values", "semantics", "values t.c t.d"},
	{"ranges", "mac", "ranges kernel mem"}, {"ranges", "distrust", "ranges network"},
	{"plot", "mac", "plot kernel --points 4"},
	{"find", "mac", "find 'rate(proc.psinfo.utime) > 90%'"},
	{"events", "mac", "events"}, {"events", "deaths", "events"}, {"events-group", "deaths", "events --group"},
	{"deaths", "deaths", "deaths --all"}, {"deaths", "deaths", "deaths"}, {"deaths-explain", "deaths", "deaths java --explain"},
	{"explain", "mac", "explain demo.requests kernel.all.cpu.user"}, {"metrics", "mac", "metrics --all"}, {"metrics-categories", "mac", "metrics --categories"},
	{"summary", "mac", "summary"}, {"info", "mac", "info"},
	{"verify", "damaged", "verify"},
}

// seen collects the kinds of what an answer has.
type seen struct {
	about   *schema
	columns []out.Column
}

func (s *seen) begin(columns []out.Column) (out.Writer, error) {
	s.columns = nil
	for _, c := range columns {
		if c.Only == out.InTables || c.Only == out.Nowhere || c.Name == "host" {
			c.Name = ""
		}
		s.columns = append(s.columns, c)
		if c.Name == "" {
			continue
		}
		p := s.of(&c)
		if c.Kind != out.Blank {
			p.add(append(kindTypes[c.Kind], "null")...)
		}
		if c.Name == "threads" {
			p.add("array")
			p.Items = &schema{Type: []string{"object"}}
			for _, f := range answer.Named(answer.Threads) {
				one := p.Items.property(f.Name)
				one.Unit = unitOf(f.Name)
				one.add(append(kindTypes[f.Kind()], "null")...)
			}
		}
	}
	return s, nil
}

// of is the schema of a column.
func (s *seen) of(c *out.Column) *schema {
	in := s.about
	if c.Group != "" {
		in = in.property(c.Group)
		in.add("object")
	}
	p := in.property(c.Name)
	p.Unit = unitOf(c.Name)
	return p
}

func (s *seen) Row(cells []out.Cell) error {
	for i, c := range s.columns {
		if c.Name == "" {
			continue
		}
		p, cell := s.of(&c), &cells[i]
		switch {
		case cell.Kind == out.Detail:
			var v any
			if err := json.Unmarshal(cell.Raw, &v); err != nil {
				return err
			}
			p.fit(v, c.Name == "labels")
		default:
			p.add(kindTypes[cell.Kind]...)
			if cell.Kind == out.Time {
				p.Format = "date-time"
				p.add("null") // A time that is not known.
			}
		}
	}
	return nil
}

func (s *seen) Close() error { return nil }

var kindTypes = map[out.Kind][]string{
	out.Blank: {"null"}, out.Text: {"string"}, out.Time: {"string"}, out.Int: {"integer"}, out.Uint: {"integer"}, out.Float: {"number"},
}

// units are the units that the end of a field's name says.
var units = []struct{ end, unit string }{
	{"_bytes_per_sec", "byte / sec"}, {"_per_sec", "count / sec"}, {"_bytes", "byte"}, {"_percent", "percent"}, {"_kb", "Kbyte"},
	{"_ms", "millisec"}, {"_us", "microsec"}, {"_secs", "sec"}, {"_seconds", "sec"}, {"seconds", "sec"}, {"_joules", "joule"}, {"_watts", "watt"}, {"_mw", "milliwatt"},
}

func unitOf(name string) string {
	for _, u := range units {
		if strings.HasSuffix(name, u.end) {
			return u.unit
		}
	}
	return ""
}

func (s *schema) property(name string) *schema {
	if s.Properties == nil {
		s.Properties, s.Closed = make(map[string]*schema), new(bool)
	}
	if s.Properties[name] == nil {
		s.Properties[name] = &schema{}
	}
	return s.Properties[name]
}

// add adds types. A whole number is a number, too.
func (s *schema) add(types ...string) {
	for _, t := range types {
		if t == "integer" && slices.Contains(s.Type, "number") || slices.Contains(s.Type, t) {
			continue
		}
		if t == "number" {
			s.Type = slices.DeleteFunc(s.Type, func(x string) bool { return x == "integer" })
		}
		s.Type = append(s.Type, t)
	}
	slices.Sort(s.Type)
}

// fit makes s describe v as well. An open object has names that are data.
func (s *schema) fit(v any, open bool) {
	switch v := v.(type) {
	case nil:
		s.add("null")
	case bool:
		s.add("boolean")
	case float64:
		s.add("number")
	case string:
		s.add("string")
	case []any:
		s.add("array")
		if s.Items == nil {
			s.Items = &schema{}
		}
		for _, x := range v {
			s.Items.fit(x, false)
		}
	case map[string]any:
		s.add("object")
		if open {
			return
		}
		s.objects++
		for name, x := range v {
			p := s.property(name)
			p.had++
			p.fit(x, false)
			p.Unit = unitOf(name)
		}
	}
}

// reasons are the reasons of absent values that the recorder itself has; others are the texts of errors.
func reasons() (list []string) {
	for r := metric.Reason(1); !strings.HasPrefix(r.String(), "reason("); r++ {
		list = append(list, r.String())
	}
	return list
}

// answerSchemas makes the schema of each answer.
func answerSchemas(t *testing.T) map[string]*schema {
	t.Helper()
	made := map[string]string{"stacks": stackstest.Write(t, stackstest.Incident()...), "waits": stackstest.Write(t, stackstest.Waits()...),
		"stopped": stackstest.WriteBy(t, "vm", stopped, stackstest.Incident()...), "damaged": damagedArchive(t)}
	all := make(map[string]*schema)
	for _, c := range answersAsked {
		s := all[c.name]
		if s == nil {
			s = &schema{Title: "A row of replay " + strings.ReplaceAll(c.name, "-", " --"), Type: []string{"object"}, Closed: new(bool)}
			all[c.name] = s
		}
		a := newApp(io.Discard, io.Discard, testClock)
		path := made[c.archive]
		if path == "" {
			path, a.Open = "testdata/"+c.archive+".txt", openText
		}
		got := &seen{about: s}
		a.sink = got.begin
		_ = a.execute(append(words(c.question), "--archive", path, "--format", "json", "--utc"))
		if len(got.columns) == 0 {
			t.Errorf("%s: %s has no answer", c.name, c.question)
		}
	}
	for name, s := range all {
		finish(t, name, s)
		*s.property("host") = schema{Type: []string{"string"}, Description: "The host, where the archives are of several."}
		*s.property("reason") = schema{Type: []string{"string"}, Examples: reasons(),
			Description: "Why the value of the row is absent, or cannot be trusted. Besides the examples it may be the text of an error."}
	}
	return all
}

// finish requires the properties that all objects have, and refuses those of which nothing is known.
func finish(t *testing.T, name string, s *schema) {
	for key, p := range s.Properties {
		if p.had == s.objects {
			s.Required = append(s.Required, key)
		}
		if len(p.Type) == 0 || len(p.Type) == 1 && p.Type[0] == "null" {
			t.Errorf("%s: no question has a value of %s, and its column has no Kind", name, key)
		}
		finish(t, name+"."+key, p)
	}
	slices.Sort(s.Required)
	if s.Items != nil {
		finish(t, name+"[]", s.Items)
	}
}

// violates says how a value is not as its schema says; "" if it is.
func (s *schema) violates(v any, at string) string {
	is := ""
	switch v := v.(type) {
	case nil:
		is = "null"
	case bool:
		is = "boolean"
	case string:
		is = "string"
	case json.Number:
		if is = "number"; !strings.ContainsAny(v.String(), ".eE") && !slices.Contains(s.Type, "number") {
			is = "integer"
		}
	case []any:
		is = "array"
		for i, x := range v {
			if why := s.Items.violates(x, fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
	case map[string]any:
		is = "object"
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return at + " has no " + name
			}
		}
		for name, x := range v {
			p := s.Properties[name]
			if p == nil && s.Closed != nil {
				return at + " has " + name
			}
			if p != nil {
				if why := p.violates(x, at+"."+name); why != "" {
					return why
				}
			}
		}
	}
	if !slices.Contains(s.Type, is) {
		return fmt.Sprintf("%s is %s, want %v", at, is, s.Type)
	}
	return ""
}

// docs/answers.schema.json describes what --format json prints, and each row in the golden files is
// as one of the descriptions of its command says.
func TestAnswersAreDescribed(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	all := answerSchemas(t)
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "What replay prints with --format json: one object a line, each a row. Numbers have the unit x-unit, or that of the row's units.",
		"$defs":   all,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(schemaPath, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaPath)
	if err != nil || !bytes.Equal(want, text) {
		t.Errorf("%s is not what the answers are (go test -update writes it anew): %v %s", schemaPath, err, firstDifference(string(want), string(text)))
	}
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, f := range files {
		golden, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		command := ""
		for line := range strings.Lines(string(golden)) {
			if rest, ok := strings.CutPrefix(line, "$ replay "); ok {
				if command, _, _ = strings.Cut(rest, " "); !strings.Contains(rest, "--format json") || strings.Contains(rest, "jsonl") {
					command = ""
				}
			}
			if command == "" || !strings.HasPrefix(line, "{") {
				continue
			}
			held++
			if why := describedBy(all, command, line); why != "" {
				t.Errorf("%s: %s: %s", f, why, line)
			}
		}
	}
	if held < 50 {
		t.Errorf("only %d rows were held to their schemas", held)
	}
}

// describedBy says why a row is as no schema of its command says; "" if it is as one of them.
func describedBy(all map[string]*schema, command, line string) (whys string) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var row any
	if err := d.Decode(&row); err != nil {
		return err.Error()
	}
	for name, s := range all {
		if name != command && !strings.HasPrefix(name, command+"-") {
			continue
		}
		why := s.violates(row, name)
		if why == "" {
			return ""
		}
		whys += why + "; "
	}
	return whys + "no schema of " + command
}
