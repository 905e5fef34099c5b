package linux

import (
	"bytes"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// pressure reads /proc/pressure: how long work waited for a lack of some resource.
type pressure struct {
	files  [len(pressureFiles)]*file
	total  *metric.Group
	avg    *metric.Group
	spans  [3]metric.Instance
	values [len(pressureColumns)]pressureLine
	absent [len(pressureFiles)]bool
}

var pressureFiles = [...]string{"cpu", "memory", "io", "irq"}

// pressureColumns are the lines with metrics; the kernel's line "full" of cpu is always zero for
// the system as a whole.
var pressureColumns = [...]struct {
	file int
	kind string
}{
	{0, "some"}, {1, "some"}, {1, "full"}, {2, "some"}, {2, "full"}, {3, "full"},
}

// pressureLine is a line of such a file.
type pressureLine struct {
	ok    bool
	avg   [3]float64
	total uint64
}

func newPressure(root string) (*pressure, error) {
	p := &pressure{}
	for i, name := range pressureFiles {
		p.files[i] = newFile(root + "/proc/pressure/" + name)
	}
	for i, name := range [...]string{"10 second", "1 minute", "5 minute"} {
		p.spans[i] = metric.Instance{ID: uint64(i + 1), Key: name, Name: name}
	}
	return p, p.Refresh()
}

func (p *pressure) Name() string            { return "pressure" }
func (p *pressure) Groups() []*metric.Group { return []*metric.Group{p.total, p.avg} }

func (p *pressure) Close() error {
	for _, f := range p.files {
		f.close()
	}
	return nil
}

func (p *pressure) Refresh() error {
	var total, avg []string
	for _, c := range pressureColumns {
		stem := "kernel.all.pressure." + pressureFiles[c.file] + "." + c.kind
		total, avg = append(total, stem+".total"), append(avg, stem+".avg")
	}
	p.total = catalog.Group(catalog.Linux, "pressure", total...)
	p.avg = catalog.Group(catalog.Linux, "pressure average", avg...)
	p.absent = [len(pressureFiles)]bool{}
	errs := p.readAll()
	for i, err := range errs {
		p.absent[i] = err != nil
	}
	for i, c := range pressureColumns {
		text := ""
		if err := errs[c.file]; err != nil {
			text = lacking("/proc/pressure/"+pressureFiles[c.file], err)
		} else if !p.values[i].ok {
			text = "this kernel does not account it"
		}
		p.total.Metrics[i].Unsupported, p.avg.Metrics[i].Unsupported = text, text
	}
	return nil
}

func (p *pressure) readAll() (errs [len(pressureFiles)]error) {
	for i, f := range p.files {
		if p.absent[i] {
			continue
		}
		var data []byte
		data, errs[i] = f.read()
		for j, c := range pressureColumns {
			if c.file == i {
				p.values[j] = findPressure(data, c.kind)
			}
		}
	}
	return errs
}

// findPressure finds the line of a kind: "some avg10=0.63 avg60=0.89
// avg300=0.99 total=12058987".
func findPressure(data []byte, kind string) (p pressureLine) {
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		w, l := word(l)
		if string(w) != kind {
			continue
		}
		ok := true
		for i := range p.avg {
			w, l = word(l)
			_, v, _ := bytes.Cut(w, equals)
			var good bool
			p.avg[i], good = decimal(v)
			ok = ok && good
		}
		w, _ = word(l)
		_, v, _ := bytes.Cut(w, equals)
		var good bool
		p.total, good = unsigned(v)
		p.ok = ok && good
		return p
	}
	return p
}

var equals = []byte{'='}

func (p *pressure) Read(c *sample.Context, frames []*sample.Frame) error {
	errs := p.readAll()
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		if f.Full() == p.total {
			f.Row(nil)
		} else {
			for i := range p.spans {
				f.Row(&p.spans[i])
			}
		}
		for i, col := range pressureColumns {
			v := &p.values[i]
			for row := range f.Block().Rows {
				switch {
				case !v.ok:
					f.SetMissing(row, i, why(errs[col.file]))
				case f.Full() == p.total:
					f.SetUint(row, i, v.total)
				default:
					f.SetFloat(row, i, v.avg[row])
				}
			}
		}
	}
	return nil
}
