package journal

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// TestWords lets programs come and go, and checks that their names are spelled once.
func TestWords(t *testing.T) {
	names := []string{"sh", "true", "cat", "a b", strings.Repeat("long", 20), strings.Repeat("x", maxWord)}
	for i := range 40 {
		names = append(names, "rare"+strings.Repeat("r", i%7)+string(rune('a'+i%26)))
	}
	f := &memFile{}
	w := NewWriter(f, head, nil)
	var want []metric.Event
	size, few := int64(0), int64(0)
	for i := range 600 {
		name := names[i%4]
		if i >= 300 {
			name = names[i%len(names)]
		}
		e := metric.Event{At: metric.Stamp{Wall: int64(i), Awake: 2, Cont: 3}, Kind: metric.EventProcessExit,
			Text: fmt.Sprintf("%06d %s ended: exit 0", i, name), Labels: []metric.Label{{Name: "name", Value: name}}}
		want = append(want, e)
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i >= 200 && i < 300 {
			few += w.Size() - size
		}
		size = w.Size()
	}
	if few > 100*14 {
		t.Errorf("%d bytes for 100 events of four names", few)
	}
	r, err := NewReader(bytes.NewReader(f.data), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*rec.Event, want[i]) {
			t.Fatalf("%+v\nread as\n%+v", want[i], *rec.Event)
		}
	}
}
