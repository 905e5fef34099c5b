package unwind

// row says, for one address of code, where the registers of the caller are.
type row struct {
	cfa    rule // of the frame's address: inRegister or isValue
	rules  []saved
	ra     uint8 // the column of the return address
	signal bool
}

// saved is the rule of a register.
type saved struct {
	register uint8
	rule
}

// rule says where a value is.
type rule struct {
	kind kind
	// value is a distance from the frame's address; or, inRegister, one from that register's
	// content.
	value      int64
	register   uint8
	expression []byte
}

type kind uint8

const (
	unset      kind = iota // nothing is said: as isSame
	isLost                 // the caller's value is not kept
	isSame                 // the register still has it
	atDistance             // in memory, at the frame's address and a distance
	isDistance             // the frame's address and a distance
	inRegister             // a register's content and a distance
	atValue                // in memory, where an expression says
	isValue                // what an expression says
)

const (
	// registers is how many columns a row has. x86-64 uses 17, arm64 33, with the address of
	// the instruction last.
	registers = 33
	// Limits of programs: the steps of all programs in a walk, and states remembered at once.
	maxSteps      = 1 << 16
	maxRemembered = 16
)

// state is the row that a program is making.
type state struct {
	cfa   rule
	rules [registers]rule
}

// programs runs programs.
type programs struct {
	now        state
	initial    [registers]rule
	remembered [maxRemembered]state
	depth      int
	steps      int // left in this walk
}

// row runs the programs of the function up to pc.
func (p *programs) row(f *function, pc uint64) (*row, bool) {
	p.now, p.initial, p.depth = state{}, [registers]rule{}, 0
	if !p.run(f.common.program, f, f.start, f.start) {
		return nil, false
	}
	p.initial = p.now.rules
	if !p.run(f.program, f, f.start, pc) || p.now.cfa.kind == unset {
		return nil, false
	}
	r := &row{cfa: p.now.cfa, ra: uint8(f.ra), signal: f.signal}
	n := 0
	for i := range p.now.rules {
		if p.now.rules[i].kind != unset {
			n++
		}
	}
	r.rules = make([]saved, 0, n)
	for i := range p.now.rules {
		if p.now.rules[i].kind != unset {
			r.rules = append(r.rules, saved{uint8(i), p.now.rules[i]})
		}
	}
	return r, true
}

// Instructions of a program (DW_CFA). Those with an operand in their low bits come first.
const (
	advance, offset, restore = 1, 2, 3 // of the two highest bits

	setLocation       = 0x01
	advance1          = 0x02
	advance2          = 0x03
	advance4          = 0x04
	offsetExtended    = 0x05
	restoreExtended   = 0x06
	undefined         = 0x07
	sameValue         = 0x08
	register          = 0x09
	remember          = 0x0a
	restoreAll        = 0x0b
	defineCFA         = 0x0c
	defineRegister    = 0x0d
	defineOffset      = 0x0e
	defineExpression  = 0x0f
	expression        = 0x10
	offsetSigned      = 0x11
	defineSigned      = 0x12
	defineOffsetSign  = 0x13
	valueOffset       = 0x14
	valueOffsetSigned = 0x15
	valueExpression   = 0x16
	windowSave        = 0x2d // on arm64: from here on, the return address is signed, or no more
	signedWithPC      = 0x2c
	argumentsSize     = 0x2e
	offsetNegative    = 0x2f
)

// run runs a program from the address of a function up to pc.
func (p *programs) run(program []byte, f *function, from, pc uint64) bool {
	c := cursor{b: program}
	at := from
	s := &p.now
	// set gives a register its rule. Registers that are not followed have none.
	set := func(n uint64, r rule) {
		if n < registers {
			s.rules[n] = r
		}
	}
	scaled := func(v uint64) int64 { return int64(v) * f.data }
	for c.left() > 0 {
		if p.steps--; p.steps < 0 {
			return false
		}
		op := c.u8()
		low := uint64(op & 0x3f)
		ahead := uint64(0)
		switch op >> 6 {
		case advance:
			ahead = low
		case offset:
			set(low, rule{kind: atDistance, value: scaled(c.uleb())})
		case restore:
			if low < registers {
				s.rules[low] = p.initial[low]
			}
		default:
			switch op {
			case 0:
			case setLocation:
				to := c.encoded(f.encoding&0x0f, 0, 0)
				if f.encoding&^0x0f != encodedPlain || to < at {
					return false
				}
				if at = to; at > pc {
					return !c.bad
				}
			case advance1:
				ahead = c.unsigned(1)
			case advance2:
				ahead = c.unsigned(2)
			case advance4:
				ahead = c.unsigned(4)
			case offsetExtended:
				n := c.uleb()
				set(n, rule{kind: atDistance, value: scaled(c.uleb())})
			case offsetSigned:
				n := c.uleb()
				set(n, rule{kind: atDistance, value: c.sleb() * f.data})
			case offsetNegative:
				n := c.uleb()
				set(n, rule{kind: atDistance, value: -scaled(c.uleb())})
			case valueOffset:
				n := c.uleb()
				set(n, rule{kind: isDistance, value: scaled(c.uleb())})
			case valueOffsetSigned:
				n := c.uleb()
				set(n, rule{kind: isDistance, value: c.sleb() * f.data})
			case restoreExtended:
				if n := c.uleb(); n < registers {
					s.rules[n] = p.initial[n]
				}
			case undefined:
				set(c.uleb(), rule{kind: isLost})
			case sameValue:
				set(c.uleb(), rule{kind: isSame})
			case register:
				n, in := c.uleb(), c.uleb()
				if in >= registers {
					return false
				}
				set(n, rule{kind: inRegister, register: uint8(in)})
			case remember:
				if p.depth == maxRemembered {
					return false
				}
				p.remembered[p.depth] = *s
				p.depth++
			case restoreAll:
				if p.depth == 0 {
					return false
				}
				p.depth--
				*s = p.remembered[p.depth]
			case defineCFA, defineSigned:
				n := c.uleb()
				v := int64(0)
				if op == defineCFA {
					v = int64(c.uleb())
				} else {
					v = c.sleb() * f.data
				}
				if n >= registers {
					return false
				}
				s.cfa = rule{kind: inRegister, register: uint8(n), value: v}
			case defineRegister:
				n := c.uleb()
				if n >= registers || s.cfa.kind != inRegister {
					return false
				}
				s.cfa.register = uint8(n)
			case defineOffset, defineOffsetSign:
				if s.cfa.kind != inRegister {
					return false
				}
				if op == defineOffset {
					s.cfa.value = int64(c.uleb())
				} else {
					s.cfa.value = c.sleb() * f.data
				}
			case defineExpression:
				s.cfa = rule{kind: isValue, expression: c.block()}
			case expression:
				n := c.uleb()
				set(n, rule{kind: atValue, expression: c.block()})
			case valueExpression:
				n := c.uleb()
				set(n, rule{kind: isValue, expression: c.block()})
			case windowSave, signedWithPC:
				// Signatures are removed from all addresses.
			case argumentsSize:
				c.uleb()
			default:
				return false
			}
		}
		if c.bad {
			return false
		}
		if ahead > 0 {
			if at += ahead * f.code; at > pc {
				return true
			}
		}
	}
	return true
}
