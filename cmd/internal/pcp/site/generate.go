package site

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// Package is the agent in the form that PCP's own scripts and programs need.
type Package struct {
	// Domain is the agent's own domain. PCP's scripts know one domain per agent, so its
	// metrics in other domains are foreign to them.
	Domain  uint32
	Metrics []*pcp.Metric
	// Recorder is the program, Args its further arguments as an agent.
	Recorder string
	Args     []string
	// Every returns how often a class is read, and so is worth logging.
	Class func(*metric.Desc) metric.Class
	Every func(metric.Class) time.Duration
	// Indom describes the instances of an instance domain, in a few words and in more.
	Indom func(name string) (short, long string)
}

// symbol is the name that generated files use for the domain. PCP's scripts replace it with the
// number.
const symbol = "TACHOGRAPH"

// Names returns the metrics by name, with their numbers.
func (p *Package) Names() []Name {
	names := make([]Name, 0, len(p.Metrics))
	for _, m := range p.Metrics {
		domain, cluster, item := m.PMID.Parts()
		names = append(names, Name{Name: m.Name, ID: fmt.Sprintf("%d:%d:%d", domain, cluster, item)})
	}
	slices.SortFunc(names, func(a, b Name) int { return strings.Compare(a.Name, b.Name) })
	return names
}

// alone reports whether all metrics are in the agent's own domain.
func (p *Package) alone() bool {
	return !slices.ContainsFunc(p.Metrics, func(m *pcp.Metric) bool { domain, _, _ := m.PMID.Parts(); return domain != p.Domain })
}

// Probe returns a metric that has a value on every machine: it shows that the agent answers.
func (p *Package) Probe() string {
	for _, want := range []string{"hinv.ncpu", "hinv.pagesize"} {
		for _, m := range p.Metrics {
			if m.Desc.Name == want {
				return m.Name
			}
		}
	}
	return ""
}

// Files returns the files of the agent's directory, with paths below it.
func (p *Package) Files() []File {
	files := []File{
		{"domain.h", 0o644, fmt.Appendf(nil, "/* The domain of Tachograph's metrics in Performance Co-Pilot. */\n#define %s %d\n", symbol, p.Domain)},
		{"pmns", 0o644, p.pmns()},
		{"root", 0o644, p.root()},
		{"help", 0o644, p.help()},
		{"pmda" + Agent, 0o755, p.program()},
		{"Install", 0o755, script(installScript, p.Recorder)},
		{"Remove", 0o755, script(removeScript, p.Recorder)},
	}
	if !p.alone() {
		files[5].Content = script(installByRecorder, p.Recorder)
		files[6].Content = script(removeByRecorder, p.Recorder)
	}
	return files
}

// Templates returns the files for pmlogger and pmie, with paths below config of PCP's
// directory.
func (p *Package) Templates() []File {
	var files []File
	for c := range metric.NumClasses {
		if text := p.logTemplate(c); text != nil {
			files = append(files, File{path.Join("pmlogconf", Agent, c.String()), 0o644, text})
		}
	}
	for _, r := range rules {
		if text := p.rule(r); text != nil {
			files = append(files, File{path.Join("pmieconf", Agent, r.name), 0o644, text})
		}
	}
	return files
}

// pmns returns the name space below root, with the symbol for the agent's own domain.
func (p *Package) pmns() []byte {
	names := p.Names()
	own := fmt.Sprintf("%d:", p.Domain)
	for i, n := range names {
		if rest, ok := strings.CutPrefix(n.ID, own); ok {
			names[i].ID = symbol + ":" + rest
		}
	}
	var b bytes.Buffer
	b.WriteString("/*\n * Metrics of Tachograph\n */\n")
	for _, of := range treeOf(names).order {
		if of.name != "" {
			b.WriteByte('\n')
			writeBlock(&b, of)
		}
	}
	return b.Bytes()
}

// root returns a root that makes pmns a complete name space, so that it can be checked.
func (p *Package) root() []byte {
	var tops []string
	for _, it := range treeOf(p.Names()).blocks[""].items {
		tops = append(tops, it.name)
	}
	return fmt.Appendf(nil, "/*\n * A \"root\" by which the name space can be checked alone\n */\n\n#include <stdpmid>\n#include \"domain.h\"\n\nroot { %s }\n\n#include \"pmns\"\n", strings.Join(tops, " "))
}

// help returns the source for PCP's newhelp. The agent itself has its texts.
func (p *Package) help() []byte {
	var b bytes.Buffer
	b.WriteString("#\n# What Tachograph's metrics mean, for newhelp(1). The agent answers from the same texts.\n#\n")
	metrics := slices.SortedFunc(slices.Values(p.Metrics), func(a, c *pcp.Metric) int { return strings.Compare(a.Name, c.Name) })
	indoms := make(map[uint32]string)
	for _, m := range metrics {
		if m.InDom != pcp.Null {
			indoms[m.InDom] = m.Desc.Indom
		}
	}
	for _, id := range sorted(indoms) {
		short, long := p.Indom(indoms[id])
		fmt.Fprintf(&b, "\n@ %s %s\n", pcp.InDomString(id), line(short))
		wrap(&b, long)
	}
	for _, m := range metrics {
		head, long := "@ "+m.Name+" "+line(m.Desc.Help), m.Desc.LongHelp
		if len(head) > mostHelp {
			head, long = head[:strings.LastIndexByte(head[:mostHelp-4], ' ')]+" ...", m.Desc.Help+".\n"+long
		}
		b.WriteString("\n" + head + "\n")
		for text := range strings.Lines(long) {
			wrap(&b, text)
		}
		if m.Desc.Source != "" {
			wrap(&b, "Read from "+m.Desc.Source+".")
		}
	}
	return b.Bytes()
}

// mostHelp is the longest line of help; newhelp breaks longer ones anywhere. helpWidth is the
// length of our lines where that can be chosen.
const (
	mostHelp  = 120
	helpWidth = 76
)

// wrap writes a text in lines that newhelp does not take for its own syntax.
func wrap(b *bytes.Buffer, text string) {
	at := 0
	for _, word := range strings.Fields(visible.Text(text)) {
		for len(word) > mostHelp {
			b.WriteString(word[:mostHelp] + "\n")
			word = word[mostHelp:]
		}
		switch {
		case at > 0 && at+1+len(word) > helpWidth:
			b.WriteByte('\n')
			at = 0
		case at > 0:
			b.WriteByte(' ')
			at++
		}
		if at == 0 && (word[0] == '@' || word[0] == '#') {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		at += len(word)
	}
	if at > 0 {
		b.WriteByte('\n')
	}
}

func sorted(m map[uint32]string) []uint32 {
	ids := make([]uint32, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// line returns a text on one line, without terminal controls.
func line(text string) string { return strings.Join(strings.Fields(visible.Text(text)), " ") }

// logged are the classes, all of the whole machine, that pmlogger logs by default: at its own
// interval, because it keeps 16 bytes per value, and what we read every second would be
// hundreds of megabytes a day. Pmlogconf sets another interval. The other classes can be
// chosen, at our interval.
var logged = map[metric.Class]string{metric.Static: "once", metric.Constrained: "default", metric.Polled: "default", metric.Fast: "default"}

var classIdent = map[metric.Class]string{
	metric.Static:      "what never changes while the machine runs",
	metric.Constrained: "what an administrator can set",
	metric.Polled:      "what moves, but nobody needs every second",
	metric.Fast:        "processors, memory, disks, network, second by second",
	metric.Process:     "every process",
	metric.Thread:      "threads of chosen processes",
	metric.Costly:      "every process: what needs a walk of its own",
	metric.Network:     "connections, and ports that are listened on",
}

// logTemplate returns the pmlogconf template of a class; nil if the class has no metrics.
func (p *Package) logTemplate(c metric.Class) []byte {
	ident, ok := classIdent[c]
	if !ok {
		return nil
	}
	var names []string
	for _, m := range p.Metrics {
		if p.Class(m.Desc) == c && m.Desc.Formula == "" {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	state, delta := "available", interval(p.Every(c))
	if every, ok := logged[c]; ok {
		state, delta = "include", every
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "#pmlogconf-setup 2.0\nident\tTachograph: %s\n", ident)
	fmt.Fprintf(&b, "delta\t%s\n", delta)
	fmt.Fprintf(&b, "probe\t%s exists ? %s : exclude\n\n", names[0], state)
	for _, n := range names {
		b.WriteString("\t" + n + "\n")
	}
	return b.Bytes()
}

// interval returns an interval in pmlogger's words.
func interval(d time.Duration) string {
	switch {
	case d <= 0 || d == metric.Once:
		return "once"
	case d%time.Minute == 0:
		return plural(int64(d/time.Minute), "minute")
	case d%time.Second == 0:
		return plural(int64(d/time.Second), "second")
	}
	return plural(d.Milliseconds(), "millisecond")
}

func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
