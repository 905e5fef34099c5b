package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"tachograph/config"
	"tachograph/config/trust"
)

// execute runs a command of the configuration with additional arguments, within a time limit.
func execute(ctx context.Context, command []string, more, env []string, limit time.Duration) error {
	program, err := trust.Running(os.Geteuid()).Command(command)
	if err != nil {
		return fmt.Errorf("%s is not run: %w", command[0], err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(command[1:len(command):len(command)], more...)...)
	cmd.Args[0] = command[0]
	cmd.Dir = "/"
	cmd.Env = env
	// In a process group of its own, so that all that the command starts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var tail tailBuffer
	cmd.Stdout, cmd.Stderr = &tail, &tail
	if err = cmd.Start(); err == nil {
		// The command does not get the recorder's priority (budget.nice), unless that is
		// lower and only root may raise it.
		_ = syscall.Setpriority(syscall.PRIO_PGRP, cmd.Process.Pid, 0)
		err = cmd.Wait()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s did not end within %s", command[0], config.FormatDuration(limit))
	}
	if said := tail.line(); said != "" {
		return fmt.Errorf("%s: %w: %s", command[0], err, said)
	}
	return fmt.Errorf("%s: %w", command[0], err)
}

// commandEnv is the whole environment of a command: it inherits nothing from the environment of
// the recorder. more is added to it.
func commandEnv(dir string, more ...string) []string {
	env := append([]string{
		"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", "SHELL=/bin/sh", "TACHOGRAPH_DIR=" + dir,
	}, more...)
	// Many programs look for their configuration in the home directory.
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil {
		env = append(env, "HOME="+u.HomeDir, "USER="+u.Username, "LOGNAME="+u.Username)
	}
	return env
}
