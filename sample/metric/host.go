package metric

// Host is a machine: this one, or the one that recorded an archive.
type Host struct {
	// ID identifies the machine across archives: a hash of its hardware UUID
	// or machine id.
	ID       string
	Name     string
	OS       string // "Darwin", "Linux"
	Release  string
	Arch     string
	Model    string
	Platform string // "macos" or "linux"
	// Labels hold the rest: product version, build, cores, memory.
	Labels []Label
}

// Label returns the value of the label called name, or "".
func (h *Host) Label(name string) string { return labelled(h.Labels, name) }
