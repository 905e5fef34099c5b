package chain

// Rule says where a function has put its return address and its caller's frame pointer. The
// zero Rule is that of a function with a frame: the frame pointer leads to both.
type Rule struct {
	// Size is how many bytes of the stack the function uses, the return address at their end
	// included; 0 means that it has a frame.
	Size uint64
	// FP is how many bytes before that end it has saved its caller's frame pointer; 0 means that
	// the register still has it.
	FP uint64
}

// Rules knows the rules of functions.
type Rules interface {
	// Rule returns the rule of the function that contains an address; false if it is unknown,
	// and the frame pointer must do. innermost says that the function may be anywhere in its
	// code, also where it is just making or removing what it has on the stack. Callers are at
	// a call.
	Rule(addr uint64, innermost bool) (Rule, bool)
}
