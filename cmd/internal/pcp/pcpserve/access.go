package pcpserve

import (
	"strconv"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// private are metrics that show what users do, which a kernel does not show to all of them, or
// that may identify a machine among all others.
var private = map[string]bool{
	metric.ReportText:    true,
	"proc.psinfo.psargs": true, "proc.psinfo.exe": true, "proc.psinfo.cwd": true,
	"kern.bootargs": true, "kern.hostid": true,
}

// privateLabels are the labels of instances that show the same.
var privateLabels = map[string]bool{"exe": true}

// Private reports whether only some clients may see a metric: those that show what users do,
// such as the arguments of processes, and, among metrics found on a machine and not described in
// a catalog, those with texts and those whose name suggests that they may identify the machine.
func Private(d *metric.Desc) bool {
	if private[d.Name] {
		return true
	}
	found := d.PMID == 0 && catalog.Find(catalog.Darwin, d.Name) == nil && catalog.Find(catalog.Linux, d.Name) == nil
	return found && (d.Type == metric.String || catalog.Telltale(d.Name))
}

// A client is the user behind a connection. known is false if the kernel did not name the user.
type client struct {
	uid   uint32
	known bool
}

// sees reports whether a client may see everything.
func (s *Server) sees(c client) bool { return s.opt.AllAccess || s.rules(c) }

// rules reports whether a client is root, or the user who runs the server.
func (s *Server) rules(c client) bool { return c.known && (c.uid == 0 || c.uid == s.self) }

// refuses reports whether the server keeps the instances of a domain from a client. It
// shows single processes and threads only to clients whose user the kernel has named: any
// user may be behind an address. PCP's own agents do the same.
func (s *Server) refuses(c client, indom string) bool {
	return metric.PerBoot(indom) && !c.known && !s.opt.AllAccess
}

// owns reports whether an instance belongs to a client.
func (c client) owns(in *metric.Instance) bool {
	if !c.known || in == nil {
		return false
	}
	uid, err := strconv.ParseUint(in.UserID(), 10, 32)
	return err == nil && uint32(uid) == c.uid
}

// labelsFor returns the labels of an instance that a client may see.
func (s *Server) labelsFor(c client, in *metric.Instance, labels []metric.Label) []metric.Label {
	if s.sees(c) || c.owns(in) {
		return labels
	}
	shown := make([]metric.Label, 0, len(labels))
	for _, l := range labels {
		if !privateLabels[l.Name] {
			shown = append(shown, l)
		}
	}
	return shown
}
