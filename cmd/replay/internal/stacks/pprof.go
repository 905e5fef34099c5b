package stacks

import (
	"compress/gzip"
	"io"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"tachograph/cmd/replay/internal/fields"
)

// Fields of the messages of a pprof profile: github.com/google/pprof, proto/profile.proto.
const (
	profileSampleType = 1
	profileSample     = 2
	profileMapping    = 3
	profileLocation   = 4
	profileFunction   = 5
	profileStrings    = 6
	profileTime       = 9
	profileDuration   = 10
	profileComment    = 13
	profileDefault    = 14

	typeType, typeUnit = 1, 2

	sampleLocations, sampleValues, sampleLabel = 1, 2, 3

	labelKey, labelText, labelNumber = 1, 2, 3

	mappingID, mappingStart, mappingFile, mappingBuild, mappingFunctions = 1, 2, 5, 6, 7

	locationID, locationMapping, locationAddress, locationLine = 1, 2, 3, 4

	lineFunction, lineNumber = 1, 2

	functionID, functionName, functionSystem, functionFile, functionLine = 1, 2, 3, 4, 5
)

// proto writes a profile. Its messages are few and flat; Google's package for them
// compiles expressions for a dozen older formats whenever a program starts.
type proto struct {
	w       io.Writer
	message []byte // being built
	strings map[string]uint64
	list    []string
	err     error
}

// text returns the number of a string.
func (o *proto) text(s string) uint64 {
	n, known := o.strings[s]
	if !known {
		n = uint64(len(o.list))
		o.strings[s] = n
		o.list = append(o.list, s)
	}
	return n
}

func number(b []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return fields.Uint(b, field, n)
}

// put writes a message as a field of the profile.
func (o *proto) put(field protowire.Number, message []byte) {
	if o.err != nil {
		return
	}
	o.message = fields.Bytes(o.message[:0], field, message)
	_, o.err = o.w.Write(o.message)
}

// WritePprof writes a profile for go tool pprof and similar tools: samples, how many of them were
// running and waiting, and the time waited where it was measured, with process, thread, queue,
// wait and waker as labels.
func (p *Profile) WritePprof(w io.Writer, comment string, state State) error {
	z := gzip.NewWriter(w)
	o := &proto{w: z, strings: make(map[string]uint64)}
	o.text("")
	kinds := []State{Any, Running, Waiting}
	if state != Any {
		kinds = []State{state}
	}
	if state == Waited {
		kinds = []State{Waiting, Waited}
	} else if state != Running && p.Sum(Waited) > 0 {
		kinds = append(kinds, Waited)
	}
	for _, s := range kinds {
		unit := "count"
		if s == Waited {
			unit = "nanoseconds"
		}
		o.put(profileSampleType, number(number(nil, typeType, o.text(s.String())), typeUnit, o.text(unit)))
	}
	p.pprofSamples(o, kinds)
	p.pprofPlaces(o)
	var rest []byte
	rest = number(rest, profileTime, uint64(p.From))
	rest = number(rest, profileDuration, uint64(p.To-p.From))
	rest = number(rest, profileComment, o.text(comment))
	rest = number(rest, profileDefault, o.text(state.String()))
	for _, s := range o.list {
		o.put(profileStrings, []byte(s))
	}
	if o.err == nil {
		_, o.err = z.Write(rest)
	}
	if err := z.Close(); o.err == nil {
		o.err = err
	}
	return o.err
}

func (p *Profile) pprofSamples(o *proto, kinds []State) {
	var b, packed, label []byte
	for i := range p.Stacks {
		k := &p.Stacks[i]
		if !slices.ContainsFunc(kinds, func(s State) bool { return s.Of(k) > 0 }) {
			continue
		}
		packed = packed[:0]
		for at := k.Place; at >= 0; at = p.Places[at].Caller {
			packed = protowire.AppendVarint(packed, uint64(at)+1)
		}
		b = fields.Bytes(b[:0], sampleLocations, packed)
		packed = packed[:0]
		for _, s := range kinds {
			packed = protowire.AppendVarint(packed, s.Of(k))
		}
		b = fields.Bytes(b, sampleValues, packed)
		t := &p.Threads[k.Thread]
		add := func(key, text string) {
			if text == "" {
				return
			}
			label = number(label[:0], labelKey, o.text(key))
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && (key == "pid" || key == "tid") {
				label = number(label, labelNumber, uint64(n))
			} else {
				label = number(label, labelText, o.text(text))
			}
			b = fields.Bytes(b, sampleLabel, label)
		}
		add("process", t.Command)
		add("pid", strconv.Itoa(t.PID))
		add("tid", t.TID)
		add("thread", t.Name)
		add("queue", t.Queue)
		add("wait", k.Wait)
		add("end", k.End)
		if k.Waker != nil {
			add("waker", p.WakerText(k.Waker))
		}
		o.put(profileSample, b)
	}
}

func (p *Profile) pprofPlaces(o *proto) {
	var b, line []byte
	for i := range p.Images {
		m := &p.Images[i]
		b = number(b[:0], mappingID, uint64(i)+1)
		b = number(b, mappingStart, m.Base)
		b = number(b, mappingFile, o.text(m.Path))
		b = number(b, mappingBuild, o.text(m.ID))
		o.put(profileMapping, number(b, mappingFunctions, 1))
	}
	for i := range p.Places {
		at := &p.Places[i]
		f := &p.Functions[at.Function]
		b = number(b[:0], locationID, uint64(i)+1)
		address := at.Offset
		if f.Image >= 0 {
			b = number(b, locationMapping, uint64(f.Image)+1)
			address += p.Images[f.Image].Base
		}
		b = number(b, locationAddress, address)
		line = number(line[:0], lineFunction, uint64(at.Function)+1)
		line = number(line, lineNumber, uint64(at.Line))
		o.put(profileLocation, fields.Bytes(b, locationLine, line))
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		b = number(b[:0], functionID, uint64(i)+1)
		b = number(b, functionName, o.text(f.Name))
		system := f.Symbol
		if system == "" {
			system = f.Name
		}
		b = number(b, functionSystem, o.text(system))
		b = number(b, functionFile, o.text(f.File))
		o.put(profileFunction, number(b, functionLine, uint64(f.Line)))
	}
}
