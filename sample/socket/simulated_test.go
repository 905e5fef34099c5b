package socket

// simulatedLook is what the half of a test that runs on the simulated Mac prints.
type simulatedLook struct {
	Heard    []Socket
	Notice   string
	Refused  string
	Withheld bool
}
