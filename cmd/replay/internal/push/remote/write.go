package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"tachograph/cmd/replay/internal/fields"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/cmd/replay/internal/push"
	"tachograph/cmd/replay/internal/samples"
	"tachograph/store/archive"
)

// SinkOptions say what is pushed, and under which names.
type SinkOptions struct {
	// Processes is how many process names have totals; 0: none.
	Processes int
	// Own and Node select the metrics' names: our own, and those of node_exporter.
	Own, Node bool
	// Computed also pushes the metrics that are computed from recorded ones.
	Computed bool
	// Labels are added to every series.
	Labels []naming.Label
}

// Job is the label job of every series.
const Job = "tachograph"

// A Sink pushes to an endpoint by remote write.
type Sink struct {
	to    *push.Endpoint
	opt   SinkOptions
	maker *samples.Maker
	info  *archive.Info
	// fixed are the labels that all series of the host have, sorted.
	fixed []naming.Label
}

// NewSink makes a sink.
func NewSink(to *push.Endpoint, opt SinkOptions) *Sink {
	return &Sink{to: to, opt: opt, maker: samples.New(scheme(opt))}
}

// millisecond is the unit of times in remote write.
const millisecond = int64(time.Millisecond)

func scheme(opt SinkOptions) samples.Scheme {
	s := samples.Scheme{Processes: opt.Processes, Computed: opt.Computed && opt.Own, About: opt.Own, Step: millisecond}
	if opt.Own {
		s.Own = samples.OwnNames
	} else {
		s.Own = samples.NoNames
	}
	if opt.Node {
		s.Named = naming.Node
	}
	return s
}

// Prepare checks with an empty request that the receiver answers.
func (s *Sink) Prepare(ctx context.Context) error {
	return s.to.Try(ctx, header, s2.EncodeSnappy(nil, nil))
}

// Wants reports whether values of the instances of a domain are pushed.
func (s *Sink) Wants(indom string) bool { return s.maker.Wants(indom) }

// Standing takes the standing values.
func (s *Sink) Standing(it *archive.Item) error {
	if it.Tick != nil {
		s.begin(it.Archive)
		s.maker.Standing(it.Archive, it.Tick)
	}
	return nil
}

// begin prepares for the series of an archive.
func (s *Sink) begin(info *archive.Info) {
	if info == s.info {
		return
	}
	if s.info == nil || s.info.Host.ID != info.Host.ID {
		s.maker = samples.New(scheme(s.opt))
	}
	s.info = info
	s.fixed = slices.Clone(s.opt.Labels)
	for _, l := range []naming.Label{{Name: "host", Value: info.Host.Name}, {Name: "host_id", Value: info.Host.ID}, {Name: "instance", Value: info.Host.Name}, {Name: "job", Value: Job}} {
		if !slices.ContainsFunc(s.fixed, func(have naming.Label) bool { return have.Name == l.Name }) {
			s.fixed = append(s.fixed, l)
		}
	}
}

// NewBatch begins a request.
func (s *Sink) NewBatch(id push.BatchID) push.Batch {
	return &batch{sink: s, again: id.Again}
}

// batch is a request that is being made, and then sent.
type batch struct {
	sink   *Sink
	again  bool // the receiver may already have it
	series []*samples.Series
	values int
	raw    []byte
	packed []byte
	starts []int // of the series in raw
}

// Add makes samples from a tick.
func (b *batch) Add(it *archive.Item) error {
	if it.Tick != nil {
		b.sink.begin(it.Archive)
		b.sink.maker.Tick(it.Archive, it.Tick, b)
	} else if it.Event != nil {
		b.sink.begin(it.Archive)
		b.sink.maker.Event(it.Archive, it.Event)
	}
	return nil
}

// Sample adds a sample to a series.
func (b *batch) Sample(s *samples.Series, at int64, value samples.Value) {
	if len(s.Body) == 0 {
		if s.Head == nil {
			s.Head = b.sink.head(s)
		}
		b.series = append(b.series, s)
	}
	b.values++
	// The parts of a sample are short: its length is one byte, and so are the tags.
	body := s.Body
	n := len(body)
	body = fields.Double(fields.Head(body, 2, 0), 1, value.Float)
	body = fields.Uint(body, 2, uint64(at/millisecond))
	body[n+1] = byte(len(body) - n - 2)
	s.Body = body
}

// head returns the labels of a series, encoded for a request.
func (s *Sink) head(one *samples.Series) []byte {
	labels := make([]naming.Label, 0, len(one.Labels)+len(s.fixed)+1)
	for _, l := range one.Labels {
		if slices.ContainsFunc(s.fixed, func(f naming.Label) bool { return f.Name == l.Name }) {
			l.Name = "exported_" + l.Name // as Prometheus does it
		}
		labels = append(labels, l)
	}
	labels = append(append(labels, s.fixed...), naming.Label{Name: nameLabel, Value: one.Family.Name})
	labels = slices.DeleteFunc(labels, func(l naming.Label) bool { return l.Value == "" })
	slices.SortFunc(labels, func(x, y naming.Label) int { return cmp.Compare(x.Name, y.Name) })
	return appendLabels(nil, labels)
}

// Size encodes the request and returns its size.
func (b *batch) Size() (values, size int) {
	if len(b.series) > 0 {
		b.finish()
	}
	return b.values, len(b.packed)
}

func (b *batch) finish() {
	size := 0
	for _, s := range b.series {
		size += len(s.Head) + len(s.Body) + 8
	}
	b.raw = make([]byte, 0, size)
	b.starts = make([]int, 0, len(b.series)+1)
	for _, s := range b.series {
		b.starts = append(b.starts, len(b.raw))
		b.raw = fields.Head(b.raw, 1, len(s.Head)+len(s.Body))
		b.raw = append(append(b.raw, s.Head...), s.Body...)
		s.Body = s.Body[:0]
	}
	b.starts = append(b.starts, len(b.raw))
	b.series = nil
	b.packed = s2.EncodeSnappy(nil, b.raw)
}

// Send sends the request. If it is refused as a whole because of some of its samples, the others
// are saved.
func (b *batch) Send(ctx context.Context) error {
	first := len(b.starts) - 1
	refused, err := b.send(ctx, 0, first, 0)
	if err != nil {
		return err
	}
	if refused.values == 0 {
		return nil
	}
	if refused.values >= b.values {
		return &push.Refused{Err: refused.err}
	}
	return &push.Partial{Values: refused.values, Err: refused.err}
}

// refusal is how many values were refused, and why.
type refusal struct {
	values int
	err    error
}

// deepest is how often a request is halved to isolate a bad sample.
const deepest = 8

// send sends the series from from to to, in halves if all together are refused.
func (b *batch) send(ctx context.Context, from, to, depth int) (refusal, error) {
	answer, err := b.post(ctx, from, to)
	if err != nil {
		b.again = true // it may have arrived
		return refusal{}, err
	}
	err = answer.Err()
	var refused *push.Refused
	if err == nil || !errors.As(err, &refused) {
		if err != nil && answer.Status >= 500 {
			b.again = true
		}
		return refusal{}, err
	}
	text := strings.ToLower(string(answer.Body))
	switch {
	case b.again && taken(text) && (to-from == 1 || depth == deepest):
		// The receiver had acknowledged it, but the acknowledgement was lost. Once the request
		// is in halves, each is sent as usual, because some of these may have been refused
		// alone.
		return refusal{}, nil
	case to-from > 1 && depth < deepest && (answer.Status == http.StatusRequestEntityTooLarge || answer.Status == http.StatusBadRequest || b.again && taken(text)):
		middle := (from + to) / 2
		left, err := b.send(ctx, from, middle, depth+1)
		if err != nil {
			return left, err
		}
		right, err := b.send(ctx, middle, to, depth+1)
		right.values += left.values
		if left.err != nil {
			right.err = left.err
		}
		return right, err
	}
	return refusal{b.count(from, to), explained(text, refused.Err)}, nil
}

// taken reports whether a receiver says that it already has these samples.
func taken(text string) bool {
	return strings.Contains(text, "duplicate") || strings.Contains(text, "out of order") || strings.Contains(text, "out-of-order")
}

// explained adds the remedy to a receiver's error about old samples.
func explained(text string, err error) error {
	if taken(text) || strings.Contains(text, "out of bounds") || strings.Contains(text, "too old") || strings.Contains(text, "too far in the past") {
		return fmt.Errorf("%w (it takes nothing this old: set storage.tsdb.out_of_order_time_window in its configuration, or bring it the past by `replay export --format openmetrics` and promtool tsdb create-blocks-from openmetrics)", err)
	}
	return err
}

func (b *batch) post(ctx context.Context, from, to int) (*push.Answer, error) {
	packed := b.packed
	if from != 0 || to != len(b.starts)-1 {
		packed = s2.EncodeSnappy(nil, b.raw[b.starts[from]:b.starts[to]])
	}
	return b.sink.to.Post(ctx, nil, header, packed)
}

var header = http.Header{
	"Content-Type":                      {"application/x-protobuf"},
	"Content-Encoding":                  {"snappy"},
	"X-Prometheus-Remote-Write-Version": {"0.1.0"},
}

// count counts the samples of some series.
func (b *batch) count(from, to int) (n int) {
	raw := b.raw[b.starts[from]:b.starts[to]]
	// The batch has written these itself, so nothing is malformed.
	_ = fields.Each(raw, func(_ protowire.Number, series []byte, _ uint64) error {
		return fields.Each(series, func(field protowire.Number, _ []byte, _ uint64) error {
			if field == 2 {
				n++
			}
			return nil
		})
	})
	return n
}
