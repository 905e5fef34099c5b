// Command plain writes what makedays records in plain forms, for other programs to store: as
// lines of Influx's protocol, instant by instant, or as columns, series by series, each value as
// its difference from the one before.
package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/testdata/measure/machine"
)

func main() {
	dataset := flag.String("dataset", os.Getenv("TACHO_DATASET"), "what to play, as for makedays")
	day := flag.Duration("day", 24*time.Hour, "how long to play")
	every := flag.Duration("process", 10*time.Second, "interval of the processes' metrics")
	o := machine.Options{System: 1}
	flag.BoolVar(&o.Plain, "once", false, "play the recording once, under its own names")
	flag.IntVar(&o.Processes, "processes", 0, "of a machine that is made up: processes at a time; 0: as many as such a machine has")
	flag.IntVar(&o.Round, "round", 2400, "of an archive or of a machine that is made up: seconds after which it begins again")
	flag.Uint64Var(&o.Seed, "seed", 1, "of a machine that is made up: which")
	form := flag.String("form", "columns", "lines or columns")
	flag.Parse()
	o.Process, o.Day = int(*every/time.Second), *day
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	m, err := machine.Open(*dataset, o)
	if err == nil {
		err = play(m, m.Day(*day), o.Plain, *form, out)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

func play(m *machine.Machine, day int64, once bool, form string, out *bufio.Writer) error {
	put, end := lines(out), func(io.Writer) error { return nil }
	if form == "columns" {
		c := &columns{of: make(map[string]*column)}
		put, end = c.add, c.write
	}
	for m.Peek().Ran < day && !(once && m.AtEnd()) {
		for _, b := range m.Next().Blocks {
			put(b)
		}
	}
	return end(out)
}

// lines returns a function that writes a block as lines.
func lines(out *bufio.Writer) func(*metric.Block) {
	escape := strings.NewReplacer(" ", `\ `, ",", `\,`, "=", `\=`)
	var line []byte
	return func(b *metric.Block) {
		for i, in := range b.Rows {
			line = append(line[:0], 't')
			if in != nil {
				line = append(append(append(line, ",instance="...), escape.Replace(in.Name)...), ",key="...)
				line = append(line, escape.Replace(in.Key)...)
			}
			line = append(line, ' ')
			for c, d := range b.Group.Metrics {
				if c > 0 {
					line = append(line, ',')
				}
				line = append(append(line, escape.Replace(d.Name)...), '=')
				line = strconv.AppendInt(line, int64(b.Cols[c].Bits[i]), 10)
			}
			line = strconv.AppendInt(append(line, ' '), b.At.Wall, 10)
			out.Write(append(line, '\n')) // an error is kept until Flush
		}
	}
}

// columns are all series.
type columns struct {
	of    map[string]*column
	order []*column
	times []byte
	last  int64
}

type column struct {
	name  string
	first int // the index of its first instant
	last  uint64
	bytes []byte
}

func (c *columns) add(b *metric.Block) {
	if b.At.Wall != c.last {
		c.times = binary.AppendVarint(c.times, b.At.Wall-c.last)
		c.last = b.At.Wall
	}
	for m, d := range b.Group.Metrics {
		for i, in := range b.Rows {
			name := d.Name
			if in != nil {
				name += "\x00" + in.Key + "\x00" + in.Name
			}
			s := c.of[name]
			if s == nil {
				s = &column{name: name, first: len(c.times)}
				c.of[name] = s
				c.order = append(c.order, s)
			}
			v := b.Cols[m].Bits[i]
			s.bytes = binary.AppendVarint(s.bytes, int64(v-s.last))
			s.last = v
		}
	}
}

// write writes names and times, and then all values, those of each metric together.
func (c *columns) write(out io.Writer) error {
	byMetric := make(map[string][]*column)
	var metrics []string
	for _, s := range c.order {
		name, _, _ := strings.Cut(s.name, "\x00")
		if byMetric[name] == nil {
			metrics = append(metrics, name)
		}
		byMetric[name] = append(byMetric[name], s)
	}
	seen := make(map[string]bool)
	for _, name := range metrics {
		fmt.Fprintf(out, "%s\n", name)
		for _, s := range byMetric[name] {
			if _, instance, ok := strings.Cut(s.name, "\x00"); ok && !seen[instance] {
				seen[instance] = true
				fmt.Fprintf(out, "%s\x00%d\n", instance, s.first)
			}
		}
	}
	if _, err := out.Write(c.times); err != nil {
		return err
	}
	for _, name := range metrics {
		for _, s := range byMetric[name] {
			if _, err := out.Write(s.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}
