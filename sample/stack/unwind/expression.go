package unwind

// Limits of expressions: the longest that occur have some ten steps.
const (
	maxValues    = 16
	maxEvaluated = 1 << 12 // steps of all expressions in a walk
)

// Instructions of an expression (DW_OP).
const (
	opAddress         = 0x03
	opDeref           = 0x06
	opConst1u         = 0x08 // then 1s, 2u, 2s, 4u, 4s, 8u, 8s
	opConst8s         = 0x0f
	opConstUnsigned   = 0x10
	opConstSigned     = 0x11
	opDuplicate       = 0x12
	opDrop            = 0x13
	opOver            = 0x14
	opPick            = 0x15
	opSwap            = 0x16
	opRotate          = 0x17
	opAbsolute        = 0x19
	opAnd             = 0x1a
	opDivide          = 0x1b
	opMinus           = 0x1c
	opModulo          = 0x1d
	opMultiply        = 0x1e
	opNegate          = 0x1f
	opNot             = 0x20
	opOr              = 0x21
	opPlus            = 0x22
	opPlusConstant    = 0x23
	opShiftLeft       = 0x24
	opShiftRight      = 0x25
	opShiftArithmetic = 0x26
	opXor             = 0x27
	opBranch          = 0x28
	opEqual           = 0x29
	opNotEqual        = 0x2e
	opSkip            = 0x2f
	opLiteral         = 0x30 // to 0x4f
	opRegister        = 0x70 // a register's content and a distance; to 0x8f
	opRegisterAny     = 0x92
	opDerefSize       = 0x94
	opNothing         = 0x96
)

// values is the stack of an expression.
type values struct {
	v   [maxValues]uint64
	n   int
	bad bool
}

func (s *values) push(v uint64) {
	if s.n == maxValues {
		s.bad = true
		return
	}
	s.v[s.n] = v
	s.n++
}

func (s *values) pop() uint64 {
	if s.n == 0 {
		s.bad = true
		return 0
	}
	s.n--
	return s.v[s.n]
}

// pick returns a value, 0 being the last one.
func (s *values) pick(i int) uint64 {
	if i >= s.n {
		s.bad = true
		return 0
	}
	return s.v[s.n-1-i]
}

// evaluate returns the value of an expression. It begins with first, unless that is nil.
func (t *thread) evaluate(expression []byte, first *uint64) (uint64, bool) {
	c := cursor{b: expression}
	var s values
	if first != nil {
		s.push(*first)
	}
	for c.left() > 0 {
		if t.evaluated++; t.evaluated > maxEvaluated || c.bad || s.bad {
			return 0, false
		}
		switch op := c.u8(); {
		case op >= opLiteral && op < opLiteral+32:
			s.push(uint64(op - opLiteral))
		case op >= opRegister && op < opRegister+32, op == opRegisterAny:
			n := uint64(op - opRegister)
			if op == opRegisterAny {
				n = c.uleb()
			}
			v, ok := t.register(n)
			if !ok {
				return 0, false
			}
			s.push(v + uint64(c.sleb()))
		case op >= opConst1u && op <= opConst8s:
			size := 1 << ((op - opConst1u) / 2)
			if op%2 == 0 {
				s.push(c.unsigned(size))
			} else {
				s.push(uint64(c.signed(size)))
			}
		case op == opConstUnsigned:
			s.push(c.uleb())
		case op == opConstSigned:
			s.push(uint64(c.sleb()))
		case op == opAddress:
			return 0, false // an address of the image, which frames do not need
		case op == opDeref, op == opDerefSize:
			size := byte(8)
			if op == opDerefSize {
				size = c.u8()
			}
			v, ok := t.read(s.pop())
			if !ok || size == 0 || size > 8 {
				return 0, false
			}
			s.push(v << (64 - 8*size) >> (64 - 8*size))
		case op == opDuplicate:
			s.push(s.pick(0))
		case op == opDrop:
			s.pop()
		case op == opOver:
			s.push(s.pick(1))
		case op == opPick:
			s.push(s.pick(int(c.u8())))
		case op == opSwap:
			a, b := s.pop(), s.pop()
			s.push(a)
			s.push(b)
		case op == opRotate:
			a, b, d := s.pop(), s.pop(), s.pop()
			s.push(a)
			s.push(d)
			s.push(b)
		case op == opAbsolute, op == opNegate, op == opNot, op == opPlusConstant:
			v := s.pop()
			switch {
			case op == opNot:
				v = ^v
			case op == opPlusConstant:
				v += c.uleb()
			case op == opNegate, int64(v) < 0:
				v = -v
			}
			s.push(v)
		case op >= opAnd && op <= opXor, op >= opEqual && op <= opNotEqual:
			b, a := s.pop(), s.pop()
			v, ok := combined(op, a, b)
			if !ok {
				return 0, false
			}
			s.push(v)
		case op == opBranch, op == opSkip:
			by := int(c.signed(2))
			if op == opBranch && s.pop() == 0 {
				break
			}
			if to := c.at + by; to < 0 || to > len(c.b) {
				return 0, false
			} else {
				c.at = to
			}
		case op == opNothing:
		default:
			return 0, false
		}
	}
	v := s.pop()
	return v, !c.bad && !s.bad
}

// combined applies an instruction to two values.
func combined(op byte, a, b uint64) (uint64, bool) {
	flag := func(yes bool) (uint64, bool) {
		if yes {
			return 1, true
		}
		return 0, true
	}
	x, y := int64(a), int64(b)
	switch op {
	case opAnd:
		return a & b, true
	case opDivide:
		if b == 0 {
			return 0, false
		}
		return uint64(x / y), true
	case opMinus:
		return a - b, true
	case opModulo:
		if b == 0 {
			return 0, false
		}
		return a % b, true
	case opMultiply:
		return a * b, true
	case opOr:
		return a | b, true
	case opPlus:
		return a + b, true
	case opShiftLeft:
		return a << b, true
	case opShiftRight:
		return a >> b, true
	case opShiftArithmetic:
		return uint64(x >> b), true
	case opXor:
		return a ^ b, true
	case opEqual:
		return flag(x == y)
	case opEqual + 1:
		return flag(x >= y)
	case opEqual + 2:
		return flag(x > y)
	case opEqual + 3:
		return flag(x <= y)
	case opEqual + 4:
		return flag(x < y)
	case opNotEqual:
		return flag(x != y)
	}
	return 0, false
}
