package fault

// A Loss is something that was recorded and cannot be read, and when it was recorded.
type Loss struct {
	What string
	// From and To are wall clocks; zero where the time is not known.
	From, To int64
}

func (l Loss) String() string {
	if l.From == 0 && l.To == 0 {
		return l.What
	}
	return l.What + " (" + Span(l.From, l.To) + ")"
}
