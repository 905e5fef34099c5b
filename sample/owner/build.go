package owner

import (
	"tachograph/sample/metric"
)

// Named are names that the path of a control group does not have.
type Named struct {
	Container, Pod string
	From           string // the file that they were found in
}

// Owner returns the owners of the processes in a group. user names the user with an id.
func (f *Found) Owner(names Named, user func(uid string) string) (o Owner) {
	o = None(f.why())
	o.Miss(App, noApp)
	o.Miss(Bundle, noApp)
	if f.App != "" {
		o.Put(App, AppName(f.App))
		o.Put(Bundle, f.App)
	}
	o.Put(Service, f.Unit)
	if f.Session != "" {
		o.Put(Session, f.Session+" of "+user(f.UID))
	}
	c := &f.Container
	short := c.ID
	if hex64(short) {
		short = short[:shortNumber]
	}
	for _, name := range []string{short, c.Name, names.Container} {
		o.Put(Container, name)
	}
	o.Put(Pod, f.Pod)
	o.Put(Pod, names.Pod)
	return o
}

// why returns why a group says nothing of most kinds of owners.
func (f *Found) why() metric.Reason {
	switch {
	case f.Outside:
		return ownNamespace
	case f.Container != (InContainer{}):
		return ofContainer
	case f.App != "":
		return ofApp
	case f.Session != "":
		return ofSession
	case f.Unit != "":
		return ofUnit
	}
	return atRoot
}

var (
	noApp        = metric.ReasonFor("no desktop started the process as an app")
	ofContainer  = metric.ReasonFor("the control group of the process is that of a container")
	ofApp        = metric.ReasonFor("the control group of the process is that of an app")
	ofSession    = metric.ReasonFor("the control group of the process is that of a login session")
	ofUnit       = metric.ReasonFor("the control group of the process is that of a service")
	atRoot       = metric.ReasonFor("the process is in the root control group")
	ownNamespace = metric.ReasonFor("the recorder runs in a cgroup namespace of its own, and the process outside of it")
)
