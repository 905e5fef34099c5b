package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/serve/ask"
)

// mostBytes is how large an answer may be, with little above it.
const mostBytes = 4000

// A reply is an answer that is being made.
type reply struct {
	server *Server
	call   *call
	step   time.Duration
	parts  []filled
	basis  *ask.Basis // of the first part
	reruns []string
	lost   []string
	notes  []string
}

// filled is a part with its rows.
type filled struct {
	*part
	rows   *rows
	series *series
}

// run runs the command of a part.
func (a *reply) run(ctx context.Context, p *part) error {
	skip := 0
	first := len(a.parts) == 0
	if first {
		skip = a.call.skip
	}
	f := filled{part: p}
	var begin func([]out.Column) (out.Writer, error)
	if p.series {
		f.series = newSeries(how[a.call.how()].column, skip, a.step, a.server.opt.ShowArgs)
		begin = f.series.begin
	} else {
		f.rows = newRows(p, skip)
		begin = f.rows.begin
	}
	aside, err := a.server.ask.Answer(ctx, ask.Command{Args: a.call.line(p, a.step), Begin: begin})
	if err != nil && first {
		return err
	}
	if err != nil {
		a.note(p.key + ": " + messageOf(err))
	}
	for _, text := range aside.Lost {
		a.lost = append(a.lost, safe(text, 300))
	}
	for _, text := range aside.Notes {
		a.note(strings.TrimPrefix(text, "replay: "))
	}
	if aside.Basis != nil {
		a.reruns = append(a.reruns, aside.Basis.Command)
		if first {
			a.basis = aside.Basis
		}
	}
	a.parts = append(a.parts, f)
	return nil
}

func (a *reply) note(text string) {
	if text != "" {
		a.notes = append(a.notes, safe(text, 300))
	}
}

// json writes the answer. Rows get the room that is left by what an answer must have.
func (a *reply) json() json.RawMessage {
	if a.basis == nil { // a command that does not say: none is such
		a.basis = &ask.Basis{Zone: time.UTC}
	}
	head, tail, middle := newObject(), newObject(), newObject()
	head.basis(a.basis)
	for i := range a.parts {
		if r := a.parts[i].rows; r != nil && r.byMost {
			a.note(fmt.Sprintf("at most %d rows of each %s are shown: other tools show all", r.per, r.fields[0].name))
		}
	}
	tail.absent(a.basis)
	tail.texts("lost", a.lost)
	const more = 250 // what truncated and further notes take
	tail.add("rerun", visible.Text(strings.Join(a.reruns, " && ")))
	room := max(mostBytes-more-len(head.b)-len(tail.b), mostBytes/3)
	// The first part gets the room that the others leave.
	for i := len(a.parts) - 1; i > 0; i-- {
		f := &a.parts[i]
		list, of := f.fit(a.basis.Zone, room/2)
		if len(list) < of {
			a.note(fmt.Sprintf("%s: %d of %d rows are shown", f.key, len(list), of))
		}
		middle.add(f.key, list)
		room -= len(middle.b)
	}
	f := &a.parts[0]
	list, of := f.fit(a.basis.Zone, room)
	if f.series != nil && len(f.series.kept) > 0 {
		head.add("start", moment(f.series.start(), a.basis.Zone))
		head.add("step_seconds", a.step.Seconds())
	}
	head.add(f.key, list)
	if shown := a.call.skip + len(list); shown < of {
		cut := newObject()
		cut.add("shown", len(list))
		cut.add("of", of)
		cut.add("next", a.call.next(len(list)))
		head.add("truncated", cut.close())
	}
	head.join(middle)
	tail.texts("notes", a.notes)
	head.join(tail)
	return head.close()
}

// fit returns as many of the part's rows, or series, as there is room for, at least one, and how
// many there are in all.
func (f *filled) fit(zone *time.Location, room int) (list []json.RawMessage, of int) {
	list = []json.RawMessage{}
	add := func(row json.RawMessage) bool {
		if room -= len(row) + 1; room < 0 && len(list) > 0 {
			return false
		}
		list = append(list, row)
		return true
	}
	if f.series != nil {
		for _, p := range f.series.kept {
			if !add(f.series.json(p, f.series.start(), zone)) {
				break
			}
		}
		return list, len(f.series.seen)
	}
	for _, cells := range f.rows.kept {
		if !add(f.rows.row(cells, zone)) {
			break
		}
	}
	return list, f.rows.seen
}

// texts adds a list if it is not empty, and not more than a few of it.
func (o *objectWriter) texts(name string, list []string) {
	const most = 5
	if len(list) > most {
		list = append(list[:most-1:most-1], fmt.Sprintf("and %d more", len(list)-most+1))
	}
	if len(list) > 0 {
		o.add(name, list)
	}
}

// join adds the fields of another object.
func (o *objectWriter) join(other *objectWriter) {
	if other.n == 0 {
		return
	}
	if o.n > 0 {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, other.b[1:]...)
	o.n += other.n
}
