package metric

// Label is a name and a value that describe an instance or an event.
type Label struct{ Name, Value string }

// Instance is one member of an instance domain: a disk, a core, a process.
//
// A process instance is a process, not a pid. Key is its identity: within one boot, two
// instances of a domain are the same if and only if their keys are equal. Name is for people
// ("001234 Safari"); it may change while the instance lives (a process that calls exec), and
// then Rev grows so that holders of copies notice.
//
// A source owns its instances and changes them only while it is being read.
type Instance struct {
	// ID is unique among the live instances of a domain in one program run; archives assign their
	// own numbers.
	ID     uint64
	Key    string
	Name   string
	Labels []Label
	Rev    uint32
}

// Label returns the value of the label called name, or "".
func (in *Instance) Label(name string) string { return labelled(in.Labels, name) }

func labelled(labels []Label, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// PerBoot reports whether the instances of a domain end with their boot. The keys of processes,
// threads, coalitions, connections and the parts of stacks are unique only within a boot. All
// other instances come back after it.
func PerBoot(indom string) bool {
	return indom == "process" || indom == "thread" || indom == "coalition" || indom == "connection" || OfStacks(indom)
}

// OfStacks reports whether the instances of a domain are parts of sampled stacks. They have a
// meaning only together, see package sample/stack.
func OfStacks(indom string) bool {
	return indom == "stack" || indom == "stack frame" || indom == "stack image"
}
