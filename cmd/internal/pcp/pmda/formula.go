package pmda

import (
	"math"
	"sync"

	"tachograph/cmd/internal/computed"
	"tachograph/sample/demand"
	"tachograph/sample/metric"
	"tachograph/sample/probe"
)

// formula computes a metric from the last two readings of its inputs.
type formula struct {
	computed.Formula

	mu sync.Mutex
	// before and now are the inputs' values of the last two readings: a formula uses no older
	// ones.
	before, now []probe.Value
	block       *metric.Block
	why         metric.Reason
}

// onlyOne is why a metric that needs two readings has no value yet.
var onlyOne = metric.ReasonFor("it is computed from two readings, and there is only one yet")

// compute returns the block of f, whose inputs must have been read, or the reason why there is
// none.
func (f *formula) compute(r *demand.Reading) (*metric.Block, metric.Reason) {
	at, inputs, why := f.inputs(r)
	if inputs == nil {
		return nil, why
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.now) > 0 && youngest(inputs) <= youngest(f.now) {
		return f.block, f.why // another request has computed it meanwhile, or just before
	}
	f.before, f.now = f.now, inputs
	f.block, f.why = nil, metric.Unsupported
	if f.Twice && f.before == nil {
		f.why = onlyOne
		return nil, f.why
	}
	b := &metric.Block{Group: &metric.Group{Name: f.Desc.Name, Indom: f.Desc.Indom, Metrics: []*metric.Desc{f.Desc}}, At: at, Cols: make([]metric.Column, 1)}
	for v, err := range f.Values(f.before, f.now) {
		if err != nil {
			f.why = metric.FailureFor(err.Error())
			return nil, f.why
		}
		b.Rows = append(b.Rows, v.Instance)
		b.Cols[0].Push(typed(f.Desc.Type, v.Value))
	}
	if len(b.Rows) > 0 || f.Desc.Indom != metric.NoIndom {
		f.block = b
	} else if f.Twice {
		f.why = onlyOne
	}
	return f.block, f.why
}

// inputs returns the values of f's inputs, and when the youngest was read; or the reason why
// one of them has no value.
func (f *formula) inputs(r *demand.Reading) (at metric.Stamp, values []probe.Value, why metric.Reason) {
	for _, d := range f.Inputs {
		found := false
		for _, b := range r.Blocks {
			for col, of := range b.Group.Metrics {
				if of != d {
					continue
				}
				found = true
				if b.At.Cont > at.Cont {
					at = b.At
				}
				values = probe.AppendValues(values, b, col)
			}
		}
		if !found {
			why, ok := r.Missing[d]
			if !ok {
				why = metric.NotRead
			}
			return at, nil, why
		}
	}
	if values == nil {
		values = []probe.Value{} // there are no instances
	}
	return at, values, metric.Present
}

// youngest returns the continuous clock at which the youngest of values was read.
func youngest(values []probe.Value) (cont int64) {
	for i := range values {
		cont = max(cont, values[i].At.Cont)
	}
	return cont
}

// typed converts a number to a type.
func typed(t metric.Type, v metric.Value) metric.Value {
	if v.Miss != metric.Present {
		return metric.Value{Type: t, Miss: v.Miss}
	}
	if v.Type == t || t == metric.String {
		return v
	}
	switch x := v.Number(); {
	case t == metric.F32:
		return metric.Value{Type: t, Bits: uint64(math.Float32bits(float32(x)))}
	case t == metric.F64:
		return metric.Value{Type: t, Bits: math.Float64bits(x)}
	case t.Signed():
		return metric.Value{Type: t, Bits: uint64(int64(x))}
	default:
		return metric.Value{Type: t, Bits: uint64(x)}
	}
}
