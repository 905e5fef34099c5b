package chunk

import "tachograph/sample/metric"

// ownReasons is the number of reasons that have the same number in every
// archive; those above have a text.
const ownReasons = 64

// encodeReasons writes the texts of the reasons that the table's absences
// give, and returns the number of each in this chunk.
func (t *table) encodeReasons(w *writer) map[metric.Reason]uint64 {
	codes := make(map[metric.Reason]uint64)
	for r := range metric.Reason(ownReasons) {
		codes[r] = uint64(r)
	}
	var texts []string
	for _, g := range t.groups {
		for c := range g.cols {
			for _, m := range g.cols[c].miss {
				if _, ok := codes[m.why]; !ok {
					codes[m.why] = ownReasons + uint64(len(texts))
					texts = append(texts, m.why.String())
				}
			}
		}
	}
	w.uvarint(uint64(len(texts)))
	for _, s := range texts {
		w.string(s)
	}
	return codes
}

// parseReasons is the inverse: it returns the reasons by number.
func parseReasons(r *reader) []metric.Reason {
	codes := make([]metric.Reason, ownReasons)
	for i := range codes {
		codes[i] = metric.Reason(i)
	}
	for n := r.count(len(r.in)); n > 0 && !r.bad; n-- {
		codes = append(codes, metric.ReasonFor(r.string()))
	}
	return codes
}
