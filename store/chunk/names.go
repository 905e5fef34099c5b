package chunk

import (
	"encoding/binary"
	"errors"

	"tachograph/sample/metric"
)

// Names are the keys of the instances and what they were called from which
// block on.

var errNames = errors.New("the names contradict themselves")

func encodeNames(out []byte, insts []Instance) []byte {
	if len(insts) == 1 && insts[0].Key == "" && len(insts[0].Names) == 0 {
		return out
	}
	var raw []byte
	str := func(s string) {
		raw = binary.AppendUvarint(raw, uint64(len(s)))
		raw = append(raw, s...)
	}
	for i := range insts {
		in := &insts[i]
		str(in.Key)
		raw = binary.AppendUvarint(raw, uint64(len(in.Names)))
		for _, n := range in.Names {
			raw = binary.AppendUvarint(raw, uint64(n.Block))
			str(n.Name)
			raw = binary.AppendUvarint(raw, uint64(len(n.Labels)))
			for _, l := range n.Labels {
				str(l.Name)
				str(l.Value)
			}
		}
	}
	return append(out, Pack(raw)...)
}

// decodeNames fills in the keys and names of insts.
func decodeNames(in []byte, insts []Instance) error {
	if len(in) == 0 {
		if len(insts) > 1 {
			return errNames
		}
		return nil
	}
	raw, err := Unpack(in)
	if err != nil {
		return err
	}
	r := reader{in: raw}
	for i := range insts {
		in := &insts[i]
		in.Key = r.string()
		for k := r.count(len(r.in)); k > 0 && !r.bad; k-- {
			n := Naming{Block: uint32(r.count(MaxTicks)), Name: r.string()}
			for l := r.count(len(r.in)); l > 0 && !r.bad; l-- {
				n.Labels = append(n.Labels, metric.Label{Name: r.string(), Value: r.string()})
			}
			in.Names = append(in.Names, n)
		}
	}
	if r.bad || len(r.in) > 0 {
		return errNames
	}
	return nil
}
