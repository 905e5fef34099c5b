package macho

import "tachograph/sample/stack/chain"

// ReadUnwind reads the section __unwind_info of an image, as far as the budget allows; it
// returns nil if there is none, or it cannot be read.
func (h *Header) ReadUnwind(mem chain.Memory, budget *Budget) []byte {
	from, size := h.unwind.at-h.Load, h.unwind.size
	if size == 0 || from >= h.Size || size > h.Size-from || budget.Unwind < 0 || size > uint64(budget.Unwind) {
		return nil
	}
	budget.Unwind -= int(size)
	b := make([]byte, size)
	if !mem.Read(h.unwind.at, b) {
		return nil
	}
	return b
}
