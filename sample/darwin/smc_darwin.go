package darwin

import (
	"fmt"
	"strconv"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// smcSelector is the driver's method for requests.
const smcSelector = 2

// smcKey is a key that this Mac has. Its size and encoding are read once.
type smcKey struct {
	name     string
	size     uint32
	encoding string
	failed   metric.Reason // the last failure, so that its text is made once
}

// smcSource reads temperatures and fans from the System Management Controller.
type smcSource struct {
	temperatures, fans *metric.Group
	sensors, fanRows   []rows.Row // parallel to their metrics

	open      bool
	conn      sys.Connection
	in, out   [decode.SMCSize]byte
	keys      []*smcKey   // parallel to the temperatures; nil for lacking ones
	fanKeys   [][]*smcKey // per fan, parallel to the fans' metrics
	instances []*metric.Instance
}

func newSMCSource() *smcSource { return &smcSource{} }

func (s *smcSource) Name() string            { return "smc" }
func (s *smcSource) Groups() []*metric.Group { return []*metric.Group{s.temperatures, s.fans} }

func (s *smcSource) Close() error {
	if !s.open {
		return nil
	}
	s.open = false
	return s.conn.Close()
}

func (s *smcSource) Refresh() error {
	brand, _ := sys.SysctlText("machdep.cpu.brand_string")
	sensors, fans := smcRows(metric.NoIndom), smcRows("fan")
	s.temperatures, s.fans = groupOf("smc", sensors), groupOf("fan", fans)
	s.sensors, s.fanRows = sensors, fans
	s.keys, s.fanKeys, s.instances = make([]*smcKey, len(sensors)), nil, nil
	if why := s.connect(); why != "" {
		unsupported(s.temperatures, why)
		unsupported(s.fans, why)
		return nil
	}
	for i, r := range sensors {
		keys := smcKeys(r, brand)
		s.keys[i] = s.first(keys, func(k *smcKey) bool {
			v, why := s.read(k)
			return why == metric.Present && sane(r, v)
		})
		switch {
		case s.keys[i] != nil:
			r.Source = smcPrefix + s.keys[i].name
		case len(keys) == 0:
			r.Unsupported = "nobody has told which of the SMC's keys is this sensor's on " + brand
		default:
			r.Unsupported = fmt.Sprintf("this Mac's SMC has none of the keys %v", keys)
		}
	}
	s.findFans(fans)
	return nil
}

// connect opens the SMC, once.
func (s *smcSource) connect() (why string) {
	if s.open {
		return ""
	}
	why = "this Mac has no SMC"
	err := sys.Services(sys.NewClass("AppleSMC"), func(x sys.Service) bool {
		if s.open {
			return false
		}
		conn, err := x.Open()
		if err != nil {
			why = "AppleSMC: " + err.Error()
			return false
		}
		s.conn, s.open, why = conn, true, ""
		return false
	})
	if err != nil {
		return err.Error()
	}
	return why
}

func (s *smcSource) findFans(rs []rows.Row) {
	n := 0
	if k := s.find(fansKey); k != nil {
		v, _ := s.read(k)
		n = min(int(v), maxFans)
	}
	if n <= 0 {
		unsupported(s.fans, "this Mac has no fans")
		return
	}
	has := make([]bool, len(rs))
	for fan := range n {
		keys := make([]*smcKey, len(rs))
		for i, r := range rs {
			keys[i] = s.first(fanKeys(r, fan), func(*smcKey) bool { return true })
			has[i] = has[i] || keys[i] != nil
		}
		name := "fan" + strconv.Itoa(fan)
		s.fanKeys = append(s.fanKeys, keys)
		s.instances = append(s.instances, &metric.Instance{ID: uint64(fan), Key: name, Name: name})
	}
	for i, r := range rs {
		if !has[i] {
			r.Unsupported = fmt.Sprintf("this Mac's SMC has none of the keys %v", fanKeys(r, 0))
		}
	}
}

// first returns the first of some keys that the SMC has and that is good, else the first that it
// has, or nil.
func (s *smcSource) first(names []string, good func(*smcKey) bool) (first *smcKey) {
	for _, name := range names {
		k := s.find(name)
		switch {
		case k == nil:
		case good(k):
			return k
		case first == nil:
			first = k
		}
	}
	return first
}

// find returns a key if the SMC has it and we can decode it, else nil.
func (s *smcSource) find(name string) *smcKey {
	decode.SMCRequest(s.in[:], name, decode.SMCInfo, 0)
	if s.conn.Call(smcSelector, s.in[:], s.out[:]) != nil || s.out[decode.SMCResult.Off] != 0 {
		return nil
	}
	size, _ := decode.SMCDataSize.Uint(s.out[:])
	kind, _ := decode.SMCDataType.Uint(s.out[:])
	k := &smcKey{name: name, size: uint32(size), encoding: decode.SMCType(uint32(kind))}
	if _, ok := decode.SMCValue(k.encoding, make([]byte, min(size, 32))); !ok {
		return nil
	}
	return k
}

// read reads a key's value.
func (s *smcSource) read(k *smcKey) (float64, metric.Reason) {
	decode.SMCRequest(s.in[:], k.name, decode.SMCRead, k.size)
	if err := s.conn.Call(smcSelector, s.in[:], s.out[:]); err != nil {
		k.failed = reasonFor(err)
		return 0, k.failed
	}
	if code := s.out[decode.SMCResult.Off]; code != 0 {
		if k.failed == metric.Present {
			k.failed = metric.ReasonFor(fmt.Sprintf("the SMC answers %#x", code))
		}
		return 0, k.failed
	}
	k.failed = metric.Present
	v, ok := decode.SMCValue(k.encoding, s.out[decode.SMCBytes.Off:][:k.size])
	if !ok {
		return 0, badAnswer
	}
	return v, metric.Present
}

func (s *smcSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		if f.Full() == s.temperatures {
			s.fill(f, f.Row(nil), s.keys, s.sensors)
			continue
		}
		for i, in := range s.instances {
			s.fill(f, f.Row(in), s.fanKeys[i], s.fanRows)
		}
	}
	return nil
}

func (s *smcSource) fill(f *sample.Frame, row int, keys []*smcKey, rs []rows.Row) {
	for col, k := range keys {
		if !f.Wants(col) {
			continue
		}
		if k == nil {
			f.SetMissing(row, col, metric.Unsupported)
			continue
		}
		v, why := s.read(k)
		switch {
		case why != metric.Present:
			f.SetMissing(row, col, why)
		case !sane(rs[col], v):
			f.SetMissing(row, col, rows.Implausible)
		case f.Full().Metrics[col].Type.Float():
			f.SetFloat(row, col, v)
		default:
			f.SetUint(row, col, uint64(v))
		}
	}
}
