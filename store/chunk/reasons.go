package chunk

import (
	"tachograph/sample/metric"

	"tachograph/store/varint"
)

// ownReasons is the number of reasons that have the same number in every archive. Higher
// numbers have a text.
const ownReasons = 64

// reasonCodes are the numbers of reasons in a chunk, and the texts of those from ownReasons on.
type reasonCodes struct {
	of    map[metric.Reason]uint64
	texts []string
}

func newReasonCodes() *reasonCodes {
	codes := &reasonCodes{of: make(map[metric.Reason]uint64)}
	for r := range metric.Reason(ownReasons) {
		codes.of[r] = uint64(r)
	}
	return codes
}

// see numbers the reasons in the absences of a column.
func (codes *reasonCodes) see(col *columnTable) {
	for _, m := range col.miss {
		if _, ok := codes.of[m.why]; !ok {
			codes.of[m.why] = ownReasons + uint64(len(codes.texts))
			codes.texts = append(codes.texts, m.why.String())
		}
	}
}

func (codes *reasonCodes) encode(w *writer) {
	w.uvarint(uint64(len(codes.texts)))
	for _, s := range codes.texts {
		w.string(s)
	}
}

// parseReasons is the inverse of encode: it returns the reasons by number.
func parseReasons(r *varint.Reader) []metric.Reason {
	codes := make([]metric.Reason, ownReasons)
	for i := range codes {
		codes[i] = metric.Reason(i)
	}
	for n := r.Count(len(r.In)); n > 0 && !r.Bad; n-- {
		codes = append(codes, metric.ReasonFor(r.String()))
	}
	return codes
}
