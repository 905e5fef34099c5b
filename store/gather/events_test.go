package gather

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

func eventsOf(list []metric.Event) *Events {
	var e Events
	for i := range list {
		e.Add(&list[i])
	}
	return &e
}

func TestEventsComeBackAsTheyWere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var list []metric.Event
	for i := range 12000 {
		at := metric.Stamp{Wall: r.Int64N(math.MaxInt64), Cont: int64(i), Awake: -int64(i)}
		e := metric.Event{At: at, Kind: metric.EventProcessExit, Text: strings.Repeat("a", r.IntN(40))}
		if i%3 == 0 {
			e.Kind, e.Indom, e.Key = metric.EventMount, "volume", fmt.Sprint(i)
		}
		for k := range r.IntN(4) {
			e.Labels = append(e.Labels, metric.Label{Name: fmt.Sprint("l", k), Value: fmt.Sprint(r.Uint64())})
		}
		if i == 1000 { // more than a block
			e.Text = strings.Repeat("long ", eventBlock)
		}
		list = append(list, e)
	}
	var none Events
	if !none.Empty() || none.Memory() != 0 || len(slices.Collect(none.All())) != 0 {
		t.Error("no events are some")
	}
	some := eventsOf(list)
	if got := slices.Collect(some.All()); !reflect.DeepEqual(got, list) {
		t.Error("other events came back")
	}
	for range some.All() {
		break
	}
}

// Most events are ends of processes.
func TestEventsTakeLittleMemory(t *testing.T) {
	var e Events
	n := 20000
	for i := range n {
		key := fmt.Sprintf("%d/%d", i, 2500000+7*i)
		e.Add(&metric.Event{
			At: metric.Stamp{Wall: int64(i) * 1e7, Cont: int64(i) * 1e7, Awake: int64(i) * 1e7}, Kind: metric.EventProcessExit, Indom: "process", Key: key,
			Text: fmt.Sprintf("%06d basename ended: exit 0", i), Labels: []metric.Label{
				{Name: "pid", Value: fmt.Sprint(i)}, {Name: "name", Value: "basename"}, {Name: "status", Value: "0"}, {Name: "how", Value: "exit 0"},
				{Name: "unseen", Value: "1"}, {Name: "start", Value: fmt.Sprintf("2026-11-22T08:47:46.%09dZ", i*48271%999999937)}, {Name: "uid", Value: "0"},
			},
		})
	}
	if each := e.Memory() / int64(n); each > 50 {
		t.Errorf("%d bytes for each event", each)
	}
}
