package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

const (
	colUsers = iota
	colRoots
	colSessions
)

// loginSource counts the login records.
type loginSource struct{ group *metric.Group }

func newLoginSource() *loginSource { return &loginSource{} }

func (s *loginSource) Name() string            { return "logins" }
func (s *loginSource) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *loginSource) Close() error            { return nil }

func (s *loginSource) Refresh() error {
	s.group = catalog.Group(catalog.Darwin, "logins",
		"kernel.all.nusers", "kernel.all.nroots", "kernel.all.nsessions")
	return nil
}

func (s *loginSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	var n loginCounts
	sys.Logins(n.add)
	for _, f := range frames {
		f.Reset(at)
		row := f.Row(nil)
		f.SetUint(row, colUsers, uint64(n.users))
		f.SetUint(row, colRoots, uint64(n.roots))
		f.SetUint(row, colSessions, uint64(n.sessions))
	}
	return nil
}
