package report

import (
	"cmp"
	"slices"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// mostPorts is how many ports the page lists.
const mostPorts = 20

// port is a port that is listened on, and what happened to the connections that wait there.
type port struct {
	*instance
	dropped, waiting, limit float64
}

// ports lists the ports that dropped connections. Totals of whole archives say which these are, so
// that a long window costs little.
func (c *collector) ports() {
	const drops, backlog, limit = "network.listener.drops", "network.listener.backlog", "network.listener.backlog_limit"
	if d := c.a.Lookup(drops); d == nil || d.Unsupported != "" {
		return
	}
	byKey := make(map[string]*port)
	for s := range c.a.Summarize(c.w.Selection(drops)) {
		if s.Instance == nil || !(s.Increase > 0) {
			continue
		}
		p := byKey[s.Instance.Key]
		if p == nil {
			p = &port{}
			byKey[s.Instance.Key] = p
		}
		p.instance = s.Instance
		p.dropped += s.Increase
	}
	if len(byKey) == 0 {
		return
	}
	sel := c.w.Selection(backlog, limit)
	sel.Instance = func(_ string, in *instance) bool { return byKey[in.Key] != nil }
	for s := range c.a.Summarize(sel) {
		if s.Count == 0 {
			continue
		}
		p, most := byKey[s.Instance.Key], metric.Number(s.Metric.Type, s.Max)
		if s.Metric.Name == backlog {
			p.waiting = max(p.waiting, most)
		} else {
			p.limit = max(p.limit, most)
		}
	}
	var list []*port
	for _, p := range byKey {
		list = append(list, p)
	}
	slices.SortFunc(list, func(x, y *port) int { return cmp.Or(cmp.Compare(y.dropped, x.dropped), cmp.Compare(x.Name, y.Name)) })
	t := &Top{Title: "Ports that dropped connections", Heads: []string{"Port", "Process", "Dropped", "Waiting at most", "Limit"}}
	for _, p := range list[:min(len(list), mostPorts)] {
		who := p.Label("name")
		if whose := query.WhoseIs(p.instance).Words(0); whose != "" && whose != who {
			who += " (" + whose + ")"
		}
		t.Rows = append(t.Rows, []string{cut(p.Name), cut(who), human.Count(p.dropped), human.Figures(p.waiting), human.Figures(p.limit)})
	}
	c.page.doc.Ports = t
}
