// Whose a process is: responsible processes, code signatures, deleted programs, guarded folders.
package main

import (
	"encoding/binary"
	"os"
	"strings"
	"syscall"

	"darwintests/check"
	"darwintests/mac"
)

const (
	eperm, enoent, esrch, einval, erange = 1, 2, 3, 22, 34

	status, identity, team = 0, 11, 14
)

func main() {
	for pid, want := range map[int]int{1: 1, 20: 20, 30: 30, 31: 30, 32: 30, 33: 30, 35: 4000, 38: 30} {
		got, e := mac.Responsible(pid)
		check.Ok("responsible", got == want && e == 0, pid, got, e)
	}
	for pid, want := range map[int]syscall.Errno{34: einval, 36: eperm, 37: esrch, 4000: esrch} {
		got, e := mac.Responsible(pid)
		check.Ok("nobody is responsible", got == -1 && e == want, pid, got, e)
	}

	b := make([]byte, 64)
	text := func(pid, op int) (string, syscall.Errno) {
		clear(b)
		_, e := mac.CsOps(pid, op, b)
		if e != 0 {
			return "", e
		}
		n := binary.BigEndian.Uint32(b[4:])
		return strings.TrimSuffix(string(b[8:n]), "\x00"), 0
	}
	for pid, want := range map[int]string{20: "com.apple.logd", 30: "com.example.App", 31: "H", 38: "tool"} {
		got, e := text(pid, identity)
		check.Ok("identity", got == want && e == 0, pid, got, e)
	}
	got, e := text(30, team)
	check.Ok("team", got == "ABCDE12345" && e == 0, got, e)
	_, e = text(20, team)
	check.Eq("no team", e, syscall.Errno(enoent))
	_, e = text(35, identity)
	check.Eq("no signature", e, syscall.Errno(einval))
	_, e = text(36, identity)
	check.Eq("injected", e, syscall.Errno(eperm))
	_, e = text(4000, identity)
	check.Eq("nobody", e, syscall.Errno(esrch))
	_, e = text(20, 99)
	check.Eq("no such question", e, syscall.Errno(einval))
	clear(b)
	_, e = mac.CsOps(30, identity, b[:10])
	check.Ok("a short buffer gets the length", e == erange && binary.BigEndian.Uint32(b[4:]) == 24, e, b[:12])
	for pid, apple := range map[int]bool{20: true, 30: false, 32: true} {
		clear(b)
		_, e = mac.CsOps(pid, status, b[:4])
		check.Ok("part of macOS", e == 0 && (binary.LittleEndian.Uint32(b)&0x4000000 != 0) == apple, pid, e)
	}

	path, e := mac.PidPath(33)
	check.Ok("a deleted program has no path", path == "" && e == enoent, path, e)

	const folder = "/tmp/darwinhost-guarded"
	check.Ok("make a folder", os.MkdirAll(folder, 0o755) == nil)
	_, err := os.Stat(folder)
	check.Ok("a guarded folder can be looked at", err == nil, err)
	_, err = os.ReadFile(folder + "/x")
	check.Ok("and not opened", err.(*os.PathError).Err == syscall.EPERM, err)
	os.Remove(folder)
	check.Done()
}
