package main

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
)

// TestFollowFits: what comes in while somebody looks fits the terminal as well, from
// the first row to one with longer names than were expected; numbers stay whole.
func TestFollowFits(t *testing.T) {
	t.Parallel()
	const large, long = 12345678, "an interface with a name that is longer than there is room for in a narrow terminal"
	series := []archive.Item{
		toldTick(0, toldBlock(netOf, 300, "en0")), toldTick(1, toldBlock(netOf, 400, "en0", long)),
		toldTick(2, toldBlock(netOf, large, "en0", long, "北京的网络接口北京的网络接口北京的网络接口")), toldTick(3, toldBlock(newOf, large, "en0", long)),
	}
	events := []archive.Item{
		toldEvent(1, metric.EventMount, "/srv/containers/storage/overlay/0123456789abcdef0123456789abcdef/merged was mounted (overlay, read-write)"),
		toldEvent(2, metric.EventMemory, "memory is short: the kernel says critical, and says so in many more words than before"),
		{Archive: toldInfo, Lost: follow.ErrGone},
	}
	for _, c := range []struct {
		line  string
		items []archive.Item
		want  string
	}{
		{"values n.* -f", series, ""}, {"rates n.* -f", series, ""}, {"events -f", events, "was mounted"},
	} {
		for _, width := range []int{40, 80, 160} {
			t.Run(fmt.Sprint(c.line, " in ", width), func(t *testing.T) {
				out, said, _ := followsOn(t, width, c.line, c.items...)
				if strings.Count(out, "\n") < 3 || !strings.Contains(strings.Join(strings.Fields(out), " "), c.want) {
					t.Errorf("it shows\n%s%s", out, said)
				}
				for line := range strings.Lines(out + said) {
					if n := human.Width(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%d columns: %s", n, line)
					}
				}
				if strings.Contains(c.line, "values") && !strings.Contains(out, "12345678\n") && !strings.Contains(out, "11.8 MB\n") {
					t.Errorf("the number was cut:\n%s", out)
				}
			})
		}
	}
}
