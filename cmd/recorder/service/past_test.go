package service

import (
	"log/slog"
	"path/filepath"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/storetest/proof"
)

// How the last run ended is known by the clock that is never set: the wall clock
// stood highest in the middle of it.
func TestPastOfAClockThatWasSetBack(t *testing.T) {
	const second, day = int64(1e9), int64(86400e9)
	dir := t.TempDir()
	b := proof.NewBuilder(t, filepath.Join(dir, "host-20261121T000000Z--20261122T000000Z.tacho"))
	g := &metric.Group{Name: "g", Metrics: []*metric.Desc{{Name: "kernel.all.running", Type: metric.U64, Sem: metric.Instant, Class: metric.Fast}}}
	at := metric.Stamp{Wall: 1_790_000_000e9, Cont: 100e9, Awake: 100e9}
	tick := func() {
		block := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{1}}}}
		b.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{block}})
	}
	pass := func(set int64) {
		at = metric.Stamp{Wall: at.Wall + second + set, Cont: at.Cont + second, Awake: at.Awake + second}
		tick()
	}
	for i := range 30 {
		switch i {
		case 10:
			pass(day)
		case 20:
			pass(-day)
			b.Seal(nil)
		default:
			pass(0)
		}
	}
	b.Seal([]metric.Event{{At: at, Kind: metric.EventStop}})
	b.Close()
	past := lookBack(dir, slog.New(slog.DiscardHandler))
	if past.Last != at || !past.Clean {
		t.Errorf("the last run ended at %+v, cleanly: %v; want %+v", past.Last, past.Clean, at)
	}
}

// The last values of settings are remembered, those of one machine alone.
func TestPastOfSettings(t *testing.T) {
	dir := t.TempDir()
	b := proof.NewBuilder(t, filepath.Join(dir, "host-20261121T000000Z--20261122T000000Z.tacho"))
	setting := func(name, indom string) *metric.Desc {
		return &metric.Desc{Name: name, Indom: indom, Type: metric.U64, Sem: metric.Discrete, Class: metric.Constrained}
	}
	settings := &metric.Group{Name: "s", Metrics: []*metric.Desc{setting("vm.swappiness", ""), setting("hinv.ninterface", ""), {Name: "kern.num_files", Type: metric.U64, Class: metric.Constrained}}}
	device := &metric.Group{Name: "d", Indom: "disk", Metrics: []*metric.Desc{setting("disk.dev.capacity", "disk")}}
	for i, swappiness := range []uint64{60, 10} {
		at := metric.Stamp{Wall: 1_790_000_000e9 + int64(i)*600e9, Cont: 100e9 + int64(i)*600e9, Awake: 100e9 + int64(i)*600e9}
		b.Append(&metric.Tick{Class: metric.Constrained, At: at, Blocks: []*metric.Block{
			{Group: settings, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{swappiness}}, {Bits: []uint64{3}}, {Bits: []uint64{5}}}},
			{Group: device, At: at, Rows: []*metric.Instance{{Key: "sda", Name: "sda"}}, Cols: []metric.Column{{Bits: []uint64{7}}}},
		}})
	}
	b.Seal(nil)
	b.Close()
	past := lookBack(dir, slog.New(slog.DiscardHandler))
	if v := past.Settings["vm.swappiness"]; len(past.Settings) != 1 || v.Bits != 10 {
		t.Errorf("%+v", past.Settings)
	}
}
