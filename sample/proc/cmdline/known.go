package cmdline

import (
	"net/netip"
	"path"
	"regexp"
	"strings"
)

// knownPrograms are programs whose words are known: files, hosts, verbs. Rules say which of
// their words are secret.
var knownPrograms = set(`
 ls cp mv rm mkdir rmdir ln cat tac head tail less more grep egrep fgrep zgrep rg ag ack sed awk gawk mawk sort uniq wc cut tr tee find locate mdfind
 touch chmod chown chgrp stat file du df dd sync mount umount mountpoint losetup mkfs fsck blkid lsblk fdisk parted tar gzip gunzip zcat bzip2 xz zstd cpio ar
 zip unzip 7z 7za rsync scp sftp ssh ssh-add ssh-agent diff cmp comm patch md5sum sha1sum sha256sum shasum cksum base64 xxd od hexdump strings
 ps top htop kill killall pkill pgrep pidof lsof fuser uptime free vmstat iostat sar w who id groups users last date cal sleep true false test yes seq printf
 echo pwd basename dirname realpath readlink mktemp env uname hostname hostnamectl timedatectl localectl loginctl sysctl dmesg lspci lsusb lsmod modprobe insmod
 ping ping6 traceroute mtr dig host nslookup nc ncat netstat ss ip ifconfig route arp iptables nft tcpdump ethtool iw iwconfig wget curl telnet ftp whois
 git git-remote-https git-upload-pack git-receive-pack git-lfs hg svn man info apropos which whereis type command cd for if while until case exec exit set
 export trap wait read local return break continue done fi esac then do else in function [ ] [[ ]] { } ( ) ! : . source alias unset shift
 vi vim nvim emacs nano ed pico code view vimdiff tmux screen sh bash zsh dash ksh fish csh tcsh login getty agetty su
 cc gcc g++ c++ clang clang++ cc1 cc1plus cpp collect2 ld ld.lld lld gold as nm objdump objcopy strip ranlib make gmake cmake ctest ninja meson autoconf automake
 configure libtool pkg-config ccache distcc go gofmt gopls compile link asm cgo vet rustc cargo rustup clippy-driver swift swiftc swift-frontend swift-build
 xcodebuild xcrun xctest actool ibtool simctl lldb gdb javac jar gradle mvn ant sbt kotlinc scala tsc webpack esbuild vite rollup eslint prettier jest npm yarn pnpm
 bun deno pip pip3 uv conda poetry pytest tox mypy ruff black bazel buck bundle rake gem strace ltrace perf dtrace dtruss valgrind time clangd rust-analyzer
 gcov gprof protoc bison flex m4 ctags cscope
 apt apt-get apt-cache aptitude dpkg dpkg-deb yum dnf rpm pacman zypper apk snap snapd flatpak brew port softwareupdate installer pkgutil
 systemctl systemd journalctl systemd-run service launchctl init launchd telinit shutdown reboot halt cron crond crontab at atd anacron run-parts logger logrotate
 rsyslogd syslogd dbus-daemon dbus-broker dbus-launch sshd nginx apache2 httpd haproxy envoy caddy postgres postmaster mysqld mariadbd mongod redis-server memcached
 etcd kubelet kube-apiserver kube-proxy kube-scheduler coredns dockerd containerd containerd-shim-runc-v2 runc crun conmon docker-proxy docker podman buildah
 kubectl helm terraform ansible ansible-playbook vagrant packer qemu-system-x86_64 qemu-system-aarch64 qemu-img virsh libvirtd vboxmanage
 prometheus node_exporter grafana alertmanager telegraf collectd fluentd fluent-bit logstash filebeat vector chronyd ntpd dhclient dhcpcd wpa_supplicant networkmanager udevadm kmod sponge
 nm-dispatcher avahi-daemon bluetoothd cupsd udevd systemd-udevd polkitd rtkit-daemon upowerd pulseaudio pipewire wireplumber xorg xwayland x gdm lightdm sddm
 gnome-shell gnome-session kwin plasmashell chrome chromium firefox safari webcontent thunderbird soffice.bin vlc mpv ffmpeg ffprobe convert magick evince
 createdb createuser dropdb pg_dump pg_dumpall pg_restore pg_ctl psql mysql mysqldump mysqladmin mariadb mariadb-dump sqlite3 sqlplus sqlcmd isql bcp duckdb
 clickhouse-client clickhouse clickhouse-server clickhouse-local mongosh mongo cqlsh snowsql influx trino
 defaults plutil plistbuddy scutil networksetup system_profiler diskutil hdiutil tmutil mdutil mdls mdimport mdworker mdworker_shared spctl codesign xattr dscl
 security sw_vers osascript open say screencapture pbcopy pbpaste caffeinate pmset nvram ioreg kextstat kmutil csrutil fdesetup dscacheutil sysadminctl
 perf fd fdfind recorder replay tachograph openssl gpg gpg-agent keytool useradd usermod userdel groupadd aws az gh
 java javaw celery uwsgi gunicorn uvicorn beam.smp erl iex mix rails puma sidekiq php-fpm tomcat catalina jenkins supervisord pm2 tini dumb-init
 hadoop spark-submit kafka-server-start zookeeper flink airflow
 watch ab hey xdg-open dbus-send gsettings notify-send zenity tmutil loginwindow usereventagent`)

// wrapping are programs that run another one, named by their words. The letters are options
// whose value is the next word.
var wrapping = map[string]string{
	"sudo": "ugpCDhrtTUR", "doas": "uC", "env": "uCS", "nohup": "", "timeout": "ks", "xargs": "nPIiLsdEa", "nice": "n", "ionice": "cnp", "time": "fo", "setsid": "",
	"stdbuf": "ioe", "caffeinate": "tw", "arch": "", "strace": "oepuESsP", "ltrace": "oepuSs", "watch": "nd", "systemd-run": "pEMtu", "exec": "a", "command": "",
	"chroot": "", "unshare": "RwSG", "screen": "SctTehps", "ssh": "BbcDEeFIiJLlmOopQRSWw", "mosh": "p", "flock": "wE", "pkexec": "", "parallel": "jNnIa", "entr": "", "chronic": "", "faketime": "f",
	"setarch": "", "linux32": "", "linux64": "", "runcon": "utrl", "cgexec": "g", "systemd-inhibit": "", "daemonize": "peoaclu", "daemon": "npu", "start-stop-daemon": "pxnusRagcdkNPIO", "rlwrap": "fHbCSs", "prlimit": "p", "bwrap": "", "nsenter": "t", "taskset": "", "chrt": "", "numactl": "CmN", "setpriv": "", "runuser": "ug", "unbuffer": "", "catchsegv": "",
	"gdb": "", "valgrind": "", "firejail": "", "proxychains": "f", "proxychains4": "f", "torify": "", "dbus-run-session": "", "xvfb-run": "ens", "npx": "pc", "bunx": "",
	"sshpass": "pfdeP", "gosu": "", "su-exec": "", "tini": "", "dumb-init": "", "busybox": "", "script": "", "builtin": "", "eval": "", "then": "", "do": "", "else": "", "!": "",
	"if": "", "while": "", "until": "", "{": "", "(": "",
	"sh": "oO", "bash": "oO", "zsh": "o", "dash": "o", "ksh": "o", "fish": "", "python": "WXQ", "python2": "WXQ", "python3": "WXQ", "pypy3": "WXQ", "node": "r", "nodejs": "r", "ruby": "IrE", "perl": "IM", "php": "dc", "java": "",
}

// behinds is how many words of a wrapping program come before the program that it runs.
var behinds = map[string]int{"chroot": 1, "ssh": 1, "mosh": 1, "flock": 1, "faketime": 1, "gosu": 1, "su-exec": 1, "setarch": 1}

// shells are programs that run the command that one of their words holds.
var shells = set("sh bash zsh dash ksh fish csh tcsh ash su env ssh mosh watch eval xargs runuser systemd-run script unbuffer flock parallel entr chronic tmux screen")

// An inner is how a program with many verbs runs another program: after one of these verbs,
// with options as in wrapping, and after this many words.
type inner struct {
	verbs, letters string
	behind         int
}

// Values of inner.behind other than a number of words.
const (
	ownWords = -1 // the program is not named, its words follow at once
	stranger = -2 // an unknown program follows, whatever its name: an image, a directory
)

var inners = func() map[string][]inner {
	m := make(map[string][]inner)
	add := func(names, verbs, letters string, behind int) {
		for _, n := range strings.Fields(names) {
			m[n] = append(m[n], inner{verbs, letters, behind})
		}
	}
	const ofContainer = "acehlmpuvw"
	add("docker podman nerdctl docker-compose podman-compose", "exec", ofContainer, 1)
	add("docker podman nerdctl docker-compose podman-compose", "run create", ofContainer, stranger)
	add("kubectl oc", "exec run debug", "ncf", 1)
	add("lxc incus machinectl ip vagrant", "exec shell ssh run", "", 1)
	add("tmux", "new new-session neww new-window splitw split-window respawn-pane respawnp respawn-window respawnw run run-shell if-shell popup display-popup pipe-pane", "ceFflnstxy", 0)
	add("launchctl", "asuser submit", "lpoe", 0)
	add("bundle poetry uv pipenv pdm hatch rye conda mamba npm pnpm yarn direnv aws-vault chamber doppler op", "exec run dlx x", "np", 0)
	add("flatpak snap go deno", "run", "", stranger)
	add("cargo dotnet swift", "run", "p", ownWords)
	add("perf", "stat record trace", "eFpoctC", 0)
	add("find", "-exec -execdir -ok -okdir", "", 0)
	add("fd fdfind", "-x -X --exec --exec-batch", "", 0)
	return m
}()

// interpreters are programs that run a program in their language.
var interpreters = set("python python2 python3 pypy3 node nodejs ruby perl php")

// tellingOptions are last words of option names whose values are no secrets: they say where
// something is, what its name is, how much of it there is.
var tellingOptions = set(`
 name names id ids type types kind class mode level config conf cfg file files path paths dir dirs directory root home prefix suffix output out input in
 source src dest dst destination target targets host hosts hostname address addr bind listen port ports socket interface iface device dev user users username group
 groups uid gid owner pid pidfile log logs format fmt lang language locale region zone zones namespace ns context cluster service unit profile environment version arch
 platform os title label labels tag tags filter include exclude pattern sort by since until from to start end date time timeout interval delay period
 retries retry count limit max min size width height depth threads workers jobs theme color colour font display geometry branch remote repo image container network volume driver
 engine database db table column topic queue channel exchange bucket cert cacert crt module package scheme configuration workspace project proto protocol method
 policy algorithm cipher ip ips cpu cpus memory node nodes role plugin progname personality priority nice signal shell editor runtime app application component
 watch mount publish loglevel verbosity preset codec speed rate scale resolution offset index step steps batch seed state status action command`)

// flagging are wrapping programs with options that have values, none of which takes the next
// word for it.
var flagging = set("unshare nsenter bwrap")

// plainVariables are environment variables that hold no secret, whatever their value.
var plainVariables = set("lang language lc_all lc_ctype lc_messages lc_time lc_numeric lc_collate tz term home pwd user logname shell display editor pager path tmpdir")

// assigning are options whose value is a name, "=" and a value that may be a secret.
var assigning = set("var set set-file backend-config settings set-env-vars update-env-vars app-settings set-string set-json set-literal env setenv build-arg extra-vars from-literal define param params parameter variable variables")

// knownWords are words that are common in command lines by themselves.
var knownWords = set(`
 start stop restart reload status run exec init setup install uninstall remove delete add create new list ls show get set unset edit update upgrade
 build test check clean all help version info log logs watch serve server client worker workers master slave main primary secondary replica backup restore
 dump import export sync push pull fetch clone commit merge diff apply plan deploy destroy release debug dev development prod production staging stage
 local remote global default none any true false yes no on off enable enabled disable disabled open close connect disconnect attach detach up down
 read write copy move find search query select insert send receive listen publish subscribe consume produce process daemon agent service services system user users
 group groups root admin nobody host hosts node nodes cluster pod pods container containers image images network networks volume volumes disk disks
 file files dir directory path paths home tmp data cache config configuration settings option options env environment mode type name names id key keys value values
 in out input output stdin stdout stderr error errors warn warning notice fatal trace verbose quiet silent force auto manual once always never
 lock unlock login logout register unregister enroll enrol join leave register auth session sessions account accounts profile profiles role roles
 monitor health healthcheck ping report reports stats metrics top kill signal wait sleep wake suspend resume shutdown reboot halt poweroff
 web api http https tcp udp tls ssl ssh ftp smtp dns ntp ldap unix inet socket port ports proxy gateway bridge router route routes
 console terminal tty tab window display screen view render renderer gpu utility zygote broker sandbox plugin plugins extension extensions module modules
 compile link lint format fix doc docs package packages pkg lib bin src include scripts script index target workspace project projects app apps
 job jobs work task tasks queue scheduler cron beat schedule event events hook hooks handler loop idle background foreground interactive
 postgres mysql redis mongo sqlite nginx apache docker linux darwin windows macos ubuntu debian alpine amd64 arm64 x86_64
 text json yaml xml csv html markdown table plain raw binary utf-8 ascii latin1
 from to with without for and or not of at by the a an is if
 first last next previous current latest stable beta alpha nightly head tail origin upstream branch tag tags
 db database databases schema schemas tables migrate migration migrations seed rollback seed runserver collectstatic makemigrations shell repl
 storage store stores bucket archive archives snapshot snapshots record recorder replay browse
 secret secrets password passwd token tokens credential credentials variable variables kv put patch post head
 small medium large fast slow high low normal full partial safe dry-run
 mon tue wed thu fri sat sun jan feb mar apr may jun jul aug sep oct nov dec today yesterday tomorrow now
 hup int term usr1 usr2 quit cont alrm pipe pool www launchd managed minimal splash settle trigger static journal`)

// Words whose form shows that they are no secrets.
var (
	numeric    = regexp.MustCompile(`^[+-]?(?:0x[0-9a-fA-F]{1,16}|[0-9][0-9.,:/xT_+-]*(?:[a-zA-Zµ]{1,3}|%)?)$`)
	span       = regexp.MustCompile(`^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|[smhdw]))+$`)
	dottedWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_+-]+)*\.[A-Za-z][A-Za-z0-9_]{0,11}(?::\d{1,5}|:[a-z]{1,12})?$|^\.[A-Za-z][A-Za-z0-9_.-]*$`)
	atHost     = regexp.MustCompile(`^[a-z_][a-z0-9_.-]{0,31}@[A-Za-z0-9.-]+(?::[0-9A-Za-z/._~-]*)?$|^[A-Za-z0-9_.-]+:\d{1,5}$`)
	uuid       = regexp.MustCompile(`^\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?$`)
	drive      = regexp.MustCompile(`^[A-Za-z]:(?:[\\/].*)?$`)
)

// shortWord is the greatest length that is too short for a secret.
const shortWord = 3

// familiar reports whether a word of an unknown program is clearly no secret: a path, a number,
// a common word, a file or a host.
func familiar(w string) bool {
	w = strings.Trim(w, `'"()[]{},;`+"`")
	switch {
	case len(w) <= shortWord, strings.Trim(w, `$%&*?!<>|#@^=+~/\.:;,-`) == "", strings.HasPrefix(w, "$"), strings.HasPrefix(w, "%"):
		return true
	case knownWord(w), numeric.MatchString(w), span.MatchString(w), uuid.MatchString(w), digestPart.MatchString(w), drive.MatchString(w):
		return true
	case strings.Contains(w, "://"):
		return true // looks hides what is secret in it
	case strings.Count(w, ":") > 1 && address(w):
		return true
	case strings.IndexByte(w, '/') >= 0 || strings.HasPrefix(w, `\\`):
		return atHost.MatchString(w) || pathLike(w)
	}
	return (dottedWord.MatchString(w) || atHost.MatchString(w)) && named(w)
}

// address reports whether a word is an IPv6 address or network.
func address(w string) bool {
	host, _, _ := strings.Cut(w, "/")
	_, err := netip.ParseAddr(host)
	return err == nil
}

// knownWord reports whether w is a known word, several of them joined with - and _, or the name
// of a program.
func knownWord(w string) bool {
	w = strings.ToLower(w)
	if knownWords[w] || knownPrograms[w] {
		return true
	}
	parts := strings.FieldsFunc(w, func(r rune) bool { return r == '-' || r == '_' || r == ':' || r == ',' || r == '|' })
	if len(parts) < 2 {
		return false
	}
	for _, p := range parts {
		if !knownWords[p] && !knownPrograms[p] && !digits(p) {
			return false
		}
	}
	return true
}

// tellingOption reports whether an option's name shows that its value is no secret.
func tellingOption(name string) bool {
	ws := words(name)
	if len(ws) == 0 {
		return false
	}
	last := ws[len(ws)-1]
	return tellingOptions[last] || harmless[last] || len(ws) > 1 && public[ws[len(ws)-2]]
}

// programName returns the name of the program from the word that names it.
func programName(w string) string {
	return strings.TrimSuffix(strings.ToLower(path.Base(w)), ".exe")
}
