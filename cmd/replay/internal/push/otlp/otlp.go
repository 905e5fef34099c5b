// Package otlp pushes recordings by OTLP over HTTP to collectors of OpenTelemetry, as
// protobuf compressed with gzip.
//
// Each metric keeps its own name after the prefix "tachograph.". A metric that a semantic
// convention for systems describes exactly also has that name. Values are in base units. A
// counter is a monotonic cumulative sum since boot, everything else is a gauge. A text is
// a gauge of 1 with the text in the attribute value. A point without a value ends a series.
//
// OTLP does not recognise duplicates: a batch that was sent and not acknowledged is sent
// again with the same times.
package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/fields"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/cmd/replay/internal/push"
	"tachograph/cmd/replay/internal/samples"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// Options say what is pushed.
type Options struct {
	// Processes is how many process names have totals; 0: none.
	Processes int
	// Computed also pushes the metrics that are computed from recorded ones.
	Computed bool
}

// Service is the attribute service.name.
const Service = "tachograph"

// A Sink pushes to an endpoint.
type Sink struct {
	to       *push.Endpoint
	opt      Options
	maker    *samples.Maker
	info     *archive.Info
	boot     string
	start    uint64 // of counters, in nanoseconds since 1970
	resource []byte
}

// New makes a sink.
func New(to *push.Endpoint, opt Options) *Sink {
	return &Sink{to: to, opt: opt, maker: newMaker(opt)}
}

func newMaker(opt Options) *samples.Maker {
	return samples.New(samples.Scheme{Own: own, Named: named, Labels: labels, Processes: opt.Processes, Computed: opt.Computed})
}

var header = http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"gzip"}}

// Prepare checks with an empty request that the receiver answers.
func (s *Sink) Prepare(ctx context.Context) error { return s.to.Try(ctx, header, packed(nil)) }

// Wants reports whether values of the instances of a domain are pushed.
func (s *Sink) Wants(indom string) bool { return s.maker.Wants(indom) }

// Standing takes the standing values.
func (s *Sink) Standing(it *archive.Item) error {
	if it.Tick != nil {
		s.begin(it.Archive, it.Tick.At)
		s.maker.Standing(it.Archive, it.Tick)
	}
	return nil
}

// begin prepares for the metrics of an archive.
func (s *Sink) begin(info *archive.Info, at metric.Stamp) {
	if info == s.info {
		return
	}
	if s.info == nil || s.info.Host.ID != info.Host.ID {
		s.maker = newMaker(s.opt)
	}
	s.info = info
	if s.boot != info.BootID {
		// To the second, because clocks are corrected a little all the time.
		s.boot, s.start = info.BootID, uint64(max((at.Wall-at.Cont+5e8)/1e9*1e9, 0))
	}
	var b []byte
	h := &info.Host
	for _, l := range []naming.Label{
		{Name: "service.name", Value: Service}, {Name: "service.version", Value: info.Recorder},
		{Name: "host.name", Value: h.Name}, {Name: "host.id", Value: h.ID}, {Name: "host.arch", Value: h.Arch}, {Name: "host.type", Value: h.Model},
		{Name: "os.type", Value: strings.ToLower(h.OS)}, {Name: "os.name", Value: h.Platform}, {Name: "os.version", Value: h.Release},
	} {
		if l.Value != "" {
			b = fields.Bytes(b, 1, attribute(nil, l))
		}
	}
	s.resource = fields.Bytes(nil, 1, b)
}

// attribute appends a KeyValue.
func attribute(b []byte, l naming.Label) []byte {
	value := fields.Bytes(nil, 1, strings.ToValidUTF8(l.Value, "\uFFFD"))
	return fields.Bytes(fields.Bytes(b, 1, l.Name), 2, value)
}

// NewBatch begins a request.
func (s *Sink) NewBatch(push.BatchID) push.Batch { return &batch{sink: s} }

// batch is a request that is being made, and then sent.
type batch struct {
	sink   *Sink
	series []*samples.Series
	values int
	start  uint64
	// head is what comes before the metrics: the resource.
	head    []byte
	metrics [][]byte
	packed  []byte
}

// Add makes points from a tick.
func (b *batch) Add(it *archive.Item) error {
	if it.Tick != nil {
		b.sink.begin(it.Archive, it.Tick.At)
		b.head, b.start = b.sink.resource, b.sink.start
		b.sink.maker.Tick(it.Archive, it.Tick, b)
	} else if it.Event != nil {
		b.sink.maker.Event(it.Archive, it.Event)
	}
	return nil
}

// noValue is the flag of a point that says that there is no value any more.
const noValue = 1

// Sample adds a point to a metric.
func (b *batch) Sample(s *samples.Series, at int64, value samples.Value) {
	if len(s.Body) == 0 {
		if s.Head == nil {
			s.Head = []byte{}
			for _, l := range s.Labels {
				s.Head = fields.Bytes(s.Head, 7, attribute(nil, l))
			}
		}
		b.series = append(b.series, s)
	}
	b.values++
	var room [64]byte
	point := room[:0]
	if s.Family.Type == naming.Counter {
		point = fields.Fixed64(point, 2, b.start)
	}
	point = fields.Fixed64(point, 3, uint64(at))
	switch {
	case math.Float64bits(value.Float) == math.Float64bits(samples.Stale):
		point = fields.Uint(point, 8, noValue)
	case value.Whole:
		point = fields.Fixed64(point, 6, uint64(value.Int))
	default:
		point = fields.Double(point, 4, value.Float)
	}
	s.Body = fields.Head(s.Body, 1, len(point)+len(s.Head))
	s.Body = append(append(s.Body, point...), s.Head...)
}

// Size encodes the request and returns its size.
func (b *batch) Size() (values, size int) {
	if len(b.series) > 0 {
		b.finish()
	}
	return b.values, len(b.packed)
}

// finish makes a metric of each family.
func (b *batch) finish() {
	slices.SortStableFunc(b.series, func(x, y *samples.Series) int { return cmp.Compare(x.Family.Name, y.Family.Name) })
	for len(b.series) > 0 {
		n, size := 0, 0
		first := b.series[0].Family
		for n < len(b.series) && b.series[n].Family.Name == first.Name {
			size += len(b.series[n].Body)
			n++
		}
		points := make([]byte, 0, size+8)
		for _, s := range b.series[:n] {
			points = append(points, s.Body...)
			s.Body = s.Body[:0]
		}
		b.metrics = append(b.metrics, metricOf(first, points))
		b.series = b.series[n:]
	}
	b.packed = packed(b.request(0, len(b.metrics)))
}

// metricOf returns a Metric with these points.
func metricOf(f *naming.Family, points []byte) []byte {
	m := fields.Bytes(fields.Bytes(nil, 1, f.Name), 2, f.Help)
	m = fields.Bytes(m, 3, ucum(f.Unit))
	if f.Type != naming.Counter {
		return fields.Bytes(m, 5, points)
	}
	const cumulative = 2
	points = fields.Uint(fields.Uint(points, 2, cumulative), 3, 1)
	return fields.Bytes(m, 7, points)
}

// request returns an ExportMetricsServiceRequest with some of the metrics.
func (b *batch) request(from, to int) []byte {
	scope := fields.Bytes(fields.Bytes(nil, 1, "tachograph"), 2, sample.Version())
	of := fields.Bytes(nil, 1, scope)
	for _, m := range b.metrics[from:to] {
		of = fields.Bytes(of, 2, m)
	}
	return fields.Bytes(nil, 1, fields.Bytes(slices.Clone(b.head), 2, of))
}

func packed(b []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// Send sends the request, in parts if it is too large.
func (b *batch) Send(ctx context.Context) error {
	rejected, err := b.send(ctx, 0, len(b.metrics), b.packed)
	if err != nil {
		return err
	}
	if rejected.n > 0 {
		return &push.Partial{Values: min(rejected.n, b.values), Err: rejected.err}
	}
	return nil
}

// rejection is how many points were rejected, and why.
type rejection struct {
	n   int
	err error
}

func (b *batch) send(ctx context.Context, from, to int, body []byte) (rejection, error) {
	answer, err := b.sink.to.Post(ctx, nil, header, body)
	if err != nil {
		return rejection{}, err
	}
	if answer.Status == http.StatusRequestEntityTooLarge && to-from > 1 {
		middle := (from + to) / 2
		left, err := b.send(ctx, from, middle, packed(b.request(from, middle)))
		if err != nil {
			return left, err
		}
		right, err := b.send(ctx, middle, to, packed(b.request(middle, to)))
		right.n += left.n
		if left.err != nil {
			right.err = left.err
		}
		return right, err
	}
	if err := answer.Err(); err != nil {
		return rejection{}, err
	}
	return partial(answer.Body), nil
}

// partial returns the rejected points that an ExportMetricsServiceResponse reports.
func partial(body []byte) rejection {
	var rejected int
	text := "it gives no reason"
	err := fields.Each(body, func(field protowire.Number, success []byte, _ uint64) error {
		if field != 1 || success == nil {
			return nil
		}
		return fields.Each(success, func(field protowire.Number, message []byte, number uint64) error {
			switch {
			case field == 1 && int64(number) > 0:
				rejected = int(min(number, math.MaxInt32))
			case field == 2 && len(message) > 0:
				text = visible.Text(strings.ToValidUTF8(string(message[:min(len(message), 300)]), "?"))
			}
			return nil
		})
	})
	if err != nil || rejected == 0 {
		return rejection{}
	}
	return rejection{rejected, fmt.Errorf("points were rejected: %s", text)}
}
