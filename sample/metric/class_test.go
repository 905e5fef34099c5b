package metric

import (
	"encoding/json"
	"testing"
	"time"
)

// Archives contain the JSON form.
func TestIntervalsInJSON(t *testing.T) {
	const text = `{"fast":1000000000,"static":9223372036854775807}`
	iv := Intervals{Static: Once, Fast: time.Second}
	if b, err := json.Marshal(iv); err != nil || string(b) != text {
		t.Errorf("%s, %v", b, err)
	}
	if b, err := json.Marshal(Intervals{}); err != nil || string(b) != "{}" {
		t.Errorf("none: %s, %v", b, err)
	}
	// Another program may have other classes.
	got := Intervals{Polled: time.Second}
	if err := json.Unmarshal([]byte(`{"hourly":1,`+text[1:]), &got); err != nil || got != iv {
		t.Errorf("%v, %v", got, err)
	}
	if json.Unmarshal([]byte(`["fast"]`), &got) == nil {
		t.Error("a list is taken for intervals")
	}
}
