package pcpserve

import (
	"strconv"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// private metrics tell what users do, which a kernel does not show to all of them, or
// may tell one machine from all others.
var private = map[string]bool{
	"proc.psinfo.psargs": true, "proc.psinfo.exe": true, "proc.psinfo.cwd": true,
	"kern.bootargs": true, "kern.hostid": true,
}

// privateLabels are the labels of instances that say the same.
var privateLabels = map[string]bool{"exe": true}

// Private reports whether a metric is only for some to see: what tells what users do, as
// the arguments of processes, and of what was found on a machine and nobody has described
// texts, and what by its name may tell that machine from all others.
func Private(d *metric.Desc) bool {
	if private[d.Name] {
		return true
	}
	found := d.PMID == 0 && catalog.Find(catalog.Darwin, d.Name) == nil && catalog.Find(catalog.Linux, d.Name) == nil
	return found && (d.Type == metric.String || catalog.Telltale(d.Name))
}

// A client is who asks.
type client struct {
	uid   uint32
	known bool
}

// sees reports whether a client is shown everything.
func (s *Server) sees(c client) bool { return s.opt.AllAccess || s.rules(c) }

// rules reports whether a client is root, or the user who runs the server.
func (s *Server) rules(c client) bool { return c.known && (c.uid == 0 || c.uid == s.self) }

// refuses reports whether the server keeps the instances of a domain from a client. It
// shows single processes and threads only to clients whose user the kernel has named: any
// user may be behind an address. PCP's own agents do the same.
func (s *Server) refuses(c client, indom string) bool {
	return metric.PerBoot(indom) && !c.known && !s.opt.AllAccess
}

// owns reports whether an instance is a client's own.
func (c client) owns(in *metric.Instance) bool {
	if !c.known || in == nil {
		return false
	}
	uid, err := strconv.ParseUint(in.Owner(), 10, 32)
	return err == nil && uint32(uid) == c.uid
}

// labelsFor are those labels of an instance that a client may see.
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
