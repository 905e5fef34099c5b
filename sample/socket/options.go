package socket

// Options say what is recorded about connections.
type Options struct {
	Peers Privacy
	// Key makes the pseudonyms of peers.
	Key []byte
	// Named is how many connections have values of their own, and as many that are in trouble.
	Named int
	// Namespaces is how many network namespaces besides the own one are asked.
	Namespaces int
	// Flows receives what each interface carried, where the kernel says so. It cannot be changed.
	Flows *Flows
}
