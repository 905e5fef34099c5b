package chunk

import (
	"errors"

	"tachograph/sample/metric"
)

// Times are three clocks over ticks: the wall clock, the continuous clock minus the wall clock,
// the awake clock minus the continuous one. The blocks of a group have the same three, as
// series of differences to the times of their ticks.

var errTimes = errors.New("a part with times contradicts itself")

// plainSeries codes n numbers as a series of their own.
func (e *encoder) plainSeries(m *seriesModel, n int, value func(i int) int64) {
	at := make([]uint32, 0, n)
	vals := make([]uint64, 0, n)
	for i := range n {
		if v := uint64(value(i)); i == 0 || v != vals[len(vals)-1] {
			at = append(at, uint32(i))
			vals = append(vals, v)
		}
	}
	if n > 0 {
		m.init(false)
		e.series(m, at, vals, uint32(n), nil, nil)
	}
}

func noOther(*reference, uint32) (*Series, error) { return nil, errReference }

func (d *decoder) plainSeries(m *seriesModel, s *Series, n int, value func(i int, v int64)) error {
	m.init(false)
	if err := s.decode(d, m, uint32(n), nil, nil, noOther, wholeSeries); err != nil {
		return err
	}
	k := 0
	for i := range n {
		if k+1 < len(s.At) && s.At[k+1] == uint32(i) {
			k++
		}
		value(i, int64(s.Bits[k]))
	}
	return nil
}

// encodeBlocks writes which ticks have a block of a group and when it was read. The usual case,
// a block in every tick with the tick's own stamp, is an empty part.
func encodeBlocks(out []byte, ticks []metric.Stamp, at []blockAt) []byte {
	same := len(at) == len(ticks)
	for _, b := range at {
		same = same && b.at == ticks[b.tick]
	}
	if same {
		return out
	}
	var e encoder
	e.begin(append(out, 1))
	var m seriesModel
	e.plainSeries(&m, len(at), func(i int) int64 { return int64(at[i].tick) - int64(i) })
	e.plainSeries(&m, len(at), func(i int) int64 { return at[i].at.Wall - ticks[at[i].tick].Wall })
	e.plainSeries(&m, len(at), func(i int) int64 {
		t := &ticks[at[i].tick]
		return at[i].at.Cont - t.Cont - (at[i].at.Wall - t.Wall)
	})
	e.plainSeries(&m, len(at), func(i int) int64 {
		t := &ticks[at[i].tick]
		return at[i].at.Awake - t.Awake - (at[i].at.Cont - t.Cont)
	})
	return e.end()
}

func decodeBlocks(in []byte, ticks []metric.Stamp, n int) ([]blockAt, error) {
	at := make([]blockAt, n)
	if len(in) == 0 {
		if n != len(ticks) {
			return nil, errTimes
		}
		for i := range at {
			at[i] = blockAt{uint32(i), ticks[i]}
		}
		return at, nil
	}
	var d decoder
	d.begin(in[1:])
	var m seriesModel
	var s Series
	bad := false
	prev := int64(-1)
	err := d.plainSeries(&m, &s, n, func(i int, v int64) {
		tick := v + int64(i)
		if tick <= prev || tick >= int64(len(ticks)) {
			bad = true
			return
		}
		prev = tick
		at[i].tick = uint32(tick)
	})
	if bad || err != nil {
		return nil, errTimes
	}
	for _, value := range []func(b *metric.Stamp, t *metric.Stamp, v int64){
		func(b, t *metric.Stamp, v int64) { b.Wall = t.Wall + v },
		func(b, t *metric.Stamp, v int64) { b.Cont = t.Cont + v + (b.Wall - t.Wall) },
		func(b, t *metric.Stamp, v int64) { b.Awake = t.Awake + v + (b.Cont - t.Cont) },
	} {
		err := d.plainSeries(&m, &s, n, func(i int, v int64) { value(&at[i].at, &ticks[at[i].tick], v) })
		if err != nil {
			return nil, errTimes
		}
	}
	return at, nil
}
