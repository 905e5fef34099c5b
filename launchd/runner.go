package launchd

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// Result is the result of a command.
type Result struct {
	Code        int
	Out, Errors string
}

// Runner runs the commands that drive services. An error means that the
// command could not be run at all.
type Runner interface {
	Run(name string, args ...string) (Result, error)
}

// Exec runs real commands.
type Exec struct{}

// commandLimit is how long a command may take: launchctl can block while launchd is busy.
const commandLimit = time.Minute

// Run runs one command.
func (Exec) Run(name string, args ...string) (Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	// Commands must not see the environment of root's shell.
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"}
	err := cmd.Run()
	r := Result{Out: out.String(), Errors: strings.TrimSpace(errs.String())}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, &exit) && ctx.Err() == nil:
		r.Code = exit.ExitCode()
		return r, nil
	case ctx.Err() != nil:
		return r, errors.New(name + " did not end within a minute")
	}
	return r, err
}
