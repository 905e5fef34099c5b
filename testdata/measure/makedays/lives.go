package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// lives finds processes that are good subjects for questions.
type lives struct {
	lasting, short string           // pids
	named          string           // the name of a process
	began          map[string]int64 // when each process was first seen
}

// busy are the names among which the process that lives all the time is looked for.
var busy = []string{"node", "redis-server", "postgres", "python3", "Safari", "WindowServer"}

// note looks at a tick of the first day.
func (l *lives) note(t *metric.Tick, firstDay bool) {
	if !firstDay {
		return
	}
	i := slices.IndexFunc(t.Blocks, func(b *metric.Block) bool { return metric.PerBoot(b.Group.Indom) })
	if i < 0 {
		return
	}
	rows := t.Blocks[i].Rows
	if l.began == nil {
		l.choose(rows)
		l.began = make(map[string]int64)
		for _, in := range rows {
			l.began[in.Key] = math.MaxInt64
		}
	}
	if l.short != "" {
		return
	}
	// The short one was started after the beginning and has lived for some minutes.
	for _, in := range rows {
		began, ok := l.began[in.Key]
		if !ok {
			l.began[in.Key] = t.At.Wall
		} else if began <= t.At.Wall-int64(minutes) {
			l.short = pid(in)
			return
		}
	}
}

// minutes is how long a process lives that lives for minutes, or a little longer.
const minutes = 110 * time.Second

func (l *lives) choose(rows []*metric.Instance) {
	names := make(map[string]string) // the first process of each name
	for _, in := range rows {
		if names[command(in)] == "" {
			names[command(in)] = pid(in)
		}
	}
	l.lasting, l.named = pid(rows[0]), command(rows[0])
	for _, name := range slices.Backward(busy) {
		if names[name] != "" {
			l.lasting, l.named = names[name], name
		}
	}
	if names["redis-server"] != "" {
		l.named = "redis-server"
	}
}

func pid(in *metric.Instance) string {
	number, _, _ := strings.Cut(in.Name, " ")
	return cmp.Or(strings.TrimLeft(number, "0"), "0")
}

func command(in *metric.Instance) string {
	_, name, _ := strings.Cut(in.Name, " ")
	return name
}
