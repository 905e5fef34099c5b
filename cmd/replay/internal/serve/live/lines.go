package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"tachograph/api/client"
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/status"
)

// A line is one line of ServeHTTP's answer: a new value or, with Snapshot, one that was read
// before and still holds; an instance that is gone; an event; an error; or the position. Time is
// when the value was read.
type line struct {
	Time     string            `json:"time,omitempty"`
	Metric   string            `json:"metric,omitempty"`
	Instance string            `json:"instance,omitempty"`
	Key      string            `json:"key,omitempty"`
	Value    any               `json:"value,omitempty"`
	Absent   string            `json:"absent,omitempty"`
	Gone     bool              `json:"gone,omitempty"`
	Snapshot bool              `json:"snapshot,omitempty"`
	Event    string            `json:"event,omitempty"`
	Text     string            `json:"text,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Lost     string            `json:"lost,omitempty"`
	Merged   uint32            `json:"merged,omitempty"`
	Position string            `json:"position,omitempty"`
	Error    string            `json:"error,omitempty"`
	Code     string            `json:"code,omitempty"`
}

// decoded is the memory that a stream takes if its frames are decoded here.
var decoded = cost{row: 400, cell: 64}

// ServeHTTP answers like Subscribe, in lines of JSON for clients that have only curl:
// /v1/subscribe?metrics=disk.dev&instances=sda&interval=10s. Each frame ends with its position.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "ask for this with GET", http.StatusMethodNotAllowed)
		return
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	req, err := readQuery(r.URL.Query())
	begun := false
	var wrote time.Time
	if err == nil {
		req.ExactTimes = true
		io.Copy(io.Discard, r.Body) // net/http notices a client's leaving only after the body was read
		var dec client.Decoder
		err = p.stream(r.Context(), req, decoded, func(m *tachographv1.SubscribeResponse) error {
			if !begun {
				begun = true
				w.Header().Set("Content-Type", "application/x-ndjson")
				w.Header().Set("X-Content-Type-Options", "nosniff")
			}
			f, err := dec.Add(m)
			if err != nil || f == nil {
				return err
			}
			if quiet(f) && time.Since(wrote) < ordinaryBeat {
				return nil // a reading that changed nothing
			}
			wrote = time.Now()
			for l := range lines(f) {
				if err := out.Encode(&l); err != nil {
					return err
				}
			}
			return http.NewResponseController(w).Flush()
		})
	}
	if r.Context().Err() != nil {
		return
	}
	l := line{Error: err.Error(), Code: connect.CodeOf(err).String()}
	var told *connect.Error
	if errors.As(err, &told) {
		l.Error = told.Message()
	}
	if !begun {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(status.HTTP(connect.CodeOf(err)))
	}
	_ = out.Encode(&l)
}

// readQuery parses the parameters of a request.
func readQuery(q url.Values) (*tachographv1.SubscribeRequest, error) {
	req := &tachographv1.SubscribeRequest{Selection: new(tachographv1.Selection)}
	for name, list := range q {
		last := list[len(list)-1]
		var err error
		switch name {
		case "metrics":
			req.Selection.Metrics = list
		case "categories":
			req.Selection.Categories = list
		case "instances":
			req.Selection.Instances = list
		case "position":
			req.Position = last
		case "interval":
			var d time.Duration
			if d, err = time.ParseDuration(last); err == nil {
				req.Interval = durationpb.New(d)
			}
		case "events":
			req.Events = last != "0"
		case "process_events":
			req.ProcessEvents = last != "0"
		default:
			err = errors.New("there are metrics, categories, instances (each as often as need be), interval, position, events and process_events")
		}
		if err != nil {
			return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("%.60q: %w", name, err))
		}
	}
	return req, nil
}

// quiet reports whether a frame has nothing but a position.
func quiet(f *client.Frame) bool {
	return !f.Snapshot && f.Merged == 0 &&
		len(f.Errors)+len(f.Lost)+len(f.Events)+len(f.Tables)+len(f.Gone)+len(f.Appeared)+len(f.Changes) == 0
}

// lines yields the lines of a frame. It keeps none: a slow client takes them one by one.
func lines(f *client.Frame) iter.Seq[line] {
	return func(yield func(line) bool) {
		more := true
		tell := func(l line) {
			more = more && yield(l)
		}
		at := make(map[*client.Table]time.Time)
		for _, r := range f.Readings {
			at[r.Table] = r.Time
		}
		for _, e := range f.Errors {
			tell(line{Metric: e.Item, Error: e.Message, Code: connect.Code(e.Code).String()})
		}
		for _, l := range f.Lost {
			tell(line{Lost: l})
		}
		for _, e := range f.Events {
			l := line{Time: e.Time.AsTime().Format(time.RFC3339Nano), Event: e.Kind, Text: e.Text, Key: e.InstanceKey, Labels: make(map[string]string)}
			for _, label := range e.Labels {
				l.Labels[label.Name] = label.Value
			}
			tell(l)
		}
		for _, t := range f.Tables {
			for i := range t.Metrics {
				if t.Absent != "" {
					tell(line{Metric: t.Metrics[i].Name, Absent: t.Absent})
				}
			}
		}
		value := func(r *client.Row, i int, gone bool) {
			m, v := &r.Table.Metrics[i], r.Values[i]
			read, ok := at[r.Table]
			if !ok {
				read = f.Time
			}
			l := line{Time: read.UTC().Format(time.RFC3339Nano), Metric: m.Name, Instance: r.Instance.GetName(), Key: r.Instance.GetKey(),
				Absent: v.Absent, Gone: gone, Snapshot: f.Snapshot}
			if v.Absent == "" && !gone {
				l.Value = shownValue(m, v)
			}
			tell(l)
		}
		for _, r := range f.Gone {
			for i := range r.Values {
				value(r, i, true)
			}
		}
		appeared := make(map[*client.Row]bool)
		for _, r := range f.Appeared {
			appeared[r] = true
			for i := range r.Values {
				value(r, i, false) // a value of 0 has not changed
			}
		}
		for _, c := range f.Changes {
			if !appeared[c.Row] {
				value(c.Row, c.Metric, false)
			}
		}
		tell(line{Position: f.Position, Merged: f.Merged})
	}
}

// shownValue returns a value for JSON: strings, NaN and infinities become text.
func shownValue(m *client.Metric, v client.Value) any {
	if x := m.Number(v); m.Type == tachographv1.Type_TYPE_STRING || math.IsNaN(x) || math.IsInf(x, 0) {
		return m.Format(v)
	}
	return json.Number(m.Format(v))
}
