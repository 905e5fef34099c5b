// Package scrape serves /metrics: the present values as OpenMetrics or in the older text
// format of Prometheus, with our names and those of node_exporter.
package scrape

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/serve/live"
)

// Present returns the present state: a Hub's Now.
type Present func(context.Context) (*live.State, error)

// Options say what a Handler serves.
type Options struct {
	Present Present
	Now     func() time.Time // nil: time.Now
	// AtOnce is how many scrapes are answered at a time; 0: 4.
	AtOnce int
}

// longest is how long a scrape may take: Prometheus gives up after ten seconds.
const longest = 10 * time.Second

// Handler serves /metrics.
func Handler(opt Options) http.Handler {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.AtOnce == 0 {
		opt.AtOnce = 4
	}
	turns := make(chan struct{}, opt.AtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "metrics are got with GET", http.StatusMethodNotAllowed)
			return
		}
		wanted, err := parseWanted(r.URL.RawQuery)
		if err != nil {
			http.Error(w, visible.Text(err.Error()), http.StatusBadRequest)
			return
		}
		ctx, stop := context.WithTimeout(r.Context(), longest)
		defer stop()
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
			return
		}
		state, err := opt.Present(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			http.Error(w, visible.Text("what is recorded is not known: "+err.Error()), http.StatusServiceUnavailable)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longest))
		format := negotiated(r.Header.Values("Accept"))
		page := &page{format: format, now: opt.Now(), state: state, wanted: wanted}
		if err := page.write(); err != nil {
			http.Error(w, visible.Text(err.Error()), http.StatusBadRequest)
			return
		}
		answer(w, r, format, page.body.Bytes())
	})
}

// answer sends a page, compressed if the client accepts that.
func answer(w http.ResponseWriter, r *http.Request, format format, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentTypes[format])
	h.Set("Vary", "Accept, Accept-Encoding")
	h.Set("Cache-Control", "no-store")
	if takesGzip(r.Header.Get("Accept-Encoding")) {
		var small bytes.Buffer
		z, _ := gzip.NewWriterLevel(&small, gzip.BestSpeed)
		if _, err := z.Write(body); err == nil && z.Close() == nil {
			h.Set("Content-Encoding", "gzip")
			body = small.Bytes()
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body)
	}
}

func takesGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, q, _ := strings.Cut(part, ";")
		if strings.TrimSpace(name) == "gzip" {
			return weight(q) > 0
		}
	}
	return false
}

// format is one of the two text formats.
type format uint8

const (
	plainText   format = iota // 0.0.4
	openMetrics               // 1.0.0
)

var contentTypes = [...]string{"text/plain; version=0.0.4; charset=utf-8", "application/openmetrics-text; version=1.0.0; charset=utf-8"}

// negotiated returns the format that the client prefers; OpenMetrics if it likes both equally.
func negotiated(accept []string) format {
	best, chosen := 0.0, plainText
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, parameters, _ := strings.Cut(part, ";")
		f := plainText
		switch strings.TrimSpace(kind) {
		case "application/openmetrics-text":
			version := parameter(parameters, "version")
			if version != "" && version != "1.0.0" && version != "0.0.1" {
				continue
			}
			f = openMetrics
		case "text/plain", "text/*", "*/*":
		default:
			continue
		}
		if q := weight(parameters); q > best || q == best && q > 0 && f == openMetrics {
			best, chosen = q, f
		}
	}
	return chosen
}

// weight returns the q of a part of an Accept header, 1 if there is none.
func weight(parameters string) float64 {
	text := parameter(parameters, "q")
	if text == "" {
		return 1
	}
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}

func parameter(parameters, name string) string {
	for p := range strings.SplitSeq(parameters, ";") {
		if key, value, _ := strings.Cut(p, "="); strings.EqualFold(strings.TrimSpace(key), name) {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

var errMany = errors.New("too many series: ask for fewer families with name[], or leave out collect[]=process")

// tooLong returns the error for a text too long to be a name.
func tooLong(s string) error {
	return fmt.Errorf("a name of %d bytes is too long", len(s))
}
