package main

import (
	"strings"

	"tachograph/sample/metric"
)

// lives finds processes that are good subjects for questions.
type lives struct {
	lasting, short string // pids
	ticks          int
	seen           map[string]int
}

// busy are the names among which the process that lives all the time is looked for.
var busy = []string{"node", "redis-server", "postgres", "python3"}

// note looks at a tick of the first day.
func (l *lives) note(t *metric.Tick, firstDay bool) {
	if !firstDay {
		return
	}
	l.ticks++
	rows := t.Blocks[0].Rows
	if l.ticks == 1 {
		l.choose(rows)
		l.seen = make(map[string]int)
		for _, in := range rows {
			l.seen[in.Key] = -1 << 40
		}
	}
	if l.short != "" {
		return
	}
	// The short one was started after the beginning and has lived for twelve ticks.
	for _, in := range rows {
		if l.seen[in.Key]++; l.seen[in.Key] == 12 {
			l.short = pid(in)
		}
	}
}

func (l *lives) choose(rows []*metric.Instance) {
	l.lasting = pid(rows[0])
	for _, name := range busy {
		for _, in := range rows {
			if _, command, _ := strings.Cut(strings.TrimSpace(in.Name), " "); command == name {
				l.lasting = pid(in)
				return
			}
		}
	}
}

func pid(in *metric.Instance) string {
	p, _, _ := strings.Cut(in.Key, "/")
	return p
}
