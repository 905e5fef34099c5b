package site

import (
	"fmt"
	"strings"
)

const installScript = `#!/bin/sh
#
# Install the agent of Tachograph: its names, its line in pmcd.conf, and what pmlogger
# and pmie may be told about it. "recorder pmda install" does the same without these
# scripts, and can give back every byte.
#

. $PCP_DIR/etc/pcp.env
. $PCP_SHARE_DIR/lib/pmdaproc.sh

iam=tachograph
daemon_opt=true
dso_opt=false
pipe_opt=true
socket_opt=false
check_delay=2

# The metrics of this very machine, with their numbers.
domain=$(sed -n 's/^#define[ 	]*TACHOGRAPH[ 	]*//p' domain.h)
if RECORDER pmda package --here --beside --domain "$domain" --recorder RECORDER . >/dev/null
then
    :
else
    echo "The recorder does not say what this machine has (see above): it is to be at" RECORDER
    exit 1
fi

pmdaSetup
for kind in pmlogconf pmieconf
do
    if [ -d "$__here/$kind" -a -d "$PCP_VAR_DIR/config/$kind" ]
    then
	mkdir -p "$PCP_VAR_DIR/config/$kind/$iam"
	cp "$__here/$kind/$iam"/* "$PCP_VAR_DIR/config/$kind/$iam"
    fi
done
pmdaInstall
exit
`

const removeScript = `#!/bin/sh
#
# Remove the agent of Tachograph.
#

. $PCP_DIR/etc/pcp.env
. $PCP_SHARE_DIR/lib/pmdaproc.sh

iam=tachograph

pmdaSetup
for kind in pmlogconf pmieconf
do
    rm -rf "$PCP_VAR_DIR/config/$kind/$iam"
done
pmdaRemove
exit
`

const installByRecorder = `#!/bin/sh
#
# Install the agent of Tachograph. It has metrics in three of PCP's domains, and PCP's
# own scripts know one domain an agent: the recorder does their work.
#

exec RECORDER pmda install "$@"
`

const removeByRecorder = `#!/bin/sh
#
# Remove the agent of Tachograph, and give back the places that it took.
#

exec RECORDER pmda remove "$@"
`

// script returns a script with the path of the program in it.
func script(text, recorder string) []byte {
	return []byte(strings.ReplaceAll(text, "RECORDER", shellWord(recorder)))
}

// program is what pmcd starts if PCP's scripts have written its line: they pass it -d and the
// domain.
func (p *Package) program() []byte {
	words := []string{shellWord(p.Recorder), "pmda"}
	for _, a := range p.Args {
		words = append(words, shellWord(a))
	}
	return fmt.Appendf(nil, "#!/bin/sh\n#\n# The agent of Tachograph, as pmcd starts it.\n#\n\nexec %s \"$@\"\n", strings.Join(words, " "))
}

func shellWord(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n'\"$\\`!*?[]{}()<>|&;#~") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
