package kcdata

import "fmt"

// waits are the kernel's kinds of waiting, from <kern/block_hint.h>, and whether the reported
// owner is a thread or a process.
var waits = [...]struct{ text, owner string }{
	1:  {"kernel mutex", "thread"},
	2:  {"mach port receive", ""},
	3:  {"mach port set receive", ""},
	4:  {"mach port send", "process"},
	5:  {"mach port in transit", ""},
	6:  {"semaphore", "process"},
	7:  {"kernel lock to read", ""},
	8:  {"kernel lock to write", "thread"},
	9:  {"kernel lock to upgrade", "thread"},
	10: {"user lock", "thread"},
	11: {"pthread mutex", "thread"},
	12: {"pthread lock to read", ""},
	13: {"pthread lock to write", "thread"},
	14: {"pthread condition", ""},
	15: {"work queue", ""},
	16: {"work loop", "thread"},
	17: {"process", "process"},
	18: {"sleep with inheritor", "thread"},
	19: {"event link", ""},
	20: {"memory compressor", ""},
}

// Owners from here on are none: the kernel could not find the owner.
const specialOwners = 1<<64 - 256

// Thread returns the ID of the thread that has what is waited for; 0 if none is known.
func (w Wait) Thread() uint64 {
	if int(w.Kind) >= len(waits) || waits[w.Kind].owner != "thread" || w.Owner >= specialOwners {
		return 0
	}
	return w.Owner
}

// String describes what the thread waits for; "" if that is not known.
func (w Wait) String() string {
	if int(w.Kind) >= len(waits) || w.Kind == 0 {
		return ""
	}
	kind := waits[w.Kind]
	text := kind.text
	if w.Kind >= 2 && w.Kind <= 4 && w.Context != 0 && w.Context < 1<<32 {
		text += fmt.Sprintf(" 0x%x", w.Context) // the port's name in the process
	}
	if w.Owner == 0 || w.Owner >= specialOwners {
		return text
	}
	switch kind.owner {
	case "thread":
		text += fmt.Sprintf(" held by thread %d", w.Owner)
	case "process":
		text += fmt.Sprintf(" of process %d", w.Owner)
	}
	return text
}
