package pmcdtest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Told is what pminfo prints about a metric.
type Told struct {
	Name, PMID, Type, InDom, Semantics, Units string
	// OneLine and Help are its texts.
	OneLine, Help string
	Values        []ToldValue
	// Error is printed in place of the values; Empty means that there were none.
	Error string
	Empty bool
}

// ToldValue is a value that pminfo prints.
type ToldValue struct {
	ID       int64 // -1 for the value of a metric without instances
	Instance string
	Text     string // as printed; without quotes if it is a string
}

// Value returns the value of an instance; "" is for a metric without instances.
func (m *Told) Value(instance string) (text string, ok bool) {
	for _, v := range m.Values {
		if v.Instance == instance {
			return v.Text, true
		}
	}
	return "", false
}

// Info runs pminfo for metrics, and all below names. pminfo must print no errors, except in
// place of a metric's values.
func (d *Daemon) Info(t testing.TB, names ...string) []*Told {
	t.Helper()
	return ParseInfo(t, d.Run(t, "pminfo", append([]string{"-dfmtT"}, names...)...))
}

var (
	nameLine   = regexp.MustCompile(`^([a-zA-Z][\w.]*) PMID: (\d+\.\d+\.\d+) \[(.*)\]$`)
	typeLine   = regexp.MustCompile(`^    Data Type: (.*)  InDom: (\S+) 0x`)
	semLine    = regexp.MustCompile(`^    Semantics: (\S+)  Units: (.*)$`)
	instLine   = regexp.MustCompile(`^    inst \[(\d+) or (?:"(.*?)"|\?\?\?)\] (?:value )?(.*)$`)
	singleLine = regexp.MustCompile(`^    value (.*)$`)
)

// ParseInfo parses the output of `pminfo -dfmtT`.
func ParseInfo(t testing.TB, text string) (list []*Told) {
	t.Helper()
	var m *Told
	help := false
	further := func(line string) { // of a help text, or of a value with several lines
		switch {
		case help:
			m.Help += line + "\n"
		case len(m.Values) > 0:
			m.Values[len(m.Values)-1].Text += "\n" + line
		case line != "":
			t.Fatalf("pminfo says of %s: %q", m.Name, line)
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if f := nameLine.FindStringSubmatch(line); f != nil {
			m, help = &Told{Name: f[1], PMID: f[2], OneLine: f[3]}, false
			list = append(list, m)
			continue
		}
		if m == nil {
			if line != "" {
				t.Fatalf("pminfo says %q", line)
			}
			continue
		}
		if f := typeLine.FindStringSubmatch(line); f != nil && m.Type == "" {
			m.Type, m.InDom = f[1], f[2]
		} else if f := semLine.FindStringSubmatch(line); f != nil && m.Semantics == "" {
			m.Semantics, m.Units = f[1], f[2]
		} else if line == "Help:" && !help && m.Help == "" {
			help = true
		} else if f := instLine.FindStringSubmatch(line); f != nil {
			id, _ := strconv.ParseInt(f[1], 10, 64)
			m.Values, help = append(m.Values, ToldValue{id, f[2], f[3]}), false
		} else if f := singleLine.FindStringSubmatch(line); f != nil && len(m.Values) == 0 {
			m.Values, help = append(m.Values, ToldValue{-1, "", f[1]}), false
		} else if line == "No value(s) available!" {
			m.Empty, help = true, false
		} else if s, ok := strings.CutPrefix(line, "Error: "); ok {
			m.Error, help = s, false
		} else {
			further(line)
		}
	}
	for _, m := range list {
		m.Help = strings.TrimSpace(m.Help)
		for i := range m.Values {
			v := &m.Values[i]
			v.Text = strings.TrimRight(v.Text, "\n")
			if s := v.Text; len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
				v.Text = s[1 : len(s)-1]
			}
		}
	}
	return list
}
