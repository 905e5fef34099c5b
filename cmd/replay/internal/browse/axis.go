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

// labelWidths are the widths of labels of ticks, the narrowest first: hours or days, months,
// seconds, parts of seconds.
var labelWidths = []int{len("15:04"), len("2006-01"), len("15:04:05"), len("15:04:05.000")}

// ticks returns round times between two instants, as charts use them, far enough apart that
// their labels do not touch on that many columns. As there is only one line of labels, the label
// at midnight is the day.
func ticks(from, to int64, columns int, zone *time.Location) []tick {
	if to <= from || columns <= 0 {
		return nil
	}
	var list []chart.TimeTick
	for _, width := range labelWidths {
		// A label takes its own width, a line in front of it and two columns in between.
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
