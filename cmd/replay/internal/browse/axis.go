package browse

import (
	"strings"
	"time"

	"tachograph/cmd/replay/internal/chart"
)

// A tick is a round time on the axis.
type tick struct {
	at    int64
	label string
}

const day = 24 * time.Hour

// labelWidths are how wide labels of ticks are, the narrowest first: hours or days,
// months, seconds, parts of seconds.
var labelWidths = []int{len("15:04"), len("2006-01"), len("15:04:05"), len("15:04:05.000")}

// ticks are the round times of charts between two instants, so far apart that what is
// written at them stays apart on so many columns. In the one line that there is for
// it, the day stands at midnight.
func ticks(from, to int64, columns int, zone *time.Location) []tick {
	if to <= from || columns <= 0 {
		return nil
	}
	var list []chart.TimeTick
	for _, width := range labelWidths {
		// What is written takes its own width, a line before it and two columns between.
		list = chart.Times(from, to, zone, max(columns/(width+3), 1))
		if len(list) > 0 && len(list[0].Label) <= width {
			break
		}
	}
	out := make([]tick, len(list))
	for i, t := range list {
		at := time.Unix(0, t.At).In(zone)
		label := t.Label
		switch timed := strings.Contains(label, ":"); {
		case timed && at.Equal(time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, zone)), !timed && len(label) == len("01-02"):
			label = at.Format("Jan 2")
		case !timed && len(label) == len("2006-01"):
			label = at.Format("Jan 2006")
		}
		out[i] = tick{t.At, label}
	}
	return out
}
