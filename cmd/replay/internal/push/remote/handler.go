// Package remote implements the two protocols by which Prometheus and similar servers exchange
// samples. They read archives from this program as if they had scraped them (remote read), and
// receive what is recorded (remote write). Names and labels are those of /metrics.
//
// With remote read, PromQL and Grafana work on archives in place, through a Prometheus that
// reads here what it has not scraped itself. Remote write is version 1.0, which Prometheus
// itself, VictoriaMetrics, Mimir and Thanos accept; every series also has the labels host,
// host_id, instance and job. Version 2.0 is not supported: a receiver that knows only 1.0 takes
// a request of 2.0 for an empty one and acknowledges it, so that the sender notices only when
// data is lost.
package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/fields"
	"tachograph/cmd/replay/internal/naming"
	tquery "tachograph/store/query"
)

// Archive is an archive that can be closed.
type Archive interface {
	tquery.Archive
	Close() error
}

// Options say what a Handler serves.
type Options struct {
	// Open opens the archives until the context ends.
	Open func(context.Context) (Archive, error)
	// AtOnce is how many requests are answered at a time; 0: 1. Each takes some 70 bytes of
	// memory for each sample.
	AtOnce int
	// Samples is the most samples of a query that is answered in one piece; 0: 2 million.
	// Answers that are streamed in chunks have no bound.
	Samples int
	// Longest is how long an answer may take; 0: a minute.
	Longest time.Duration
}

// Handler serves POST /api/v1/read.
func Handler(opt Options) http.Handler {
	if opt.AtOnce == 0 {
		opt.AtOnce = 1
	}
	if opt.Samples == 0 {
		opt.Samples = 2_000_000
	}
	if opt.Longest == 0 {
		opt.Longest = time.Minute
	}
	h := &handler{Options: opt, turns: make(chan struct{}, opt.AtOnce)}
	return http.HandlerFunc(h.serve)
}

type handler struct {
	Options
	turns chan struct{}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "remote read is asked with POST", http.StatusMethodNotAllowed)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), h.Longest)
	defer stop()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.Longest + time.Second))
	began, err := h.answer(ctx, w, r)
	if err == nil {
		return
	}
	if began {
		// A client recognises an incomplete stream only by its failure.
		panic(http.ErrAbortHandler)
	}
	status := http.StatusBadRequest
	refused := &unavailable{}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		status, err = http.StatusServiceUnavailable, errors.New("the answer took too long: ask for fewer series or a shorter time")
	case ctx.Err() != nil:
		status = http.StatusServiceUnavailable
	case errors.As(err, &refused):
		status = http.StatusServiceUnavailable
	}
	http.Error(w, visible.Text(err.Error()), status)
}

// unavailable is a failure that the client did not cause.
type unavailable struct{ error }

// answer answers a request; began says that a part of the answer has been written.
func (h *handler) answer(ctx context.Context, w http.ResponseWriter, r *http.Request) (began bool, err error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "snappy") {
		return false, fmt.Errorf("content encoding %s: requests are compressed with snappy", e)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, mostRequest+1))
	if err != nil {
		return false, errors.New("the request has not come whole")
	}
	if len(body) > mostRequest {
		return false, fmt.Errorf("a request of more than %d bytes is too long", mostRequest)
	}
	if body, err = unpack(body); err != nil {
		return false, err
	}
	ask, err := parseRequest(body)
	if err != nil {
		return false, err
	}
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	a, err := h.Open(ctx)
	if err != nil {
		return false, &unavailable{err}
	}
	defer a.Close()
	if ask.chunks {
		return h.stream(ctx, w, a, ask)
	}
	return false, h.whole(ctx, w, a, ask)
}

// whole answers in one piece, which all clients accept.
func (h *handler) whole(ctx context.Context, w http.ResponseWriter, a Archive, ask *request) error {
	// The head of a result is known only when the result is complete. Room is left for it,
	// because most answers have one result, which should not be copied.
	const room = 1 + binary.MaxVarintLen64
	var out, scratch []byte
	left := h.Samples
	for i := range ask.queries {
		result := make([]byte, room, 64<<10)
		err := read(ctx, a, &ask.queries[i], &left, func(labels []naming.Label, samples []sample, coming int) error {
			const atMost = 20 // bytes of a sample
			result = slices.Grow(result, coming*atMost)
			result, scratch = appendSeries(result, scratch, labels, samples)
			return nil
		})
		if err != nil {
			return err
		}
		var head [room]byte
		b := fields.Head(head[:0], 1, len(result)-room)
		begin := room - len(b)
		copy(result[begin:], b)
		if i == 0 {
			out = result[begin:]
		} else {
			out = append(out, result[begin:]...)
		}
	}
	if s2.MaxEncodedLen(len(out)) < 0 {
		return errors.New("the answer is too long: ask for fewer series or a shorter time")
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(s2.EncodeSnappy(nil, out))
	return nil
}

// stream answers series by series.
func (h *handler) stream(ctx context.Context, w http.ResponseWriter, a Archive, ask *request) (began bool, err error) {
	flush := http.NewResponseController(w)
	left := -1
	send := func(frame []byte) error {
		if !began {
			began = true
			w.Header().Set("Content-Type", "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")
		}
		if _, err := w.Write(frame); err != nil {
			return err
		}
		return flush.Flush()
	}
	var frame []byte
	for i := range ask.queries {
		err := read(ctx, a, &ask.queries[i], &left, func(labels []naming.Label, samples []sample, _ int) error {
			for len(samples) > 0 {
				n := min(len(samples), samplesInFrame)
				frame = appendFrame(frame[:0], i, labels, chunksOf(samples[:n]))
				if err := send(frame); err != nil {
					return err
				}
				samples = samples[n:]
			}
			return nil
		})
		if err != nil {
			return began, err
		}
	}
	if !began {
		w.Header().Set("Content-Type", "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")
	}
	return began, nil
}
