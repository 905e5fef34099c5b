package main

import "strings"

// questionsOfOthers asks the same questions about a dataset that is no workstation. How long an
// answer may take was decided for a workstation's day, so the table compares by the number of
// recorded values instead.
func (m *measure) questionsOfOthers(days map[string]*made) error {
	args := []string{"-live"}
	if !m.short {
		args = append(args, "-day", "2h") // the journal holds an hour at most
	}
	lives, err := m.makeEach("live", args...)
	if err != nil {
		return err
	}
	t := newTable(m.unit("question"), "before", "now", "CPU", "CPU ms for 100 million recorded values", "MB", "where it goes", "command")
	if err := m.addOthers(t, asked, days, ""); err != nil {
		return err
	}
	if err := m.addOthers(t, askedLive, lives, ", while it is being written"); err != nil {
		return err
	}
	m.table("questions", t.String())
	return nil
}

func (m *measure) addOthers(t *table, list []question, of map[string]*made, when string) error {
	now := of["now"]
	for i := range list {
		q := &list[i]
		if m.only != "" && !strings.Contains(q.label, m.only) {
			continue
		}
		m.say("%s%s", q.label, when)
		c, err := m.ask(q.args, of)
		if err != nil {
			return err
		}
		took := c["now"]
		if took.gaveUp {
			t.row(q.label+when, wall(c["before"]), wall(took), "", "", "", "", m.typed(q.args, now))
			continue
		}
		goes := ""
		if !m.short {
			goes = m.profile(0, append([]string{m.now().replay()}, m.words(q.args, now)...)...)
		}
		t.row(q.label+when, wall(c["before"]), wall(took), number(took.leastCPU()), number(took.leastCPU()*1e8/float64(now.values())),
			number(took.resident), orDash(goes), m.typed(q.args, now))
	}
	return nil
}
