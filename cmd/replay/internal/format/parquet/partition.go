package parquet

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tachograph/cmd/replay/internal/export"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// A hostDay is a day of a host.
type hostDay struct {
	path   string
	window query.Window
}

// mostDays is how many days of a host are written. If archives claim more, because of a wrong
// clock or an unknown origin, the user must export day by day.
const mostDays = 20_000

// parts returns the days in which archives say that they have values.
func (w *writer) parts() ([]hostDay, error) {
	var parts []hostDay
	hosts := w.r.HostsIn()
	for i := range hosts {
		h := &hosts[i]
		name := partition(h, hosts)
		days := make(map[int64]bool)
		one := query.Window{Hosts: []string{h.ID}, From: w.r.Window.From, To: w.r.Window.To}
		_, _, archives := query.Covered(w.r.Archive, one)
		for _, info := range archives {
			from, to := max(info.From, one.From), info.To
			if one.To != 0 {
				to = min(to, one.To)
			}
			for day := floorDay(from); day <= to; day += dayLength {
				if days[day] = true; len(days) > mostDays {
					return nil, fmt.Errorf("the archives of %s say that they span more than %d days: choose some with --from and --to", h.Name, mostDays)
				}
			}
		}
		list := make([]int64, 0, len(days))
		for day := range days {
			list = append(list, day)
		}
		slices.Sort(list)
		for _, day := range list {
			p := hostDay{window: query.Window{Hosts: one.Hosts, From: max(day, one.From), To: day + dayLength - 1}}
			if one.To != 0 {
				p.window.To = min(p.window.To, one.To)
			}
			p.path = filepath.Join(export.ValuesTable, "host="+name, "day="+time.Unix(0, day).UTC().Format(time.DateOnly), "part-0.parquet")
			parts = append(parts, p)
		}
	}
	return parts, nil
}

const dayLength = int64(24 * time.Hour)

// floorDay returns the beginning of an instant's day.
func floorDay(wall int64) int64 {
	within := wall % dayLength
	if within < 0 {
		within += dayLength
	}
	return wall - within
}

// longestName is how long the name of a host may be in the name of a directory.
const longestName = 180

// partition returns a host's name for the name of a directory: escaped as readers of such
// directories expect, and with the host's identity if other hosts have the same name.
func partition(h *metric.Host, all []metric.Host) string {
	text := strings.ToValidUTF8(h.Name, "\ufffd") // Readers refuse invalid UTF-8.
	name, long := escaped(text), false
	for len(name) > longestName {
		_, n := utf8.DecodeLastRuneInString(text)
		text, long = text[:len(text)-n], true
		name = escaped(text)
	}
	alike := 0
	for i := range all {
		if all[i].Name == h.Name {
			alike++
		}
	}
	if alike > 1 || long {
		id := escaped(h.ID)
		name += "~" + strings.TrimRight(id[:min(len(id), 30)], "%")
	}
	if name == "" {
		return "__HIVE_DEFAULT_PARTITION__"
	}
	return name
}

// escaped returns a name that every file system and reader takes literally.
func escaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
