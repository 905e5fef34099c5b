package site

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"tachograph/config/trust"
)

// Paths are the places of a PCP, as its pcp.conf says them.
type Paths struct {
	// Conf is the pcp.conf that says so.
	Conf string
	// PMCD is pmcd's configuration, Var what holds the name space and templates, PMDAs
	// the agents' directories.
	PMCD, Var, PMDAs string
	Run, Log, Bin    string
	// User and Group are those of PCP's daemons.
	User, Group string
	Version     string
}

// Names is the file with the whole name space, and Own ours alone, from which PCP's
// Rebuild makes that anew.
func (p Paths) Names() string { return filepath.Join(p.Var, "pmns", "root") }

func (p Paths) ownNames() string { return filepath.Join(p.Var, "pmns", "root_"+Agent) }

// Dir is where the agent's own files are.
func (p Paths) Dir() string { return filepath.Join(p.PMDAs, Agent) }

func (p Paths) record() string { return filepath.Join(p.Dir(), "installed.json") }

// places are where a pcp.conf is looked for: PCP's own rule, and where package managers
// of macOS put it.
var places = []string{"/etc/pcp.conf", "/usr/local/etc/pcp.conf", "/opt/homebrew/etc/pcp.conf", "/opt/local/etc/pcp.conf"}

// maxConf bounds what is read of a configuration file, and maxNames of a name space.
const (
	maxConf  = 1 << 20
	maxNames = 64 << 20
)

// Find finds PCP below root, "" for the system itself, as PCP's own programs do: where
// $PCP_CONF or $PCP_DIR say, else in the usual places. Nothing is believed that others
// than the owners could have written.
func Find(root string, env func(string) string, owners trust.Owners) (Paths, error) {
	looked := places
	if dir := env("PCP_DIR"); dir != "" {
		looked = []string{filepath.Join(dir, "etc/pcp.conf")}
	}
	if conf := env("PCP_CONF"); conf != "" {
		looked = []string{conf}
	}
	for _, conf := range looked {
		f, _, err := owners.Open(filepath.Join(root, conf))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Paths{}, fmt.Errorf("PCP's configuration cannot be read: %w", err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxConf))
		if err != nil {
			return Paths{}, fmt.Errorf("PCP's configuration cannot be read: %w", err)
		}
		return pathsOf(conf, string(text), env)
	}
	return Paths{}, fmt.Errorf("there is no PCP here, for there is no %s (install PCP, or say where its pcp.conf is with PCP_CONF)", either(looked))
}

func either(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// pathsOf reads a pcp.conf: lines NAME=VALUE without quotes, whose spaces count. What
// the environment says has precedence, as it has for PCP.
func pathsOf(conf, text string, env func(string) string) (Paths, error) {
	said := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if ok && strings.HasPrefix(name, "PCP_") {
			said[name] = strings.ReplaceAll(value, `"`, "")
		}
	}
	get := func(name string) string { return cmp.Or(env(name), said[name]) }
	p := Paths{
		Conf: conf, PMCD: get("PCP_PMCDCONF_PATH"), Var: get("PCP_VAR_DIR"), PMDAs: get("PCP_PMDAS_DIR"), Run: get("PCP_RUN_DIR"),
		Log: get("PCP_LOG_DIR"), Bin: get("PCP_BIN_DIR"), User: cmp.Or(get("PCP_USER"), "pcp"), Group: cmp.Or(get("PCP_GROUP"), "pcp"), Version: get("PCP_VERSION"),
	}
	for name, path := range map[string]string{"PCP_PMCDCONF_PATH": p.PMCD, "PCP_VAR_DIR": p.Var, "PCP_PMDAS_DIR": p.PMDAs, "PCP_RUN_DIR": p.Run} {
		if !filepath.IsAbs(path) {
			return Paths{}, fmt.Errorf("%s does not say where things are: %s is %q, which is no absolute path", conf, name, path)
		}
	}
	return p, nil
}
