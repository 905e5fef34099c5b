package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// timedCommand is the argument with which this program runs a single command.
const timedCommand = "timed"

// taken is what one run of a command took.
type taken struct {
	Wall, CPU float64 // ms
	Resident  float64 // MB
	Lines     int     // of output
	GaveUp    bool
}

// timed runs a command and prints what it took.
func timed(command []string) error {
	t, err := takeTime(command, patience)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

func takeTime(command []string, patience time.Duration) (*taken, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 1<<16)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var lines counter
	_, err = io.CopyBuffer(&lines, struct{ io.Reader }{pipe}, buf)
	err = errors.Join(err, cmd.Wait())
	took := time.Since(began)
	if ctx.Err() != nil {
		return &taken{GaveUp: true}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	state := cmd.ProcessState
	t := &taken{Wall: took.Seconds() * 1e3, CPU: (state.UserTime() + state.SystemTime()).Seconds() * 1e3, Lines: lines.lines}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		t.Resident = float64(usage.Maxrss) / 1024
	}
	return t, nil
}

// counter counts lines.
type counter struct{ lines int }

func (c *counter) Write(b []byte) (int, error) {
	c.lines += bytes.Count(b, []byte{'\n'})
	return len(b), nil
}
