package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// question is something that people ask.
type question struct {
	label     string
	args      string  // of replay; {pid} and the like are filled in
	must, aim float64 // ms
	memory    float64 // the most MB that it may need; 0: mostMemory
	victoria  func(*victoria, *made) ([]string, error)
}

// mostMemory is how many MB any question may need.
const mostMemory = 100

func orMost(mb float64) float64 {
	if mb == 0 {
		return mostMemory
	}
	return mb
}

// asked are the questions about one day. They cover the whole day, unless they have a window of
// their own.
var asked = []question{
	{"rate of a counter, each minute", "rates kernel.all.cpu.user --from start --step 60s --format csv", 25, 15, 0, (*victoria).rateMinutes},
	{"rate of a counter, each second", "rates kernel.all.cpu.user --from start --format csv", 30, 25, 0, (*victoria).rateSeconds},
	{"one process by pid, `rates -i`", "rates proc.psinfo.utime -i {process} --from start --format csv", 30, 15, 0, (*victoria).process},
	{"one process by name, `rates -i`", "rates proc.psinfo.utime -i {named} --from start --format csv", 30, 15, 0, nil},
	{"one that lived for minutes, `rates -i`", "rates proc.psinfo.utime -i {brief} --from start --format csv", 30, 15, 0, nil},
	{"`ps PID --from start`", "ps {pid} --from start", 40, 20, 0, nil},
	{"overview", "", 100, 50, 0, nil},
	{"`diff` of the two halves", "diff {from}..{middle} {middle}..{to}", 400, 200, 0, nil},
	{"`diff` of 10 minutes", "diff --before 10m --at {middle}", 100, 50, 0, nil},
	{"`top` over everything", "top --from start --to end", 150, 80, 0, nil},
	{"all of the system, with percentiles", "ranges {system} --from start --format csv", 400, 200, 60, (*victoria).percentiles},
	{"all of the system, `--quick`", "ranges --quick {system} --from start --format csv", 150, 80, 0, nil},
	{"`at` a moment", "at {middle}", 60, 30, 0, nil},
	{"a counter of all processes, csv", "values proc.psinfo.utime --from start --format csv", 1500, 750, 0, nil},
	{"`ranges` of a level of all processes", "ranges proc.memory.rss --from start --format csv", 1500, 750, 0, nil},
}

// askedLive are the questions about an archive that is being written, with an hour of journal.
var askedLive = []question{
	{"rate of a counter, each minute", "rates kernel.all.cpu.user --from start --step 60s --format csv", 60, 30, 0, nil},
	{"one process by pid, `rates -i`", "rates proc.psinfo.utime -i {process} --from start --format csv", 60, 30, 0, nil},
	{"`ps`", "ps", 60, 30, 0, nil},
	{"`at` ten minutes before the end", "at {late}", 60, 30, 0, nil},
	{"`top` of the last ten minutes", "top --from {late}", 60, 30, 0, nil},
	{"overview of the last ten minutes", "--from {late}", 60, 30, 0, nil},
	{"overview", "", 100, 50, 0, nil},
}

// streams are questions with the longest possible answers.
var streams = []struct {
	label, args string
	must        float64 // million values a second
}{
	{"csv of everything", "values * --from start --to +{share}m --format csv", 10},
	{"json of everything", "values * --from start --to +{share}m --format json", 5},
}

var systemMetrics = []string{"kernel.*", "disk.*", "network.*", "mem.*", "filesys.*"}

// unit returns the unit for a table of questions.
func (m *measure) unit(what string) string {
	if m.busy {
		return strings.TrimPrefix(what+", least CPU ms", ", ")
	}
	return strings.TrimPrefix(what+", ms", ", ")
}

// words returns the arguments of a question about d.
func (m *measure) words(args string, d *made) []string {
	length := m.day()
	at := func(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
	noon := d.From + int64(length/time.Second)/2
	r := strings.NewReplacer("{pid}", d.Lasting, "{process}", "*"+d.Lasting+" *", "{named}", "*"+d.Named, "{brief}", "*"+d.Short+" *",
		"{from}", at(d.From), "{to}", at(d.To), "{middle}", at(d.Middle), "{late}", at(d.To-min(600, (d.To-d.From)/2)),
		"{noon}", at(noon), "{after}", at(noon+min(600, int64(length/time.Second)/4)), "{share}", strconv.Itoa(max(1, int(length/(24*time.Minute)))))
	words := []string{"--archive", d.dir}
	for _, w := range strings.Fields(args) {
		if w == "{system}" {
			words = append(words, systemMetrics...)
		} else {
			words = append(words, r.Replace(w))
		}
	}
	return words
}

// typed returns a question as a user types it, without the archives' path.
func (m *measure) typed(args string, d *made) string {
	text := "replay"
	for _, w := range m.words(args, d)[2:] {
		if strings.ContainsAny(w, " *") {
			w = "'" + w + "'"
		}
		text += " " + w
	}
	return "`" + text + "`"
}

// ask runs a question against each build's archives in turn.
func (m *measure) ask(args string, of map[string]*made) (map[string]*cost, error) {
	costs := make(map[string]*cost)
	var jobs []*job
	for _, b := range m.builds {
		d := of[b.name]
		if d == nil {
			continue
		}
		j := &job{program: b.replay(), args: m.words(args, d), dir: d.dir, cost: cost{busy: m.busy}}
		jobs = append(jobs, j)
		costs[b.name] = &j.cost
	}
	return costs, inTurn(jobs, m.runs, m.cold)
}

func (m *measure) questions() error {
	days, err := m.makeEach("day")
	if err != nil {
		return err
	}
	if m.dataset.tables != "" {
		return m.questionsOfOthers(days)
	}
	lives, err := m.makeEach("live", "-live")
	if err != nil {
		return err
	}
	v := m.startVictoria()
	defer v.stop()
	text, err := m.questionTable(asked, days, v)
	if err != nil {
		return err
	}
	m.table("questions", text)
	if text, err = m.streamTable(days); err != nil {
		return err
	}
	m.table("streams", text)
	if text, err = m.questionTable(askedLive, lives, nil); err != nil {
		return err
	}
	m.table("journal", text)
	m.table("missed", m.missedTable())
	return nil
}

// missedTable returns a table of the questions that took longer than they must.
func (m *measure) missedTable() string {
	t := newTable("missed", "least CPU, ms", "where it goes")
	for _, x := range m.missed {
		t.row(x.what, number(x.cpu), orDash(m.profile(0, append([]string{m.now().replay()}, x.args...)...)))
	}
	if len(m.missed) == 0 {
		t.row("none")
	}
	return t.String()
}

// makeEach makes archives with each build.
func (m *measure) makeEach(name string, args ...string) (map[string]*made, error) {
	of := make(map[string]*made)
	for _, b := range m.builds {
		d, err := m.make(b, name, args...)
		if err != nil {
			return nil, err
		}
		if len(args) > 0 && args[0] == "-live" {
			d.dir += "/work"
		}
		of[b.name] = d
	}
	return of, nil
}

// missed is a question that took more time or memory than it must.
type missed struct {
	what string
	cpu  float64
	args []string
}

func (m *measure) questionTable(list []question, of map[string]*made, v *victoria) (string, error) {
	t := newTable(m.unit("question"), "before", "now", "least", "CPU", "MB", "VictoriaMetrics", "must", "aim", "", "command")
	worst, before := 0.0, 0.0
	for i := range list {
		q := &list[i]
		if m.only != "" && !strings.Contains(q.label, m.only) {
			continue
		}
		m.say("%s", q.label)
		c, err := m.ask(q.args, of)
		if err != nil {
			return "", err
		}
		theirs, err := v.ask(*q, of["now"], m.runs)
		if err != nil {
			return "", err
		}
		now := c["now"]
		t.row(q.label, wall(c["before"]), wall(now), number(now.least()), number(now.leastCPU()), number(now.resident),
			theirs, number(q.must), number(q.aim), q.verdict(now), m.typed(q.args, of["now"]))
		if now.figure() > q.must || now.resident > orMost(q.memory) {
			m.missed = append(m.missed, missed{q.label, now.leastCPU(), m.words(q.args, of["now"])})
		}
		worst = max(worst, now.resident)
		if c["before"] != nil {
			before = max(before, c["before"].resident)
		}
	}
	t.row("the most memory of any of them, MB", orWords(number(before), before > 0, "-"), number(worst), "", "", "", "", number(mostMemory), "60", verdict(worst, mostMemory, 60))
	return t.String(), nil
}

// verdict returns the verdict for the time, unless the command took too much memory.
func (q *question) verdict(c *cost) string {
	if c.resident > orMost(q.memory) {
		return verdict(c.resident, orMost(q.memory), 0)
	}
	return verdict(c.figure(), q.must, q.aim)
}

// wall returns the time that a command took, formatted.
func wall(c *cost) string {
	switch {
	case c == nil:
		return "-"
	case c.gaveUp:
		return fmt.Sprintf("over %s", number(patience.Seconds()*1e3))
	}
	return number(c.figure())
}

func (m *measure) streamTable(of map[string]*made) (string, error) {
	t := newTable("answer, million values a second", "before", "now", "must", "", "MB", "command")
	for _, s := range streams {
		m.say("%s", s.label)
		c, err := m.ask(s.args, of)
		if err != nil {
			return "", err
		}
		pace := func(c *cost) string {
			if c == nil || c.gaveUp {
				return "-"
			}
			return number(c.pace())
		}
		if c["now"].pace() < s.must {
			m.missed = append(m.missed, missed{s.label, c["now"].leastCPU(), m.words(s.args, of["now"])})
		}
		t.row(s.label, pace(c["before"]), pace(c["now"]), number(s.must), verdict(-c["now"].pace(), -s.must, -s.must), number(c["now"].resident), m.typed(s.args, of["now"]))
	}
	return t.String(), nil
}

// overDays are the questions about many days.
var overDays = []question{
	{"rate of a counter, each minute, 10 minutes", "rates kernel.all.cpu.user --from {noon} --to {after} --step 60s --format csv", 0, 0, 0, nil},
	{"one process, `rates -i`, 10 minutes", "rates proc.psinfo.utime -i {process} --from {noon} --to {after} --format csv", 0, 0, 0, nil},
	{"`top`, 10 minutes", "top --from {noon} --to {after}", 0, 0, 0, nil},
	{"overview, 10 minutes", "--from {noon} --to {after}", 0, 0, 0, nil},
	{"`at` a moment", "at {noon}", 0, 0, 0, nil},
	{"rate of a counter, each hour", "rates kernel.all.cpu.user --from start --step 1h --format csv", 0, 0, 0, nil},
	{"one process, `rates -i`", "rates proc.psinfo.utime -i {process} --from start --step 1h --format csv", 0, 0, 0, nil},
	{"`ps PID --from start`", "ps {pid} --from start", 0, 0, 0, nil},
	{"`top`", "top --from start --to end", 0, 0, 0, nil},
	{"overview", "", 0, 0, 0, nil},
	{"`diff` of the two halves", "diff {from}..{middle} {middle}..{to}", 0, 0, 0, nil},
	{"all of the system, `--quick`", "ranges --quick {system} --from start --format csv", 0, 0, 0, nil},
}

// fixed is how many of overDays ask about the same window, however many days there are.
const fixed = 5

// manyDays asks about 1, 7 and 30 days; the older commit, which may take minutes for 30, only
// about 1 and 7.
func (m *measure) manyDays() error {
	numbers := []int{1, min(7, m.days), m.days}
	of := make(map[int]map[string]*made)
	columns := []string{m.unit("")}
	for _, n := range numbers {
		of[n] = make(map[string]*made)
		columns = append(columns, fmt.Sprintf("%d", n))
	}
	columns = append(columns, "MB", "before: 1", fmt.Sprint(numbers[1]))
	for _, b := range m.builds {
		wanted := numbers
		if b != m.now() {
			wanted = numbers[:2]
		}
		spans, err := m.spans(b, wanted)
		if err != nil {
			return err
		}
		for n, d := range spans {
			of[n][b.name] = d
		}
	}
	t := newTable(columns...)
	for i, q := range overDays {
		if m.only != "" && !strings.Contains(q.label, m.only) {
			continue
		}
		if i == 0 {
			t.row("**a window of the first day**")
		} else if i == fixed {
			t.row("**everything**")
		}
		m.say("%s", q.label)
		cells, err := m.overSpans(q, numbers, of)
		if err != nil {
			return err
		}
		t.row(cells...)
	}
	m.table("days", t.String())
	return nil
}

// overSpans returns the cells for a question about many days.
func (m *measure) overSpans(q question, numbers []int, of map[int]map[string]*made) ([]string, error) {
	var now, before []string
	resident := 0.0
	for i, n := range numbers {
		c, err := m.ask(q.args, of[n])
		if err != nil {
			return nil, err
		}
		now = append(now, wall(c["now"]))
		if i < 2 {
			before = append(before, wall(c["before"]))
		}
		resident = max(resident, c["now"].resident)
	}
	return append(append(append([]string{q.label}, now...), number(resident)), before...), nil
}
