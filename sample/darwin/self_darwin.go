package darwin

import (
	"syscall"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

const machTaskBasicInfo = 20

const (
	colSelfUser = iota
	colSelfSystem
	colSelfResident
	colSelfVirtual
	colSelfUptime
	colSelfPlatform
)

// Memory returns the resident and virtual memory of this program, in bytes; 0 if the kernel does
// not report it.
func Memory() (resident, virtual int64) {
	var words [12]uint32
	var b [4 * len(words)]byte
	n, err := sys.SelfInfo(machTaskBasicInfo, words[:])
	if err != nil {
		return 0, 0
	}
	answer := decode.Words(b[:0], words[:n])
	r, _ := decode.TaskResident.Uint(answer)
	v, _ := decode.TaskVirtual.Uint(answer)
	return int64(r), int64(v)
}

// selfSource is the source of what the recorder costs its own host. The times include all its
// threads, living or not, which getrusage has and task_info does not.
type selfSource struct {
	group  *metric.Group
	began  metric.Stamp
	words  [12]uint32
	answer []byte
}

func newSelfSource() *selfSource { return &selfSource{began: Now()} }

func (s *selfSource) Name() string            { return "self" }
func (s *selfSource) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *selfSource) Close() error            { return nil }

func (s *selfSource) Refresh() error {
	s.group = catalog.Group(catalog.Darwin, "self", "process.user_time_us", "process.system_time_us",
		"process.resident_size", "process.virtual_size", "process.uptime_secs", "platform")
	return nil
}

func (s *selfSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	var use syscall.Rusage
	useErr := syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	n, infoErr := sys.SelfInfo(machTaskBasicInfo, s.words[:])
	s.answer = decode.Words(s.answer, s.words[:n])
	for _, f := range frames {
		f.Reset(at)
		row := f.Row(nil)
		if useErr == nil {
			f.SetInt(row, colSelfUser, use.Utime.Nano()/1000)
			f.SetInt(row, colSelfSystem, use.Stime.Nano()/1000)
		} else {
			f.SetMissing(row, colSelfUser, reasonFor(useErr))
			f.SetMissing(row, colSelfSystem, reasonFor(useErr))
		}
		for col, field := range [...]*decode.Field{colSelfResident: decode.TaskResident, colSelfVirtual: decode.TaskVirtual} {
			if field == nil {
				continue
			}
			if v, ok := field.Uint(s.answer); ok {
				f.SetUint(row, col, v)
			} else if infoErr != nil {
				f.SetMissing(row, col, reasonFor(infoErr))
			}
		}
		f.SetFloat(row, colSelfUptime, float64(at.Cont-s.began.Cont)/1e9)
		f.SetString(row, colSelfPlatform, catalog.Darwin.Name())
	}
	return nil
}
