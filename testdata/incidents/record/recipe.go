package main

import (
	"context"
	"slices"
	"time"
)

// A recipe says how an incident is made, and what is true about it.
type recipe struct {
	Name  string
	Title string
	// Seconds after onset: the moment to ask about, and how long the incident lasts. The window
	// to ask about begins around seconds before onset.
	asked, length, around float64

	known known
	mac   *mac // one of mac, linux and here is set
	linux *linux
	// here makes the incident on this machine, beside its other work.
	here func(ctx context.Context, root, scratch string) (archives []string, onset time.Time, err error)
}

// known is written beside an archive: the truth, and what an answer about the cause must say.
type known struct {
	Name  string    `json:"name"`
	Title string    `json:"title"`
	Host  string    `json:"host"`
	Onset time.Time `json:"onset"`
	// At is a moment that a person would ask about, From and To a window.
	At   time.Time `json:"at"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Cause is the true cause in a few words, Culprit the name of the process, device, volume or
	// interface.
	Cause   string `json:"cause"`
	Culprit string `json:"culprit,omitempty"`
	Pid     int    `json:"pid,omitempty"`
	// Want are regular expressions, each of which must match in the first three lines of the
	// answer, ignoring case.
	Want []string `json:"want"`
}

func (r *recipe) where() string {
	if r.mac != nil {
		return "Mac"
	}
	if r.here != nil {
		return "here"
	}
	return "Linux"
}

// recipes are all incidents.
var recipes = slices.Concat(onMac, onLinux, besides)

func find(name string) *recipe {
	for i := range recipes {
		if recipes[i].Name == name {
			return &recipes[i]
		}
	}
	return nil
}
