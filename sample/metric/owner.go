package metric

// Kinds of owners: what people ask for when they ask whose a process is. A process has at most one
// owner of each kind. The label of its instance that is called like the kind has the owner's name,
// as a person would give it.
const (
	OwnerApp       = "app"       // an application: "Google Chrome"
	OwnerService   = "service"   // a job of launchd, a unit of systemd: "nginx.service"
	OwnerContainer = "container" // "web", or the first 12 digits of its number
	OwnerPod       = "pod"       // of Kubernetes, with its namespace: "shop/cart-7d9f"
	OwnerSession   = "session"   // of a user who logged in, or a terminal: "3 of anna", "pts/4"
)

// OwnerKinds are all kinds of owners, the one that people mean first where a process has several:
// a container's process belongs to the container and not to the unit that the container runs in.
var OwnerKinds = []string{OwnerPod, OwnerContainer, OwnerApp, OwnerService, OwnerSession}

// MainOwner returns the kind and the name of the owner that people mean; both are empty if in has no owner.
func (in *Instance) MainOwner() (kind, name string) {
	for _, kind := range OwnerKinds {
		if name := in.Label(kind); name != "" {
			return kind, name
		}
	}
	return "", ""
}

// Owners returns the labels of an instance that name its owners, in the order of OwnerKinds.
func (in *Instance) Owners() []Label {
	var owners []Label
	for _, kind := range OwnerKinds {
		if name := in.Label(kind); name != "" {
			owners = append(owners, Label{kind, name})
		}
	}
	return owners
}

// The label OwnerWhat of an EventOwner says what happened to the owner.
const (
	OwnerWhat      = "what"
	OwnerCame      = "came"
	OwnerWent      = "went"
	OwnerRestarted = "restarted"
	OwnerKilled    = "killed"    // the kernel killed processes of it for want of memory
	OwnerThrottled = "throttled" // its quota held it back
	OwnerLimit     = "limit"     // a limit was changed
)
