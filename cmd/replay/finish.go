package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/store"
	"tachograph/store/query"
)

// around is how far at looks before and after the moment, and how near to it a gap must be to be
// in an answer to a program.
const around = 10 * time.Minute

// finish prints the command line that gives the same answer again and the archives that the
// answer came from, if --show-command was given; to people also if always is set.
func (a *app) finish(cmd *cobra.Command, args []string, always bool) {
	if !a.showsCommand(always) {
		return
	}
	if a.sink != nil {
		a.basis = a.basisOf(cmd, args)
		return
	}
	w := a.beside()
	w.Println()
	for _, line := range a.footer(cmd, args) {
		w.Println(line)
	}
}

// basisOf returns what the answer to a command line was made from, for a program.
func (s *session) basisOf(cmd *cobra.Command, args []string) *ask.Basis {
	w := s.Used
	at, err := time.Parse(time.RFC3339Nano, s.Resolved["at"])
	near := err == nil && w.From == 0 && w.To == 0
	if near {
		w.From, w.To = at.Add(-around).UnixNano(), at.Add(around).UnixNano()
	}
	from, to, list := query.Covered(s.Archive, w)
	b := &ask.Basis{Command: strings.Join(s.reproduce(cmd, args), " "), Zone: s.Zone(), From: max(from, w.From), To: to}
	if w.To != 0 {
		b.To = min(to, w.To)
	}
	if near { // The last archive of each host holds its state.
		last := make(map[string]*store.ArchiveInfo)
		_, _, list = query.Covered(s.Archive, query.Window{Hosts: w.Hosts, To: at.UnixNano()})
		for _, info := range list {
			last[info.Host.ID] = info
		}
		list = slices.DeleteFunc(list, func(info *store.ArchiveInfo) bool { return last[info.Host.ID] != info })
	}
	for _, info := range list {
		b.Archives = append(b.Archives, info.ID)
	}
	absent := func(from, to int64, reason string) {
		if to > from {
			b.Absent = append(b.Absent, ask.Absence{From: from, To: to, Reason: reason})
		}
	}
	if w.From != 0 && !near {
		absent(w.From, min(from, max(w.To, w.From)), "before the recording")
	}
	for _, h := range s.hostsOf(w) {
		of := ""
		if s.ManyHosts() {
			of = h.Name + ": "
		}
		for _, gap := range query.Breaks(s.Archive, query.Window{Hosts: []string{h.ID}, From: w.From, To: w.To}) {
			reason := string(gap.Kind)
			if gap.Text != "" && gap.Text != reason {
				reason += ": " + gap.Text
			}
			absent(gap.From, gap.To, of+reason)
		}
	}
	if w.To != 0 && !near {
		absent(max(to, w.From), w.To, "after the recording")
	}
	return b
}
