package stacks

import (
	"bufio"
	"encoding/json"
	"io"
)

// The file format of speedscope: github.com/jlfwong/speedscope, src/lib/file-format-spec.ts.
type (
	speedscopeFile struct {
		Schema   string              `json:"$schema"`
		Exporter string              `json:"exporter"`
		Name     string              `json:"name"`
		Active   int                 `json:"activeProfileIndex"`
		Shared   speedscopeShared    `json:"shared"`
		Profiles []speedscopeProfile `json:"profiles"`
	}
	speedscopeShared struct {
		Frames []speedscopeFrame `json:"frames"`
	}
	speedscopeFrame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int32  `json:"line,omitempty"`
	}
	speedscopeProfile struct {
		Type    string    `json:"type"`
		Name    string    `json:"name"`
		Unit    string    `json:"unit"`
		Start   uint64    `json:"startValue"`
		End     uint64    `json:"endValue"`
		Samples [][]int32 `json:"samples"`
		Weights []uint64  `json:"weights"`
	}
)

const speedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

// WriteSpeedscope writes a file for speedscope: a profile for each process, for each thread, or
// for all together.
func (p *Profile) WriteSpeedscope(w io.Writer, title, exporter string, by By, state State) error {
	file := speedscopeFile{Schema: speedscopeSchema, Exporter: exporter, Name: title, Shared: speedscopeShared{Frames: []speedscopeFrame{}}}
	for i := range p.Functions {
		f := &p.Functions[i]
		where := f.File
		if where == "" {
			where = p.Library(int32(i))
		}
		file.Shared.Frames = append(file.Shared.Frames, speedscopeFrame{f.Name, where, f.Line})
	}
	root := p.Tree(by, state)
	unit := "none"
	if state == Waited {
		unit = "nanoseconds"
	}
	switch by {
	case ByNothing:
		file.Profiles = append(file.Profiles, speedscopeOf(title, unit, root))
	case ByThread:
		for _, process := range root.Children {
			for _, t := range process.Children {
				file.Profiles = append(file.Profiles, speedscopeOf(process.Title+", "+t.Title, unit, t))
			}
		}
	default:
		for _, process := range root.Children {
			file.Profiles = append(file.Profiles, speedscopeOf(process.Title, unit, process))
		}
	}
	b := bufio.NewWriter(w)
	if err := json.NewEncoder(b).Encode(&file); err != nil {
		return err
	}
	return b.Flush()
}

func speedscopeOf(title, unit string, root *Node) speedscopeProfile {
	one := speedscopeProfile{Type: "sampled", Name: title, Unit: unit, End: root.Count}
	var path []int32
	var add func(n *Node)
	add = func(n *Node) {
		if n.Function >= 0 {
			path = append(path, n.Function)
			defer func() { path = path[:len(path)-1] }()
		}
		if n.Self > 0 {
			one.Samples = append(one.Samples, append([]int32{}, path...))
			one.Weights = append(one.Weights, n.Self)
		}
		for _, c := range n.Children {
			add(c)
		}
	}
	add(root)
	return one
}
