package stacks

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
)

// firefoxVersion is the version of the format that is written: the processed profile of Firefox
// Profiler, github.com/firefox-devtools/profiler, docs-developer/CHANGELOG-formats.md and
// src/types/profile.ts. It is not the newest, and need not be: the profiler reads all older ones.
// Since 60 threads share their tables.
const firefoxVersion = 60

// geckoVersion is the version of Firefox's own format that the profiler asks for beside it.
const geckoVersion = 31

type (
	firefoxFile struct {
		Meta    firefoxMeta      `json:"meta"`
		Libs    []firefoxLib     `json:"libs"`
		Shared  firefoxShared    `json:"shared"`
		Threads []*firefoxThread `json:"threads"`
	}
	firefoxMeta struct {
		Interval     float64           `json:"interval"`  // milliseconds
		StartTime    float64           `json:"startTime"` // milliseconds since 1970
		EndTime      float64           `json:"profilingEndTime"`
		ProcessType  int               `json:"processType"`
		Product      string            `json:"product"`
		Importer     string            `json:"importedFrom"`
		System       string            `json:"oscpu"`
		Stackwalk    int               `json:"stackwalk"`
		Version      int               `json:"version"`
		Processed    int               `json:"preprocessedProfileVersion"`
		Symbolicated bool              `json:"symbolicated"`
		Categories   []firefoxCategory `json:"categories"`
		MarkerSchema []struct{}        `json:"markerSchema"`
		Order        bool              `json:"keepProfileThreadOrder"`
		OneType      bool              `json:"usesOnlyOneStackType"`
		NotSearchfox bool              `json:"sourceCodeIsNotOnSearchfox"`
	}
	firefoxCategory struct {
		Name          string   `json:"name"`
		Color         string   `json:"color"`
		Subcategories []string `json:"subcategories"`
	}
	firefoxLib struct {
		Arch       string  `json:"arch"`
		Name       string  `json:"name"`
		Path       string  `json:"path"`
		DebugName  string  `json:"debugName"`
		DebugPath  string  `json:"debugPath"`
		BreakpadID string  `json:"breakpadId"`
		CodeID     *string `json:"codeId"`
	}
	firefoxShared struct {
		Strings   []string         `json:"stringArray"`
		Stacks    firefoxStacks    `json:"stackTable"`
		Frames    firefoxFrames    `json:"frameTable"`
		Funcs     firefoxFuncs     `json:"funcTable"`
		Resources firefoxResources `json:"resourceTable"`
		Natives   firefoxNatives   `json:"nativeSymbols"`
		Sources   firefoxSources   `json:"sources"`
	}
	firefoxStacks struct {
		Frame  []int  `json:"frame"`
		Prefix []*int `json:"prefix"`
		Length int    `json:"length"`
	}
	firefoxFrames struct {
		Address       []int64 `json:"address"`
		InlineDepth   []int   `json:"inlineDepth"`
		Category      []int   `json:"category"`
		Subcategory   []int   `json:"subcategory"`
		Func          []int   `json:"func"`
		NativeSymbol  []*int  `json:"nativeSymbol"`
		InnerWindowID []*int  `json:"innerWindowID"`
		Line          []*int  `json:"line"`
		Column        []*int  `json:"column"`
		Length        int     `json:"length"`
	}
	firefoxFuncs struct {
		Name     []int  `json:"name"`
		IsJS     []bool `json:"isJS"`
		ForJS    []bool `json:"relevantForJS"`
		Resource []int  `json:"resource"`
		Source   []*int `json:"source"`
		Line     []*int `json:"lineNumber"`
		Column   []*int `json:"columnNumber"`
		Length   int    `json:"length"`
	}
	firefoxResources struct {
		Lib    []int  `json:"lib"`
		Name   []int  `json:"name"`
		Host   []*int `json:"host"`
		Type   []int  `json:"type"`
		Length int    `json:"length"`
	}
	firefoxNatives struct {
		Lib     []int `json:"libIndex"`
		Address []int `json:"address"`
		Name    []int `json:"name"`
		Size    []int `json:"functionSize"`
		Length  int   `json:"length"`
	}
	firefoxSources struct {
		UUID   []*string `json:"uuid"`
		Name   []int     `json:"filename"`
		Length int       `json:"length"`
	}
	firefoxThread struct {
		ProcessType string         `json:"processType"`
		Startup     float64        `json:"processStartupTime"`
		Shutdown    *float64       `json:"processShutdownTime"`
		Register    float64        `json:"registerTime"`
		Unregister  *float64       `json:"unregisterTime"`
		Paused      []struct{}     `json:"pausedRanges"`
		Name        string         `json:"name"`
		Main        bool           `json:"isMainThread"`
		Process     string         `json:"processName"`
		PID         string         `json:"pid"`
		TID         string         `json:"tid"`
		Samples     firefoxSamples `json:"samples"`
		Markers     firefoxMarkers `json:"markers"`
	}
	firefoxSamples struct {
		Stack  []int     `json:"stack"`
		Time   []float64 `json:"time"`
		Weight []float64 `json:"weight"`
		Type   string    `json:"weightType"`
		Length int       `json:"length"`
	}
	firefoxMarkers struct {
		Data     []struct{} `json:"data"`
		Name     []int      `json:"name"`
		Start    []float64  `json:"startTime"`
		End      []float64  `json:"endTime"`
		Phase    []int      `json:"phase"`
		Category []int      `json:"category"`
		Length   int        `json:"length"`
	}
)

// The categories of frames, which give samples their colours. The profiler wants a grey one.
const (
	firefoxOther = iota
	firefoxUser
	firefoxKernel
	firefoxWaiting
)

var firefoxCategories = []firefoxCategory{
	{"Other", "grey", []string{"Other"}}, {"User", "yellow", []string{"Other"}}, {"Kernel", "orange", []string{"Other"}}, {"Waiting", "blue", []string{"Other"}},
}

// WriteFirefox writes a file for Firefox Profiler. The profile must have its ticks. What was sampled
// of a thread from one tick to the next is spread over the time between them, each stack with as much
// of it as it has of the samples, or of the time waited: their order within that time is not known.
func (p *Profile) WriteFirefox(w io.Writer, title, exporter string, state State) error {
	b := bufio.NewWriter(w)
	if err := json.NewEncoder(b).Encode(newFirefox(p).file(title, exporter, state)); err != nil {
		return err
	}
	return b.Flush()
}

// longestTick is the most time that the samples of a tick are spread over.
const longestTick = int64(time.Second)

// file makes the file.
func (f *firefox) file(title, exporter string, state State) *firefoxFile {
	p := f.p
	before := int64(0) // the tick before
	start, perTick := int64(0), uint64(1)
	for first := 0; first < len(p.Ticks); {
		at := p.Ticks[first].Wall
		next := first
		for next < len(p.Ticks) && p.Ticks[next].Wall == at {
			next++
		}
		long := longestTick
		if gap := at - before; first == 0 {
			start = at - long
		} else if gap > 0 {
			long = min(long, gap)
		}
		perTick = max(perTick, f.tick(p.Ticks[first:next], at-start-long, long, state))
		first, before = next, at
	}
	if state == Waited {
		perTick = 1
	}
	file := &firefoxFile{Libs: f.libs, Shared: f.shared, Threads: []*firefoxThread{}}
	for i, t := range f.threads {
		if t != nil {
			if t.Samples.Type = "samples"; state == Waited {
				t.Samples.Type = "tracing-ms"
			}
			file.Threads = append(file.Threads, t)
			t.Name, t.Process = p.Threads[i].Name, p.Threads[i].Command
			if t.Name == "" {
				t.Name = t.Process
			}
		}
	}
	file.Meta = firefoxMeta{
		Interval: milliseconds(longestTick) / float64(perTick), StartTime: milliseconds(start), EndTime: milliseconds(p.To - start), Product: title, Importer: exporter,
		System: strings.TrimSpace(p.Host.OS + " " + p.Host.Release), Stackwalk: 1, Version: geckoVersion, Processed: firefoxVersion, Symbolicated: true, Categories: firefoxCategories,
		MarkerSchema: []struct{}{}, Order: true, OneType: true, NotSearchfox: true,
	}
	return file
}

func milliseconds(ns int64) float64 { return float64(ns/1000) / 1000 }

// tick adds the samples of a tick, which are from an instant on for so long, and returns the most of a
// thread.
func (f *firefox) tick(list []Tick, from, long int64, state State) (most uint64) {
	of := make(map[int32]uint64)
	for i := range list {
		of[f.p.Stacks[list[i].Stack].Thread] += list[i].of(state)
	}
	weight := func(n uint64) float64 { return float64(n) }
	if state == Waited {
		weight = func(n uint64) float64 { return milliseconds(int64(n)) }
	}
	done := make(map[int32]uint64)
	for i := range list {
		k := &f.p.Stacks[list[i].Stack]
		all := of[k.Thread]
		most = max(most, all)
		add := func(n uint64, waited bool) {
			if n == 0 {
				return
			}
			s := &f.thread(k.Thread).Samples
			at := float64(from) + float64(long)*float64(done[k.Thread])/float64(all)
			s.Stack, s.Time, s.Weight = append(s.Stack, f.stack(k, waited, state)), append(s.Time, milliseconds(int64(at))), append(s.Weight, weight(n))
			s.Length++
			done[k.Thread] += n
		}
		switch state {
		case Any:
			add(list[i].of(Running), false)
			add(list[i].of(Waiting), true)
		default:
			add(list[i].of(state), state != Running)
		}
	}
	return most
}

// thread returns a thread's entry.
func (f *firefox) thread(n int32) *firefoxThread {
	if f.threads[n] == nil {
		t := &f.p.Threads[n]
		pid := strconv.Itoa(t.PID)
		// A pid may have been that of several processes.
		if first, known := f.processes[t.PID]; !known {
			f.processes[t.PID] = t.Process
		} else if first != t.Process {
			pid += " " + t.Process
		}
		f.threads[n] = &firefoxThread{ProcessType: "default", Paused: []struct{}{}, Main: t.TID == strconv.Itoa(t.PID), PID: pid, TID: t.TID,
			Markers: firefoxMarkers{[]struct{}{}, []int{}, []float64{}, []float64{}, []int{}, []int{}, 0}}
	}
	return f.threads[n]
}
