package main

import (
	"archive/tar"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guest reports whether this program runs inside the emulator, and if so does its work there: as
// the first program that the kernel starts, as the machine's init, or as one of its programs,
// whose first argument says what to do.
func guest() bool {
	switch {
	case os.Getpid() == 1 && os.Args[0] == "/init":
		fatal(reachRoot())
	case os.Getpid() == 1:
		fatal(boot(os.Args[len(os.Args)-1]))
	case len(os.Args) > 1 && works[os.Args[1]] != nil && os.Getenv("INCIDENT") != "":
		works[os.Args[1]](os.Args[2:])
	default:
		return false
	}
	return true
}

// fatal ends the emulated machine or, outside of it, only this program.
func fatal(err error) {
	if os.Getpid() != 1 && os.Getenv("INCIDENT") != "emulated" {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("init:", err)
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// reachRoot loads the drivers and changes to the file system on the disk.
func reachRoot() error {
	modules, _ := filepath.Glob("/modules/*")
	for _, path := range modules {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && err != unix.EEXIST {
			return fmt.Errorf("%s: %w", path, err)
		}
		f.Close()
	}
	if err := unix.Mount("dev", "/dev", "devtmpfs", 0, ""); err != nil {
		return err
	}
	for range 200 { // until the disk has been found
		if _, err := os.Stat("/dev/vda"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := errors.Join(unix.Mount("/dev/vda", "/root", "ext4", 0, ""), unix.Mount("/dev", "/root/dev", "", unix.MS_MOVE, ""),
		unix.Chdir("/root"), unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot("."), unix.Chdir("/")); err != nil {
		return err
	}
	return unix.Exec("/usr/sbin/init", append([]string{"init"}, os.Args[1:]...), []string{"PATH=/usr/local/sbin:/usr/sbin", "INCIDENT=emulated", "TZ=UTC", "GOMAXPROCS=1"})
}

// An incident is what happens on the machine.
type incident struct {
	*linux
}

// boot runs the whole life of the machine.
func boot(name string) error {
	r := find(name)
	if r == nil || r.linux == nil {
		return fmt.Errorf("no incident %q", name)
	}
	in, h := &incident{r.linux}, happenings[name]
	if err := in.settle(); err != nil {
		return err
	}
	go reap()
	time.Sleep(time.Until(begin))
	in.calm()
	if h.before != nil {
		h.before(in)
	}
	time.Sleep(3 * time.Second)
	recorder := in.start("root", "/usr/local/sbin/recorder", "run", "--config", "/etc/recorder.toml")
	time.Sleep(time.Duration(r.linux.calm) * time.Second)
	fmt.Println("@onset", time.Now().UnixNano())
	h.then(in)
	fmt.Println("@end", time.Now().UnixNano())
	time.Sleep(time.Duration(r.linux.after) * time.Second)
	// Begin a new archive, so that this one is finished.
	recorder.Signal(syscall.SIGUSR1)
	var finished []string
	for range 600 {
		if finished, _ = filepath.Glob("/var/lib/tachograph/*.tacho"); len(finished) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Second)
	if err := hand(finished, "/dev/vdb"); err != nil {
		return err
	}
	fmt.Println("@done")
	unix.Sync()
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// settle mounts file systems, sets the host name and brings the network up.
func (in *incident) settle() error {
	list := []error{unix.Mount("proc", "/proc", "proc", 0, ""), unix.Mount("sys", "/sys", "sysfs", 0, ""),
		unix.Mount("tmpfs", "/run", "tmpfs", 0, "size=16m"), unix.Sethostname([]byte(linuxHost))}
	for i, d := range in.disks {
		if d.mount != "" {
			list = append(list, unix.Mount(fmt.Sprintf("/dev/vd%c", 'c'+i), d.mount, "ext4", 0, ""), os.Chmod(d.mount, 0o777))
		}
	}
	return errors.Join(append(list, network("lo", [4]byte{127, 0, 0, 1}), network("eth0", [4]byte{10, 20, 30, 40}))...)
}

// network gives an interface its address and brings it up.
func network(name string, address [4]byte) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	ask := func(request uint, fill func(*unix.Ifreq)) error {
		r, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		fill(r)
		if err := unix.IoctlIfreq(s, request, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	mask := [4]byte{255, 255, 255, 0}
	return errors.Join(ask(unix.SIOCSIFADDR, func(r *unix.Ifreq) { r.SetInet4Addr(address[:]) }),
		ask(unix.SIOCSIFNETMASK, func(r *unix.Ifreq) { r.SetInet4Addr(mask[:]) }),
		ask(unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING) }))
}

// reap waits for orphans, as an init must.
func reap() {
	for {
		var status unix.WaitStatus
		if _, err := unix.Wait4(-1, &status, 0, nil); err != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// hand writes files to a disk, as a tar file.
func hand(paths []string, device string) error {
	if len(paths) == 0 {
		return errors.New("the recorder has finished no archive")
	}
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: filepath.Base(path), Mode: 0o644, Size: int64(len(data))})
		}
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), f.Sync(), f.Close())
}

// users are those of the machine, by name.
var users = map[string]uint32{"root": 0, "www": 33, "db": 70, "app": 1000}

// install makes a program of the machine, which is a hard link to this one.
func install(path string) {
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Link("/usr/sbin/init", path)); err != nil {
		fatal(err)
	}
}

// start starts a program of the machine as a user.
func (in *incident) start(user, path string, args ...string) *os.Process {
	install(path)
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		fatal(err)
	}
	defer null.Close()
	p, err := os.StartProcess(path, append([]string{filepath.Base(path)}, args...), &os.ProcAttr{Env: os.Environ(), Dir: "/", Files: []*os.File{null, null, null},
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: users[user], Gid: users[user]}}})
	if err != nil {
		fatal(err)
	}
	fmt.Printf("@start %s %d\n", filepath.Base(path), p.Pid)
	return p
}

// swapOn uses a disk for swapping.
func swapOn(device string, size int) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	head := make([]byte, 4096)
	binary.LittleEndian.PutUint32(head[1024:], 1)
	binary.LittleEndian.PutUint32(head[1028:], uint32(size<<20/4096-1))
	copy(head[4086:], "SWAPSPACE2")
	if _, err := f.Write(head); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	path, err := unix.BytePtrFromString(device)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(path)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
