package scrape

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/metric"
)

// mostSamples bounds a page: some 10 MB.
const mostSamples = 100_000

// page is an answer that is being written.
type page struct {
	format format
	now    time.Time
	state  *live.State
	wanted *wanted

	body    bytes.Buffer
	samples int
	line    []byte
	// seen are the written series of a family, so that none is written twice.
	seen map[string]bool
	// written are the families written so far: in an archive of unknown origin two metrics may
	// have the same family name.
	written map[string]bool
}

// family is a family with its sources.
type family struct {
	naming.Family
	own bool
}

func (p *page) write() error {
	p.written = make(map[string]bool)
	var list []family
	if p.state.Archive != nil {
		for _, f := range naming.Node(p.state.Archive.Host.Platform) {
			list = append(list, family{f, false})
		}
	}
	for r := range p.state.Readings() {
		list = append(list, family{naming.Own(r.Metric), true})
	}
	slices.SortFunc(list, func(x, y family) int { return strings.Compare(x.Name, y.Name) })
	p.about()
	for i := range list {
		if err := p.family(&list[i]); err != nil {
			return err
		}
	}
	if p.format == openMetrics {
		p.body.WriteString("# EOF\n")
	}
	return nil
}

// about writes the families about the recording itself, whatever is selected.
func (p *page) about() {
	if a := p.state.Archive; a != nil {
		f := naming.Family{Name: naming.Prefix + "host_info", Type: naming.Info, Help: "The machine and its recording."}
		p.head(&f)
		p.sample(f.Name, []naming.Label{{Name: "arch", Value: a.Host.Arch}, {Name: "archive", Value: a.ID}, {Name: "boot", Value: a.BootID}, {Name: "host", Value: a.Host.Name},
			{Name: "host_id", Value: a.Host.ID}, {Name: "model", Value: a.Host.Model}, {Name: "os", Value: a.Host.OS}, {Name: "recorder", Value: a.Recorder},
			{Name: "release", Value: a.Host.Release}}, 1, metric.Stamp{})
	}
	var latest [metric.NumClasses]int64
	for r := range p.state.Readings() {
		if r.Class < metric.NumClasses {
			latest[r.Class] = max(latest[r.Class], r.Block.At.Wall)
		}
	}
	p.distrusted()
	f := naming.Family{Name: naming.Prefix + "sample_age_seconds", Type: naming.Gauge, Unit: "seconds", Help: "How long ago the values of a class were read."}
	begun := false
	for c, wall := range latest {
		if wall == 0 {
			continue
		}
		if !begun {
			begun = true
			p.head(&f)
		}
		p.sample(f.Name, []naming.Label{{Name: "class", Value: metric.Class(c).String()}}, naming.Scale{Div: 1e9}.Of(float64(p.now.UnixNano()-wall)), metric.Stamp{})
	}
}

// distrusted writes which metrics another source contradicts, since when and why.
func (p *page) distrusted() {
	f := naming.Family{Name: naming.Prefix + "distrusted_since_seconds", Type: naming.Gauge, Unit: "seconds",
		Help: "Since when the values of a metric, or those whose names begin so, are contradicted by another source."}
	for i, d := range p.state.Distrusted {
		if i == 0 {
			p.seen = make(map[string]bool)
			p.head(&f)
		}
		for _, name := range d.Metrics {
			labels := []naming.Label{{Name: "because", Value: d.Because}, {Name: "instance_key", Value: d.Key}, {Name: "instance_name", Value: d.Instance}, {Name: "metric", Value: name}}
			p.once(f.Name, labels, nil, float64(d.From)/1e9, metric.Stamp{})
		}
	}
}

// atLeast is the age below which no reading counts as old, because Prometheus asks seldom.
const atLeast = time.Minute

// family writes the series of a family, if there are any.
func (p *page) family(f *family) error {
	begun := false
	for i := range f.Sources {
		s := &f.Sources[i]
		r, ok := p.state.Lookup(s.Metric)
		if !ok || p.state.Old(&r, p.state.Archive.Intervals[r.Class], atLeast, p.now) || !p.wanted.wants(&f.Family, f.own, r.Metric.Indom) {
			continue
		}
		factor := 1.0
		if s.Times != "" {
			if factor, ok = p.number(s.Times); !ok {
				continue
			}
		}
		scale := s.Scale(r.Metric)
		for _, row := range shown(&r) {
			in, v := r.Block.Rows[row], r.Column.At(r.Metric.Type, row)
			labels, ok := s.Series(r.Metric, in)
			if !ok {
				continue
			}
			x := 1.0
			switch {
			case s.Kind == naming.Failing:
				x = 0
				if v.Miss != metric.Present {
					x = 1
				}
			case v.Miss != metric.Present:
				continue
			case s.Kind == naming.Clock:
				x = float64(r.Block.At.Wall) / 1e9
			case len(s.Texts) > 0:
				labels = p.texts(s.Texts)
			case r.Metric.Type == metric.String:
				labels = append(labels, naming.Label{Name: "value", Value: v.Str})
			default:
				x = scale.Of(naming.Number(v) * factor)
			}
			if !begun {
				if p.written[f.Name] {
					return nil
				}
				begun = true
				p.written[f.Name] = true
				p.seen = make(map[string]bool)
				p.head(&f.Family)
			}
			if p.samples++; p.samples > mostSamples {
				return errMany
			}
			at := metric.Stamp{}
			if p.wanted.timestamps {
				at = r.Block.At
			}
			p.once(f.Name, labels, in, x, at)
		}
	}
	return nil
}

// mostShown bounds the series of owners and of ports that are listened on: a machine may begin a
// thousand containers an hour.
const mostShown = 200

// shown returns the rows of a reading: all, or of these those that have most.
func shown(r *live.Reading) []int {
	rows := make([]int, len(r.Block.Rows))
	for i := range rows {
		rows[i] = i
	}
	if (r.Metric.Indom == "owner" || r.Metric.Indom == "listener") && len(rows) > mostShown {
		of := func(i int) float64 { return r.Column.At(r.Metric.Type, i).Number() } // NaN, for no value, is the least
		slices.SortStableFunc(rows, func(x, y int) int { return cmp.Compare(of(y), of(x)) })
		rows = rows[:mostShown]
		slices.Sort(rows)
	}
	return rows
}

// number returns the value of a metric without instances.
func (p *page) number(name string) (float64, bool) {
	r, ok := p.state.Lookup(name)
	if !ok || len(r.Block.Rows) != 1 {
		return 0, false
	}
	v := r.Column.At(r.Metric.Type, 0)
	return naming.Number(v), v.Miss == metric.Present && v.Type != metric.String
}

// texts returns labels with the texts of metrics as their values.
func (p *page) texts(of []naming.Label) []naming.Label {
	labels := make([]naming.Label, 0, len(of))
	for _, l := range of {
		text := ""
		if r, ok := p.state.Lookup(l.Value); ok && len(r.Block.Rows) == 1 && r.Metric.Type == metric.String {
			text = r.Column.At(metric.String, 0).Str
		}
		labels = append(labels, naming.Label{Name: l.Name, Value: text})
	}
	return labels
}

// head writes the head of a family.
func (p *page) head(f *naming.Family) {
	p.line = f.AppendHead(p.line[:0], p.format == openMetrics)
	p.body.Write(p.line)
}

// once writes a sample. If an earlier sample has the same labels, it adds the key of the
// instance.
func (p *page) once(name string, labels []naming.Label, in *metric.Instance, x float64, at metric.Stamp) {
	p.line = naming.AppendLabels(p.line[:0], labels)
	if p.seen[string(p.line)] {
		if in == nil {
			return
		}
		labels = append(labels, naming.Label{Name: "key", Value: in.Key})
		if p.line = naming.AppendLabels(p.line[:0], labels); p.seen[string(p.line)] {
			return
		}
	}
	p.seen[string(p.line)] = true
	p.sample(name, labels, x, at)
}

func (p *page) sample(name string, labels []naming.Label, x float64, at metric.Stamp) {
	b := append(p.line[:0], name...)
	b = naming.AppendLabels(b, labels)
	b = append(b, ' ')
	switch {
	case math.IsInf(x, 1):
		b = append(b, "+Inf"...)
	default:
		b = strconv.AppendFloat(b, x, 'g', -1, 64)
	}
	if at.Wall != 0 {
		b = append(b, ' ')
		ms := at.Wall / 1e6
		if p.format == openMetrics {
			b = strconv.AppendFloat(b, float64(ms)/1e3, 'f', 3, 64)
		} else {
			b = strconv.AppendInt(b, ms, 10)
		}
	}
	p.line = append(b, '\n')
	p.body.Write(p.line)
}
