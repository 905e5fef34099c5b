package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/config"
	"tachograph/launchd"
)

func (a *app) installer(command func() *cobra.Command, root, group string) (*launchd.Installer, *host, error) {
	h, err := a.host()
	if err != nil {
		return nil, nil, err
	}
	prefix := h.root
	if root != "" {
		prefix = root
	}
	// An existing installation keeps its group, as it keeps its configuration.
	if cfg, err := config.Load(filepath.Join(prefix, h.layout.Config)); err == nil {
		group = cmp.Or(group, cfg.Archive.Group)
	}
	in := &launchd.Installer{
		Layout: h.layout, Manager: h.manager, Root: h.root, From: h.from, Group: group, EUID: h.euid, Asker: h.asker,
		Config: configText(h.layout, group),
		Say:    func(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) },
	}
	in.Manuals = make(map[string]string)
	for _, p := range manualPages(command()) {
		in.Manuals[p.File()] = p.Text
	}
	if root != "" {
		in.Root, in.Stage = root, true
	}
	in.Recording = h.awaitRecording
	return in, &h, nil
}

// configText is the default configuration with the keys that the service needs.
func configText(l launchd.Layout, group string) string {
	text := strings.Replace(config.DefaultText, "\ndir = \"\"\n", "\ndir = "+strconv.Quote(l.Archives)+"\n", 1)
	return strings.Replace(text, "\ngroup = \"\"\n", "\ngroup = "+strconv.Quote(group)+"\n", 1)
}

func (a *app) installCommand(command func() *cobra.Command) *cobra.Command {
	var root, group string
	var show bool
	var server serverFlags
	var push pushFlags
	c := &cobra.Command{
		Use:   "install",
		Short: "Install the recorder as a service of this machine and start it",
		Long: "install puts the programs, a commented configuration and the archive directory in\n" +
			"place, makes the recorder a service that starts with the machine, and waits until\n" +
			"it has recorded its first values. Done again, it upgrades and restarts; what a\n" +
			"failed attempt left is mended. An existing configuration is never changed.\n\n" +
			"With --serve it also installs replay serve as a service of its own, which answers\n" +
			"programs. It runs as a user without rights, in the group that may read the\n" +
			"archives (--group, or archive.group of an existing configuration), and is started\n" +
			"when somebody connects to its socket: " + launchd.LinuxLayout().ServeSocket + ", on a Mac\n" +
			launchd.MacLayout().ServeSocket + ". The recorder itself never listens. Done again\n" +
			"without --serve the server stays and runs the new program; --serve=false, or\n" +
			"uninstall, takes it away.\n\n" +
			"With --push URL it installs replay push as a service, which brings what is\n" +
			"recorded to that server as it is recorded (see replay push --help). It, too, runs\n" +
			"without rights in the group that may read the archives. Secrets are in files that\n" +
			"only root need be able to read. recorder status says how far it is; --push=\"\", or\n" +
			"uninstall, takes it away.",
		Example: "  sudo recorder install\n  sudo recorder install --group staff --serve\n  sudo recorder install --group staff --push https://metrics.example/api/v1/write --push-token-file /etc/tachograph/token\n  recorder install --print\n  recorder install --root /tmp/stage",
		Args:    noArgs,
		RunE: func(c *cobra.Command, args []string) error {
			in, h, err := a.installer(command, root, group)
			if err == nil {
				err = server.apply(in, c.Flags())
			}
			if err == nil {
				err = push.apply(in, c.Flags())
			}
			if err != nil {
				return err
			}
			if show {
				text, err := in.Print()
				if err == nil {
					_, err = fmt.Fprint(a.out, text)
				}
				return err
			}
			words := h.listen()
			return words.explain(in.Install())
		},
	}
	c.Flags().StringVar(&root, "root", "", "put everything under `DIR` and touch nothing else, for packages")
	c.Flags().StringVar(&group, "group", "", "`GROUP` whose members may read the archives")
	server.add(c.Flags())
	push.add(c.Flags())
	c.Flags().BoolVar(&show, "print", false, "show what would be written and run, and do nothing")
	return c
}

func (a *app) uninstallCommand(command func() *cobra.Command) *cobra.Command {
	var root string
	var purge bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service and remove what install made",
		Long:  "uninstall stops the service and removes what install made, and the agent from\nPCP's configuration where recorder pmda install put one. Archives, and a\nconfiguration that was edited, stay unless --purge is given.",
		Args:  noArgs,
		RunE: func(c *cobra.Command, args []string) error {
			in, _, err := a.installer(command, root, "")
			if err != nil {
				return err
			}
			if err := a.forgetPCP(root); err != nil {
				return err
			}
			return in.Uninstall(purge)
		},
	}
	c.Flags().StringVar(&root, "root", "", "remove from under `DIR`, where install --root put it")
	c.Flags().BoolVar(&purge, "purge", false, "remove the configuration and all archives as well")
	return c
}
