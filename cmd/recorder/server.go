package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"

	"tachograph/config"
	"tachograph/launchd"
)

// serverFlags are the flags of install for the server.
type serverFlags struct {
	serve       bool
	group, mode string
}

func (f *serverFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.serve, "serve", false, "install replay serve as a second service, which answers programs at a unix socket; --serve=false takes it away")
	flags.StringVar(&f.group, "serve-group", "", "`GROUP` that may connect to it (default: the one that may read the archives)")
	flags.StringVar(&f.mode, "serve-mode", "0660", "`MODE` of its socket")
}

// apply sets what the flags say about the server in the installer.
func (f *serverFlags) apply(in *launchd.Installer, flags *pflag.FlagSet) error {
	if in.Unserve = flags.Changed("serve") && !f.serve; in.Unserve {
		return nil
	}
	if !f.serve {
		if flags.Changed("serve-group") || flags.Changed("serve-mode") {
			return errors.New("--serve-group and --serve-mode are of the server: add --serve")
		}
		return nil
	}
	mode, err := strconv.ParseUint(f.mode, 8, 32)
	if err != nil || mode&^0o666 != 0 || mode == 0 {
		return fmt.Errorf("--serve-mode %s is no mode of a socket: write it as chmod does, 0660", f.mode)
	}
	archives, group, err := readable(in, "the server")
	if err != nil {
		return err
	}
	in.Serve = &launchd.Serve{Archives: archives, Group: group, SocketGroup: cmp.Or(f.group, group), Mode: fs.FileMode(mode)}
	return nil
}

// readable returns the archives and the group that may read them, for the service named who.
func readable(in *launchd.Installer, who string) (archives, group string, err error) {
	archives, group = in.Layout.Archives, in.Group
	path := filepath.Join(in.Root, in.Layout.Config)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		cfg, err := config.Load(path)
		if err != nil {
			return "", "", err
		}
		// It stays unchanged, and the recorder obeys it.
		archives, group = cmp.Or(cfg.Archive.Dir, archives), cfg.Archive.Group
		if group == "" {
			return "", "", fmt.Errorf("%s is nobody in particular, and needs a group that may read the archives: set archive.group in %s", who, path)
		}
	}
	if group == "" {
		return "", "", fmt.Errorf("%s is nobody in particular, and needs a group that may read the archives: name one with --group", who)
	}
	return archives, group, nil
}

// serverState is the server's state in a word or two, from the manager of services; empty:
// there is no server.
func (h *host) serverState() string {
	if _, err := os.Lstat(filepath.Join(h.root, h.layout.ServeJob)); err != nil {
		return ""
	}
	st, err := h.manager.Job(h.layout, launchd.Server).State()
	switch {
	case err != nil:
		return "installed; " + err.Error()
	case st.Disabled:
		return "DISABLED: `sudo recorder install --serve` enables it"
	case !st.Loaded:
		return "NOT LISTENING: " + h.manager.Name() + " does not know its socket; run `sudo recorder install --serve`"
	case st.Running:
		return fmt.Sprintf("running, pid %d, at %s", st.PID, h.layout.ServeSocket)
	case st.LastExit != "":
		return fmt.Sprintf("waits for somebody to connect to %s; it ended with %s", h.layout.ServeSocket, st.LastExit)
	}
	return "waits for somebody to connect to " + h.layout.ServeSocket
}
