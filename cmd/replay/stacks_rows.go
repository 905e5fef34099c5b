package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample"
)

// hottest prints functions. Those in which most samples were, not counting the functions that
// they called, come first.
func (s *stacksAnswer) hottest() error {
	machine := func(name string) out.Column { return out.Column{Name: name, Only: out.InMachine} }
	share := func(name string, keep int) out.Column {
		return out.Column{Name: name, Only: out.InTables, Right: true, Keep: keep}
	}
	rows, err := s.a.rows(machine("from"), machine("to"), out.Column{Name: "self", Right: true, Keep: out.Always}, share("self %", 9),
		out.Column{Name: "total", Right: true, Keep: 7}, share("total %", 8), out.Column{Name: "running", Right: true, Keep: 6}, machine("function"), machine("symbol"),
		machine("image"), machine("image_id"), out.Column{Name: "file", Only: out.InMachine, Kind: out.Text}, machine("kernel"),
		out.Column{Name: "calls", Title: "FUNCTION", Only: out.InTables, Flex: true, Keep: out.Always})
	if err != nil {
		return err
	}
	for _, p := range s.list {
		all := p.Sum(s.f.state())
		share := func(n uint64) out.Cell { return out.None(human.Percent(float64(n) / float64(max(all, 1)))) }
		hot := p.Hottest(s.f.state())
		if s.f.n > 0 && len(hot) > s.f.n {
			hot = hot[:s.f.n]
		}
		for _, h := range hot {
			cells := []out.Cell{hostCell(&p.Host), out.At(p.From), out.At(p.To), out.Natural(h.Self), share(h.Self), out.Natural(h.Total), share(h.Total), out.Natural(h.Running)}
			if err := rows.Row(append(append(cells, functionCells(p, h.Function)...), out.None(p.FunctionText(h.Function)))); err != nil {
				return err
			}
		}
	}
	return rows.Close()
}

// functionCells are those of the columns function, symbol, image, image_id, file and kernel.
func functionCells(p *stacks.Profile, function int32) []out.Cell {
	fn := &p.Functions[function]
	var image stacks.Image
	if fn.Image >= 0 {
		image = p.Images[fn.Image]
	}
	return []out.Cell{out.Str(fn.Name), answer.Text(fn.Symbol), answer.Text(image.Path), answer.Text(image.ID), answer.Text(fn.File), out.Whole(bit(fn.Kernel))}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// callers writes a row for each line of the tree of callers. The row of what has too small shares for
// lines of its own has no function, but says how many nodes of the tree it is about.
func (s *stacksAnswer) callers() error {
	var columns []out.Column
	for _, name := range []string{"from", "to", "depth", "samples", "running", "others", "function", "symbol", "image", "image_id", "file", "kernel"} {
		columns = append(columns, out.Column{Name: name})
	}
	columns[5].Kind, columns[10].Kind = out.Int, out.Text
	rows, err := s.a.rows(columns...)
	if err != nil {
		return err
	}
	for _, p := range s.list {
		for _, l := range p.Tree(stacks.ByCallers, s.f.state()).Outline(s.f.share) {
			cells := []out.Cell{hostCell(&p.Host), out.At(p.From), out.At(p.To), out.Whole(int64(l.Depth)), out.Natural(l.Count)}
			if l.Others > 0 {
				cells = append(append(cells, out.Cell{}, out.Whole(int64(l.Others))), make([]out.Cell, 6)...)
			} else {
				cells = append(append(cells, out.Natural(l.Running), out.Cell{}), functionCells(p, l.Function)...)
			}
			if err := rows.Row(cells); err != nil {
				return err
			}
		}
	}
	return rows.Close()
}

// rows writes a row for each thread and stack.
func (s *stacksAnswer) rows() error {
	var columns []out.Column
	for _, name := range []string{"from", "to", "pid", "key", "name", "tid", "thread", "queue", "wait", "end", "samples", "running", "waited", "waker", "stack"} {
		columns = append(columns, out.Column{Name: name})
	}
	for i := range columns[3:10] { // from key to end
		columns[3+i].Kind = out.Text
	}
	columns[12].Kind, columns[13].Kind = out.Float, out.Text // waited and waker
	rows, err := s.a.rows(append(columns, out.Column{Name: "frames", Only: out.InJSON})...)
	if err != nil {
		return err
	}
	var chain []int32
	for _, p := range s.list {
		for i := range p.Stacks {
			k := &p.Stacks[i]
			waited := k.Waited
			if s.f.running {
				waited = 0
			}
			if s.f.state().Of(k) == 0 && waited == 0 {
				continue
			}
			t := &p.Threads[k.Thread]
			chain = p.Chain(chain[:0], k)
			samples, running := k.Samples, k.Running
			switch s.f.state() {
			case stacks.Running:
				samples = running
			case stacks.Waiting:
				samples, running = samples-running, 0
			}
			if err := rows.Row([]out.Cell{hostCell(&p.Host), out.At(p.From), out.At(p.To), out.Whole(int64(t.PID)), answer.Text(t.Process), answer.Text(t.Command), answer.Text(t.TID),
				answer.Text(t.Name), answer.Text(t.Queue), answer.Text(k.Wait), answer.Text(k.End), out.Natural(samples), out.Natural(running), secondsCell(waited), wakerCell(p, k.Waker), out.Str(p.Folded(chain)), framesCell(p, chain)}); err != nil {
				return err
			}
		}
	}
	return rows.Close()
}

// secondsCell is a time waited; absent if no wait was measured.
func secondsCell(ns uint64) out.Cell {
	if ns == 0 {
		return out.Cell{}
	}
	return out.Number(float64(ns) / 1e9)
}

func wakerCell(p *stacks.Profile, w *stacks.Waker) out.Cell {
	if w == nil {
		return out.Cell{}
	}
	return out.Str(p.WakerText(w))
}

// framesCell is a chain of places as JSON.
func framesCell(p *stacks.Profile, chain []int32) out.Cell {
	b := []byte{'['}
	for i, n := range chain {
		at := &p.Places[n]
		fn := &p.Functions[at.Function]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"function":`...)
		b = out.AppendQuoted(b, fn.Name)
		add := func(name, value string) {
			if value != "" {
				b = append(append(append(b, `,"`...), name...), `":`...)
				b = out.AppendQuoted(b, value)
			}
		}
		if fn.Symbol != fn.Name {
			add("symbol", fn.Symbol)
		}
		if fn.Image >= 0 {
			add("image", p.Images[fn.Image].Path)
			add("image_id", p.Images[fn.Image].ID)
		}
		// A string, because not all programs read JSON's numbers exactly.
		if fn.Line == 0 {
			add("offset", "0x"+strconv.FormatUint(at.Offset, 16))
		}
		add("file", fn.File)
		if at.Line > 0 {
			b = strconv.AppendInt(append(b, `,"line":`...), int64(at.Line), 10)
		}
		if fn.Line > 0 {
			b = strconv.AppendInt(append(b, `,"function_line":`...), int64(fn.Line), 10)
		}
		if fn.Kernel {
			b = append(b, `,"kernel":true`...)
		}
		if at.Broken {
			b = append(b, `,"caller_unknown":true`...)
		}
		b = append(b, '}')
	}
	return out.Cell{Kind: out.Detail, Raw: append(b, ']')}
}

// file writes stacks for profilers.
func (s *stacksAnswer) file(cmd *cobra.Command, args []string) error {
	if len(s.list) > 1 {
		var names []string
		for _, p := range s.list {
			names = append(names, p.Host.Name)
		}
		return fmt.Errorf("a profile is of one host, and stacks were sampled on %s: choose with --host", strings.Join(names, ", "))
	}
	p, by := s.list[0], stacks.By(s.f.by)
	state := s.state(p)
	title, exporter := p.Host.Name+" "+s.a.Show(p.From), "tachograph "+sample.Version()
	write := func(w io.Writer) error {
		switch s.f.format {
		case foldedFormat:
			return p.WriteFolded(w, by, state)
		case speedscopeFormat:
			return p.WriteSpeedscope(w, title, exporter, by, state)
		case firefoxFormat:
			if !strings.HasSuffix(s.f.dst, ".gz") {
				return p.WriteFirefox(w, title, exporter, s.state(p))
			}
			z := gzip.NewWriter(w)
			if err := p.WriteFirefox(z, title, exporter, s.state(p)); err != nil {
				return err
			}
			return z.Close()
		}
		return p.WritePprof(w, title, state)
	}
	if s.f.dst == "" || s.f.dst == "-" {
		s.a.stdout.Flush()
		return write(s.a.stdout.Unwrap())
	}
	if _, err := os.Lstat(s.f.dst); err == nil && !s.f.force {
		return fmt.Errorf("%s exists: --force overwrites it", s.f.dst)
	}
	n, err := s.a.writeWhole(s.a.ctx, s.f.dst, write)
	if err != nil {
		return err
	}
	amount := state.Amount(p.Sum(state)) + " waited"
	if state != stacks.Waited {
		amount = cli.Count(int(p.Sum(state)), "sample")
	}
	s.a.tell(fmt.Sprintf("%s: %s, %s", s.f.dst, amount, human.Bytes(float64(n))))
	s.a.finish(cmd, args, false)
	return nil
}
