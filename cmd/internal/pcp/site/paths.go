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

// Paths are the paths of a PCP, from its pcp.conf.
type Paths struct {
	// Conf is that pcp.conf.
	Conf string
	// PMCD is pmcd's configuration, Var the directory of the name space and templates, PMDAs
	// the directory of agents.
	PMCD, Var, PMDAs string
	Run, Log, Bin    string
	// User and Group are those of PCP's daemons.
	User, Group string
	Version     string
}

// Names is the file with the whole name space; ownNames has only ours, and PCP's Rebuild makes
// the whole from such files.
func (p Paths) Names() string { return filepath.Join(p.Var, "pmns", "root") }

func (p Paths) ownNames() string { return filepath.Join(p.Var, "pmns", "root_"+Agent) }

// Dir is the directory of the agent's own files.
func (p Paths) Dir() string { return filepath.Join(p.PMDAs, Agent) }

func (p Paths) record() string { return filepath.Join(p.Dir(), "installed.json") }

// places are where a pcp.conf is looked for: PCP's own place, and those of package managers of
// macOS.
var places = []string{"/etc/pcp.conf", "/usr/local/etc/pcp.conf", "/opt/homebrew/etc/pcp.conf", "/opt/local/etc/pcp.conf"}

// maxConf limits what is read of a configuration file, and maxNames of a name space.
const (
	maxConf  = 1 << 20
	maxNames = 64 << 20
)

// Find finds PCP below root, "" for the system itself, as PCP's own programs do: with $PCP_CONF
// or $PCP_DIR, else in the usual places. It trusts only files that no one but the owners could
// have written.
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

// pathsOf reads a pcp.conf: lines NAME=VALUE without quotes, in which spaces count. The
// environment has precedence, as it has for PCP.
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
