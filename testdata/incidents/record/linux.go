package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// linux is an incident on a Linux machine of its own: a Debian kernel in an emulator, whose time
// is counted in executed instructions, so that other work of this machine leaves no trace.
type linux struct {
	memory int    // MB; 0: 768
	disks  []disk // besides the one with the root
	calm   int    // seconds before onset
	within int    // seconds from onset to end
	after  int    // seconds of calm at the end
	// The happenings say what happens inside; this is what happens outside.
	begins, ends func(*outside) error
}

// A disk is a disk of the emulated machine, with a file system on it unless it is for swapping.
type disk struct {
	mount string // "": none
	size  int    // MB
}

const emulator = "qemu-system-x86_64"

// outside is what can be done to the machine through the emulator.
type outside struct {
	dir         string
	here, there string        // the two ends of the machine's network, where each datagram is a frame
	flood       chan struct{} // closing it ends the flood
}

// record runs the machine and returns the archives that it left.
func (l *linux) record(ctx context.Context, name, root, kernel, scratch string) ([]string, time.Time, error) {
	var onset time.Time
	image, modules, err := kernelIn(kernel)
	if err != nil {
		return nil, onset, err
	}
	for _, tool := range []string{emulator, "mke2fs"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, onset, fmt.Errorf("%s is missing: install qemu-system-x86 and e2fsprogs", tool)
		}
	}
	if err := l.furnish(ctx, root, modules, scratch); err != nil {
		return nil, onset, err
	}
	out := &outside{dir: scratch}
	if out.here, out.there, err = freePorts(); err != nil {
		return nil, onset, err
	}
	cmd := exec.CommandContext(ctx, emulator, l.arguments(name, image, scratch, out)...)
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	console, err := cmd.StdoutPipe()
	if err != nil {
		return nil, onset, err
	}
	if err := cmd.Start(); err != nil {
		return nil, onset, err
	}
	done, tail := false, []string{}
	lines := bufio.NewScanner(console)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		tail = append(tail[max(0, len(tail)-30):], line)
		var failed error
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "@onset":
			ns, _ := strconv.ParseInt(rest, 10, 64)
			onset = time.Unix(0, ns).UTC().Round(time.Second / 10)
			if l.begins != nil {
				failed = l.begins(out)
			}
		case "@end":
			if l.ends != nil {
				failed = l.ends(out)
			}
		case "@done":
			done = true
		}
		if strings.HasPrefix(line, "@") {
			fmt.Println(line)
		}
		if failed != nil {
			cmd.Process.Kill()
			cmd.Wait()
			return nil, onset, failed
		}
	}
	if err := cmd.Wait(); ctx.Err() != nil {
		return nil, onset, errors.New("interrupted")
	} else if err != nil || !done {
		return nil, onset, fmt.Errorf("the emulated machine did not come to its end: %v\n%s\n%s", err, trouble.String(), strings.Join(tail, "\n"))
	}
	archives, err := unpack(filepath.Join(scratch, "out.img"), filepath.Join(scratch, "archives"))
	return archives, onset, err
}

// kernelIn finds the kernel and its modules in an unpacked package.
func kernelIn(dir string) (image, modules string, err error) {
	const how = "unpack one with: apt-get download linux-image-6.1.0-56-cloud-amd64; dpkg-deb -x linux-image-*.deb DIR"
	if dir == "" {
		return "", "", errors.New("this incident needs --kernel DIR; " + how)
	}
	images, _ := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	trees, _ := filepath.Glob(filepath.Join(dir, "lib", "modules", "*", "kernel"))
	if len(images) == 0 || len(trees) == 0 {
		return "", "", fmt.Errorf("there is no kernel with modules in %s; %s", dir, how)
	}
	return images[0], trees[0], nil
}

// arguments returns the arguments for the emulator.
func (l *linux) arguments(name, image, scratch string, out *outside) []string {
	memory := l.memory
	if memory == 0 {
		memory = 768
	}
	args := []string{"-accel", "tcg,thread=single", "-icount", "shift=1,align=off", "-m", fmt.Sprint(memory), "-smp", "1",
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio",
		"-qmp", "unix:" + filepath.Join(scratch, "qmp") + ",server=on,wait=off",
		"-smbios", "type=1,manufacturer=Example,product=Example Server",
		"-rtc", "clock=vm,base=" + begin.Add(-5*time.Second).Format("2006-01-02T15:04:05"),
		"-netdev", "socket,id=lan,udp=" + out.here + ",localaddr=" + out.there,
		"-device", "virtio-net-pci,netdev=lan,mac=52:54:00:0a:14:1e",
		"-kernel", image, "-initrd", filepath.Join(scratch, "initrd"),
		"-append", "console=ttyS0 quiet loglevel=1 psi=1 panic=-1 nokaslr -- " + name}
	paths := []string{"root.img", "out.img"}
	for i := range l.disks {
		paths = append(paths, fmt.Sprintf("disk%d.img", i))
	}
	for i, path := range paths {
		args = append(args, "-drive", fmt.Sprintf("file=%s,if=none,id=disk%d,format=raw,cache=unsafe,throttling.iops-total=4000", filepath.Join(scratch, path), i),
			"-device", fmt.Sprintf("virtio-blk-pci,drive=disk%d,id=dev%d", i, i))
	}
	return args
}

// furnish makes the disks and the kernel's initial file system.
func (l *linux) furnish(ctx context.Context, root, modules, scratch string) error {
	tree := filepath.Join(scratch, "tree")
	for _, dir := range []string{"proc", "sys", "dev", "tmp", "run", "etc", "srv", "var/lib/tachograph", "var/lib/app", "var/log", "usr/sbin", "usr/bin", "usr/local/bin", "usr/local/sbin"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(tree, "tmp"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	for _, d := range l.disks {
		if err := os.MkdirAll(filepath.Join(tree, d.mount), 0o755); err != nil {
			return err
		}
	}
	build := func(to, pkg string) error {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", to, pkg)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
		return nil
	}
	program := filepath.Join(tree, "usr/sbin/init")
	if err := errors.Join(build(program, "./testdata/incidents/record"), build(filepath.Join(tree, "usr/local/sbin/recorder"), "./cmd/recorder")); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"passwd":     "root:x:0:0::/:/bin/sh\nwww:x:33:33::/:/bin/false\ndb:x:70:70::/:/bin/false\napp:x:1000:1000::/:/bin/false\n",
		"group":      "root:x:0:\nwww:x:33:\ndb:x:70:\napp:x:1000:\n",
		"os-release": "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
		"machine-id": "5d1c8a2e0f3b47c69a1e4d2b7f605c31\n",
		// The emulated processor is a tenth as fast as a present one.
		"recorder.toml": "[budget]\nmax_cpu = \"20%\"\n",
	} {
		if err := os.WriteFile(filepath.Join(tree, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := filesystem(ctx, filepath.Join(scratch, "root.img"), 160, tree); err != nil {
		return err
	}
	if err := sparse(filepath.Join(scratch, "out.img"), 16); err != nil {
		return err
	}
	for i, d := range l.disks {
		path := filepath.Join(scratch, fmt.Sprintf("disk%d.img", i))
		var err error
		if d.mount == "" {
			err = sparse(path, d.size)
		} else {
			err = filesystem(ctx, path, d.size, "")
		}
		if err != nil {
			return err
		}
	}
	return initrd(filepath.Join(scratch, "initrd"), program, modules)
}

func sparse(path string, size int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(size)<<20), f.Close())
}

func filesystem(ctx context.Context, path string, size int, tree string) error {
	args := []string{"-q", "-F", "-t", "ext4", "-m", "0", "-E", "root_owner=0:0"}
	if tree != "" {
		args = append(args, "-d", tree)
	}
	out, err := exec.CommandContext(ctx, "mke2fs", append(args, path, fmt.Sprintf("%dM", size))...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mke2fs: %w\n%s", err, out)
	}
	return nil
}

// drivers are the modules for the emulated devices, each after those that it needs.
var drivers = []string{"drivers/virtio/virtio_ring.ko", "drivers/virtio/virtio.ko", "drivers/virtio/virtio_pci_modern_dev.ko", "drivers/virtio/virtio_pci_legacy_dev.ko",
	"drivers/virtio/virtio_pci.ko", "drivers/block/virtio_blk.ko", "net/core/failover.ko", "drivers/net/net_failover.ko", "drivers/net/virtio_net.ko"}

// initrd writes the archive (cpio) that the kernel unpacks: this program, and the modules for
// the disks.
func initrd(path, program, modules string) error {
	var b bytes.Buffer
	ino := 0
	add := func(name string, mode int, data []byte) {
		ino++
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
		b.WriteString(name)
		b.WriteByte(0)
		b.Write(make([]byte, -b.Len()&3))
		b.Write(data)
		b.Write(make([]byte, -b.Len()&3))
	}
	for _, dir := range []string{"dev", "proc", "root", "modules"} {
		add(dir, 0o040755, nil)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	add("init", 0o100755, data)
	for i, name := range drivers {
		data, err := os.ReadFile(filepath.Join(modules, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // built into the kernel
		}
		if err != nil {
			return err
		}
		add(fmt.Sprintf("modules/%02d", i), 0o100644, data)
	}
	add("TRAILER!!!", 0, nil)
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// unpack extracts the finished archives from the disk where the machine left them, as a tar
// file.
func unpack(image, dir string) ([]string, error) {
	f, err := os.Open(image)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var paths []string
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return paths, nil
		}
		if err != nil {
			return nil, fmt.Errorf("what the emulated machine left: %w", err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, filepath.Base(h.Name))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
}
