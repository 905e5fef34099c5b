package pcpexport

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tachograph/sample/metric"
)

// about describes an instance or an event in JSON.
type about struct {
	Key    string      `json:"key,omitempty"`
	Name   string      `json:"name,omitempty"`
	Indom  string      `json:"indom,omitempty"`
	At     *[3]int64   `json:"at,omitempty"` // wall, awake, continuous
	Labels [][2]string `json:"labels,omitempty"`
}

// quoted begins a text that JSON could not hold unchanged.
const quoted = "\x01"

func text(s string) string {
	if utf8.ValidString(s) && !strings.HasPrefix(s, quoted) {
		return s
	}
	return quoted + strconv.QuoteToASCII(s)
}

func untext(s string) string {
	if q, ok := strings.CutPrefix(s, quoted); ok {
		if plain, err := strconv.Unquote(q); err == nil {
			return plain
		}
	}
	return s
}

func (a *about) labels(list []metric.Label) {
	for _, l := range list {
		a.Labels = append(a.Labels, [2]string{text(l.Name), text(l.Value)})
	}
}

func (a *about) String() string {
	b, _ := json.Marshal(a) // strings and numbers can always be encoded
	return string(b)
}

func (a *about) list() []metric.Label {
	var list []metric.Label
	for _, l := range a.Labels {
		list = append(list, metric.Label{Name: untext(l[0]), Value: untext(l[1])})
	}
	return list
}

func aboutInstance(in *metric.Instance) string {
	a := about{Key: text(in.Key), Name: text(in.Name)}
	a.labels(in.Labels)
	return a.String()
}

// InstanceFrom returns the instance from the JSON about it.
func InstanceFrom(s string) (*metric.Instance, error) {
	var a about
	if err := json.Unmarshal([]byte(s), &a); err != nil {
		return nil, fmt.Errorf("what is said of an instance is no JSON: %w", err)
	}
	return &metric.Instance{Key: untext(a.Key), Name: untext(a.Name), Labels: a.list()}, nil
}

func aboutEvent(e *metric.Event) string {
	a := about{Indom: text(e.Indom), Key: text(e.Key), At: &[3]int64{e.At.Wall, e.At.Awake, e.At.Cont}}
	a.labels(e.Labels)
	return a.String()
}

// EventFrom returns the event from the JSON about it.
func EventFrom(kind, words, s string) (metric.Event, error) {
	e := metric.Event{Kind: metric.EventKind(kind), Text: words}
	var a about
	if err := json.Unmarshal([]byte(s), &a); err != nil {
		return e, fmt.Errorf("what is said of an event is no JSON: %w", err)
	}
	e.Indom, e.Key, e.Labels = untext(a.Indom), untext(a.Key), a.list()
	if a.At != nil {
		e.At = metric.Stamp{Wall: a.At[0], Awake: a.At[1], Cont: a.At[2]}
	}
	return e, nil
}
