package cmdline

import (
	"strings"
	"testing"
)

// furtherShapes are like secretShapes, but nobody looked at them while writing the rules for
// known programs: SQL for database clients, tools for secrets, directories and machines, and
// unknown programs. ¦ is the shell's |.
var furtherShapes = []string{
	// Statements for database clients.
	"mysql|-e|CREATE USER 'ana'@'%' IDENTIFIED BY '§'", "mysql|-e|ALTER USER ana IDENTIFIED WITH caching_sha2_password BY '§'", "mysql|-e|SET PASSWORD FOR ana = '§'", "mysql|-e|SET PASSWORD FOR ana = PASSWORD('§')",
	"mariadb|-e|GRANT ALL ON db.* TO ana IDENTIFIED BY \"§\"", "mysql|-e|CHANGE MASTER TO MASTER_PASSWORD='§'", "mysql|-e|CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = '§'", "mysql|-e|SELECT AES_DECRYPT(a, '§') FROM t",
	"psql|-c|CREATE ROLE ana LOGIN PASSWORD '§'", "psql|-c|ALTER USER ana WITH ENCRYPTED PASSWORD '§'", "psql|-c|alter role ana password '§' valid until 'infinity'", "psql|-c|CREATE USER MAPPING FOR a SERVER s OPTIONS (user 'a', password '§')",
	"psql|-c|CREATE SUBSCRIPTION s CONNECTION 'host=h password=§' PUBLICATION p", "psql|-c|SELECT pgp_sym_decrypt(a, '§') FROM t", "psql|-c|SELECT crypt('§', gen_salt('bf'))", "sqlcmd|-Q|CREATE LOGIN ana WITH PASSWORD = '§'",
	"sqlcmd|-Q|ALTER LOGIN ana WITH PASSWORD=N'§'", "sqlcmd|-Q|CREATE MASTER KEY ENCRYPTION BY PASSWORD = '§'", "sqlcmd|-Q|CREATE CREDENTIAL c WITH IDENTITY = 'a', SECRET = '§'", "sqlplus|/|@x|alter user ana identified by §;",
	"sqlplus|-S|/|create user ana identified by \"§\"", "clickhouse-client|-q|CREATE USER ana IDENTIFIED WITH sha256_password BY '§'", "clickhouse-client|--query|SELECT * FROM s3('https://h/b', 'AKEY', '§')", "duckdb|-c|CREATE SECRET s (TYPE S3, KEY_ID 'a', SECRET '§')",
	"duckdb|x.db|CREATE SECRET (TYPE HTTP, BEARER_TOKEN '§')", "duckdb|-c|PRAGMA add_parquet_key('k', '§')", "sqlite3|x.db|PRAGMA key='§'", "sqlcipher|x.db|PRAGMA key = '§';", "snowsql|-q|CREATE USER a PASSWORD='§'",
	"cqlsh|-e|CREATE ROLE a WITH PASSWORD = '§' AND LOGIN = true", "mongosh|--eval|db.createUser({user: 'a', pwd: '§', roles: []})", "mongosh|--eval|db.auth('ana', '§')", "mongosh|--eval|db.changeUserPassword('ana', '§')", "redis-cli|AUTH|§", "redis-cli|AUTH|ana|§",
	"redis-cli|ACL|SETUSER|ana|on|>§", "redis-cli|CONFIG|SET|masterauth|§", "influx|-execute|CREATE USER a WITH PASSWORD '§'", "trino|--execute|CREATE CATALOG c USING x WITH (\"connection-password\" = '§')", "cypher-shell|-u|neo4j|-p|§", "arangosh|--server.password|§",
	// Managers of secrets.
	"az|keyvault|secret|set|--name|n|--vault-name|v|--value|§", "gcloud|secrets|versions|add|n|--data-file=-|--payload|§", "doppler|secrets|set|NAME|§", "doppler|secrets|set|NAME=§", "op|item|create|--category|login|password=§", "op|item|edit|x|field[password]=§",
	"gh|secret|set|NAME|--body|§", "gh|secret|set|NAME|-b|§", "gh|auth|login|--with-token|§", "glab|variable|set|NAME|§", "glab|variable|set|NAME|--value|§", "vault|kv|put|secret/x|value=§", "vault|kv|put|secret/x|pin=§", "vault|token|lookup|§", "vault|write|transit/x|plaintext=§",
	"consul|kv|put|app/db|§", "etcdctl|put|/app/db|§", "etcdctl|--user|root:§|get|x", "chamber|write|svc|key|§", "credstash|put|name|§", "pass|insert|-m|x|§", "gopass|insert|x|§", "lpass|login|a@b.c|§", "keepassxc-cli|add|--value|§|x", "secret-tool|store|--label=x|a|§",
	"infisical|secrets|set|NAME=§", "akeyless|create-secret|-n|x|-v|§", "conjur|variable|set|-i|x|-v|§", "summon|--value|§", "berglas|create|b/x|§", "sops|--set|[\"a\"] \"§\"|f", "confidant|set|§", "wrangler|secret|put|X|--value|§", "vercel|env|add|X|§", "netlify|env:set|X|§",
	"railway|variables|set|X=§", "supabase|secrets|set|X=§", "eb|setenv|X=§", "aws|secretsmanager|put-secret-value|--secret-id|x|--secret-string|§", "aws|cognito-idp|admin-set-user-password|--password|§", "aws|iam|create-login-profile|--password|§", "aws|kms|encrypt|--plaintext|§",
	"kubectl|create|secret|generic|x|--from-literal=key=§", "sh|-c|echo § ¦ docker secret create x -", "sh|-c|printf %s § ¦ podman secret create x -", "sh|-c|echo § ¦ gh secret set X", "sh|-c|echo -n '§' ¦ base64 ¦ kubectl apply -f -", "sh|-c|docker secret create x <<< §",
	// Directories, machines, networks.
	"kadmin|-p|admin|-w|§|-q|listprincs", "kadmin.local|-q|addprinc -pw § ana", "kadmin|-q|cpw -pw § ana", "kinit|--password-file=STDIN|§", "radtest|ana|§|127.0.0.1|0|testing123", "radtest|ana|x|127.0.0.1|0|§", "radclient|127.0.0.1|auth|§", "racadm|-r|h|-u|root|-p|§|getsysinfo",
	"racadm|set|iDRAC.Users.2.Password|§", "racadm|config|-g|cfgUserAdmin|-o|cfgUserAdminPassword|-i|2|§", "jamf|createAccount|-username|a|-password|§", "jamf|policy|-passhash|§", "jamf|setOFP|-mode|command|-pass|§", "jamf|bindAD|-username|a|-pass|§", "profiles|renew|-secret|§",
	"net|use|Z:|\\\\h\\s|§|/user:ana", "net.exe|use|\\\\h\\s|/user:ana|§", "net|user|ana|§|/add", "net|rpc|password|ana|§", "cmdkey|/add:h|/user:a|/pass:§", "runas|/savecred|§", "wmic|/user:a|/password:§|os", "schtasks|/create|/ru|a|/rp|§", "psexec|\\\\h|-u|a|-p|§|cmd",
	"ssh|-o|ProxyCommand=sshpass -p § ssh -W %h:%p j|h", "ssh|-o|ProxyCommand sshpass -p '§' ssh j|h", "ssh|-oProxyCommand=connect -S a:§@h %h %p|h", "scp|-o|ProxyCommand=nc -X connect -x p:3128 -P ana:§ %h %p|a|h:", "rsync|-e|sshpass -p § ssh|a|h:", "rsync|--rsh=sshpass -p§ ssh|a|h:",
	"ip|xfrm|state|add|src|10.0.0.1|dst|10.0.0.2|proto|esp|spi|1|enc|cbc(aes)|§", "ip|xfrm|state|add|src|a|dst|b|auth-trunc|hmac(sha256)|§|128", "ip|macsec|add|m0|tx|sa|0|pn|1|on|key|01|§", "wg|set|wg0|private-key|§", "setkey|-c|add a b esp 1 -E aes-cbc §", "openvpn|--auth-user-pass|ana|§",
	"openssl|dgst|-sha256|-hmac|§|f", "openssl|dgst|-sha256|-mac|HMAC|-macopt|key:§|f", "openssl|dgst|-mac|HMAC|-macopt|hexkey:§|f", "openssl|kdf|-kdfopt|pass:§|-kdfopt|salt:x|PBKDF2", "openssl|s_client|-psk|§|-connect|h:443", "openssl|pkeyutl|-pkeyopt|secret:§",
	"openssl|srp|-passin|pass:§", "openssl|cms|-pwri_password|§", "step|ca|token|--provisioner-password|§", "age|-p|§", "age-plugin|--passphrase|§", "minisign|-W|§", "borg|init|§", "restic|--password|§", "duplicity|--sign|§", "rclone|config|create|r|s3|secret_access_key|§", "rclone|--sftp-pass|§",
	"ldapvi|-D|a|-w|§", "samba-tool|user|setpassword|a|--newpassword=§", "samba-tool|user|create|ana|§", "realm|join|-U|a|§", "adcli|join|--stdin-password|§", "ipa|passwd|ana|§", "chpass|-p|§", "pw|usermod|a|-w|§", "passwd|ana|§", "chage|§", "vncpasswd|-f|§", "x11vnc|-passwd|§", "x11vnc|-viewpasswd|§",
	"x11vnc|-storepasswd|§|f", "impacket-smbclient|d/a:§@h", "nxc|smb|h|-u|a|-p|§", "crackmapexec|smb|h|-u|a|-H|§", "kerbrute|passwordspray|-d|x|u.txt|§", "wpa_cli|set_network|0|psk|§", "nmcli|c|modify|n|wifi-sec.psk|§", "nmcli|con|add|type|wifi|802-1x.password|§", "iwctl|--passphrase|§|station|w|connect|N",
	"freeipa-client|§", "storcli|set|securitykey=§", "hdparm|--user-master|u|--security-unlock|§|/dev/sda", "sedutil-cli|--initialsetup|§|/dev/sda", "nvme|sed|unlock|§", "smartpqi|§", "ipmitool|user|set|password|2|§", "omconfig|system|password=§", "conrep|-p|§", "hponcfg|-x|§",
	// Unknown programs.
	"frobnicate|§", "frobnicate|login|§", "frobnicate|-z|§", "frobnicate|--set|§", "frobnicate|--value|§", "frobnicate|set|db.password|§", "frobnicate|unlock|volume|§", "/opt/acme/bin/agent|register|§", "/opt/acme/bin/agent|--enrol|§", "./run.sh|§", "python3|deploy.py|§", "python3|-m|acme.deploy|§",
	"node|server.js|§", "ruby|x.rb|prod|§", "perl|x.pl|§", "java|-jar|x.jar|§", "java|-cp|a.jar:b.jar|com.example.Main|ana|§", "sh|./x.sh|§", "bash|-c|./x.sh prod §", "php|artisan|user:create|ana|§", "npx|acme|login|§", "frobnicate|-k|§|start", "env|X=1|frobnicate|§", "frobnicate|ana|§|h:443",
	// Programs that run another one.
	"screen|-dm|acme|§", "screen|-dmS|work|acme|§", "screen|-S|work|-X|stuff|§", "tmux|new|-d|acme §", "tmux|new-session|-d|-s|work|acme|§", "tmux|split-window|-h|acme §", "tmux|send-keys|-t|work|§|Enter", "ssh|h|acme|§", "ssh|-i|k|ana@h|acme|login|§",
	"chroot|/srv/mysql|acme|§", "gosu|postgres|acme|§", "su-exec|redis|acme|§", "flock|/run/lock|acme|§", "flock|-c|acme §|x", "unshare|-n|acme|§", "docker|run|--rm|-it|ubuntu|acme|§", "docker|run|-d|--name|web|nginx|acme|§", "docker|compose|run|web|acme|§", "podman|run|-e|FOO=§|img", "docker|run|--env|FOO=§|img", "docker|run|-eFOO=§|img",
	"kubectl|run|x|--image=busybox|--|acme|§", "uv|run|acme|§", "bundle|exec|acme|§", "parallel|-j|4|acme|§", "xargs|-I|{}|acme|§", "start-stop-daemon|--start|--exec|/opt/acme|--|§", "pkexec|acme|§", "faketime|2026-01-01|acme|§", "sudo|-nu|ana|acme|§", "env|-uPATHS|acme|§", "sh|-c|nohup acme § &", "bash|-c|tmux new -d 'acme §'",
	// Known programs with arguments that are not options.
	"isql|DSN|u|§", "iusql|DSN|u|§|-b", "virsh|secret-set-value|u|§", "virsh|secret-set-value|--secret|u|--base64|§", "virsh|set-user-password|vm|root|§", "influx|-username|a|-password|§", "mongosh|-password|§", "cqlsh|-passwd|§",
	// After = or directly after the letter of an option.
	"env|FOO=§|acme", "FOO=§|acme", "sudo|FOO=§|acme", "sh|-c|FOO=§ acme", "acme|--flag=§", "acme|--flag:§", "acme|--set=x=§", "acme|-x=§", "acme|--x|y=§", "acme|-Dx=§", "java|-Dfoo=§|-jar|x.jar", "java|-jar|x.jar|--flag=§", "python3|x.py|--flag=§", "docker|exec|-e|FOO=§|c|ls",
	"terraform|apply|-var|db=§", "terraform|apply|-var=db=§", "packer|build|-var|db=§|x.json", "helm|install|x|--set|db=§", "helm|upgrade|x|y|--set-string=db=§", "docker|build|--build-arg|DB=§|.", "docker|build|--build-arg=DB=§|.", "ansible-playbook|-e|db=§|p.yml", "ansible-playbook|--extra-vars|db=§|p.yml", "kubectl|set|env|deploy/x|--env|DB=§", "systemd-run|--setenv|FOO=§|acme",
	"find|.|-exec|acme|§|;", "find|/x|-name|y|-execdir|acme|§|{}|+", "podman|run|--rm|img|§", "sudo|--user|postgres|acme|§", "systemd-run|--unit|x|acme|§", "unshare|--user|acme|§", "perf|stat|acme|§", "perf|record|-e|cycles|acme|§", "env|-S|acme §", "flatpak|run|org.x.App|§", "snap|run|x|§", "go|run|.|§", "cargo|run|--|§", "dotnet|run|--|§", "deno|run|x.ts|§",
	"make|FOO=§", "make|run|TOK=§", "cmake|-DFOO=§|.", "mvn|-Dx=§", "gradle|-Px=§", "export|FOO=§", "launchctl|setenv|FOO|§", "tmux|set-environment|FOO|§", "tmux|setenv|-g|FOO|§", "psql|-v|x=§", "awk|-v|x=§|p", "terraform|init|-backend-config=access=§", "gcloud|run|deploy|--update-env-vars|FOO=§",
	// Names that users choose, in assignments of known programs.
	"make|run|dbcred=§", "gmake|-j4|deploy|api=§", "rake|deploy|db=§", "make|x:=§", "make|x+=§", "awk|{print x}|x=§|log", "gawk|-f|p.awk|x=§", "systemctl|set-environment|api=§", "scons|db=§", "sh|-c|cd /srv && make run db=§",
	// Arguments of a program that another one starts.
	"sh|-c|echo acme --x § ¦ bash", "sh|-c|cat x; echo 'acme §' ¦ sudo -u ana /bin/sh -s", "bash|-c|crontab - <<EOF\n5 4 * * * acme --x §\n@daily acme §\nEOF", "sh|-c|cd /srv\nacme --x §\nls", "sh|-c|echo 'acme §' ¦ batch -f x",
	"run-parts|--arg=§|/etc/cron.daily", "run-parts|--arg|§|/etc/cron.daily", "run-parts|-a|§|/etc/cron.daily", "sh|-c|echo 'mysql -p§ db' ¦ at now", "sh|-c|at now <<< 'curl -u ana:§ https://h'",
	"sh|-c|echo 'mydaemon --x §' ¦ at now + 5 minutes", "sh|-c|(crontab -l; echo '0 * * * * mydaemon §') ¦ crontab -", "sh|-c|printf '%s\\n' 'FOO=§ mydaemon' ¦ batch", "sh|-c|at 02:00 <<EOF\nmydaemon --x §\nEOF",
	"gradle|run|--args|--x §", "gradle|run|--args=--x §", "gradlew|run|--args|login §", "./gradlew|:app:run|--args=§", "gradle|run|--args|§", "sh|-c|gradle run --args='--x §'", "sh|-c|gradle run --args 'login §'", "sh|-c|gradle run '--args=--x §'",
}

// stuckShapes have a secret directly after the letter of an option. Only a secret with
// digits or capitals can be distinguished from a word there.
var stuckShapes = []string{"acme|-x§", "acme|run|-k§|start", "python3|x.py|-z§", "sudo|acme|-x§", "sh|-c|acme -x§", "env|A=1|acme|-q§"}

func TestRedactHidesWhatIsStuck(t *testing.T) {
	for _, shape := range stuckShapes {
		argv := strings.Split(strings.ReplaceAll(shape, "§", "hunter2Zq"), "|")
		if out := Redact(argv); strings.Contains(strings.Join(out, "|"), "hunter") {
			t.Errorf("%q became %q", argv, out)
		}
	}
}

// ordinaryLines are command lines that machines run all day. No word of them is a secret.
var ordinaryLines = []string{
	// Compilers and build tools.
	"/usr/bin/cc|-O2|-g|-Wall|-I/usr/include/foo|-DNDEBUG|-c|src/main.c|-o|build/main.o", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1|-quiet|-imultiarch|x86_64-linux-gnu|main.c|-mtune=generic|-march=x86-64|-O2|-o|/tmp/ccxyz.s", "g++|-std=c++20|-fPIC|-shared|-o|libx.so|a.o|b.o|-lpthread",
	"clang|-cc1|-triple|arm64-apple-macosx14.0.0|-emit-obj|-main-file-name|View.m|-target-cpu|apple-m1|-resource-dir|/usr/lib/clang/15.0.0|-x|objective-c|View.m", "ld|-dynamic|-arch|arm64|-platform_version|macos|14.0.0|14.2|-syslibroot|/Applications/Xcode.app/SDK|-o|app|-lSystem", "as|--64|-o|a.o|a.s",
	"rustc|--crate-name|serde|--edition=2021|src/lib.rs|--crate-type|lib|--emit=dep-info,metadata,link|-C|opt-level=3|-C|metadata=0a1b2c3d4e5f6071|--out-dir|/src/target/release/deps|-L|dependency=/src/target/release/deps", "cargo|build|--release|--workspace", "swiftc|-frontend|-c|-primary-file|Main.swift|-module-name|App|-target|arm64-apple-macos14",
	"swift-frontend|-frontend|-c|-module-name|Core|-o|/tmp/x.o", "make|-j8|all|install|CC=clang", "cmake|--build|build|--target|install|--config|Release", "ninja|-C|out/Default|chrome", "go|build|-o|bin/replay|./cmd/replay", "go|test|-run|TestName|-count|1|./store/...", "compile|-o|/tmp/b001/_pkg_.a|-p|tachograph/store|-buildid|abcd|-goversion|go1.26",
	"make|-j8|PREFIX=/usr|prefix=/usr/local|debug=1|config=release|install", "awk|{s+=$1}|FS=:|/etc/group", "scons|-j4|mode=debug|target=/opt/x", "gradle|run|--args|--port 8080 /srv/data", "javac|-d|out|-cp|lib/a.jar|Main.java", "gradle|assembleRelease|--parallel", "mvn|clean|package|-DskipTests", "xcodebuild|-workspace|App.xcworkspace|-scheme|App|-configuration|Debug|build", "tsc|--watch|--project|tsconfig.json", "webpack|serve|--mode|development", "esbuild|--bundle|app.ts", "pytest|-x|tests/test_api.py|-k|login", "tox|-e|py312", "bazel|build|//src:main", "ccache|gcc|-c|a.c",
	// Editors and tools of developers.
	"vim|notes.txt", "nvim|+42|src/main.rs", "emacs|--daemon", "nano|/etc/hosts", "code|--new-window|/src/project", "/Applications/Visual Studio Code.app/Contents/MacOS/Electron|--type=renderer|--user-data-dir=/Users/ana/x", "gopls|serve|-mode=stdio", "clangd|--background-index", "rust-analyzer", "pyright-langserver|--stdio", "typescript-language-server|--stdio", "node|/usr/lib/tsserver.js|--useInferredProjectPerProjectRoot|--locale|en",
	"git|commit|-m|fix the reader of archives", "git|log|--oneline|--graph|main..feature", "git|rebase|-i|origin/main", "git-remote-https|origin|https://github.com/a/b", "gdb|--args|./app|--verbose", "lldb|-p|1234", "strace|-f|-p|4711", "perf|record|-g|-F|99|sleep|10", "less|-R|log.txt", "diff|-u|a.c|b.c", "patch|-p1", "tmux|new-session|-s|work", "screen|-S|build", "ssh|-p|2222|ana@build.example.org|uptime", "rsync|-av|--delete|src/|host:dst/",
	// Browsers and applications.
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome|--type=renderer|--lang=en-US|--num-raster-threads=4|--renderer-client-id=7", "/usr/lib/firefox/firefox|-contentproc|-childID|3|-isForBrowser|-prefsLen|31234|-parentBuildID|20260101120000|12345|true|tab", "/usr/lib/chromium/chromium|--type=gpu-process|--crashpad-handler-pid=123", "/System/Library/Frameworks/WebKit.framework/XPCServices/com.apple.WebKit.WebContent.xpc/Contents/MacOS/com.apple.WebKit.WebContent",
	"/usr/bin/gnome-shell|--mode=ubuntu", "Xorg|:0|-auth|/run/user/120/gdm/Xauthority|vt1|-nolisten|tcp", "/usr/bin/Xwayland|:1|-rootless|-noreset|-accessx|-core|-auth|/run/x|-listen|4", "/usr/lib/libreoffice/program/soffice.bin|--splash-pipe=5|report.odt", "spotify|--type=utility", "vlc|film.mkv", "ffmpeg|-i|in.mp4|-c:v|libx264|-preset|slow|-crf|22|-vf|scale=1280:-1|out.mp4", "evince|paper.pdf", "thunderbird", "slack|--type=renderer",
	// Daemons.
	"/sbin/init|splash", "/usr/lib/systemd/systemd|--user", "/usr/lib/systemd/systemd-journald", "/usr/lib/systemd/systemd-udevd", "/usr/bin/dbus-daemon|--system|--address=systemd:|--nofork|--nopidfile|--systemd-activation|--syslog-only", "/usr/sbin/cron|-f|-P", "/usr/sbin/rsyslogd|-n|-iNONE", "/usr/sbin/sshd|-D|-R", "sshd: ana [priv]", "/usr/sbin/nginx|-g|daemon on; master_process on;", "nginx: worker process", "postgres: writer process", "postgres: ana shop 10.0.0.5(52144) idle in transaction",
	"/usr/lib/postgresql/16/bin/postgres|-D|/var/lib/postgresql/16/main|-c|config_file=/etc/postgresql/16/main/postgresql.conf", "/usr/sbin/mysqld|--daemonize|--pid-file=/run/mysqld/mysqld.pid", "redis-server|127.0.0.1:6379", "/usr/bin/containerd-shim-runc-v2|-namespace|moby|-id|9f86d081884c7d65|-address|/run/containerd/containerd.sock", "/usr/bin/dockerd|-H|fd://|--containerd=/run/containerd/containerd.sock", "docker-proxy|-proto|tcp|-host-ip|0.0.0.0|-host-port|8080|-container-ip|172.17.0.2|-container-port|80",
	"kubelet|--config=/var/lib/kubelet/config.yaml|--node-ip=10.0.0.4", "/usr/libexec/polkitd|--no-debug", "/usr/sbin/NetworkManager|--no-daemon", "/usr/sbin/wpa_supplicant|-u|-s|-O|DIR=/run/wpa_supplicant", "avahi-daemon: running [host.local]", "/usr/sbin/cupsd|-l", "/usr/bin/pulseaudio|--daemonize=no|--log-target=journal", "/usr/bin/pipewire", "agetty|-o|-p -- \\u|--noclear|tty1|linux", "/usr/sbin/chronyd|-F|1", "snapd", "/usr/lib/upower/upowerd", "prometheus|--config.file=/etc/prometheus/prometheus.yml", "node_exporter|--web.listen-address|:9100",
	"java|-Xmx2g|-XX:+UseG1GC|-cp|a.jar:b.jar|org.apache.catalina.startup.Bootstrap|start", "java|-Xms1g|-jar|/opt/jenkins/jenkins.war|--httpPort=8080", "gunicorn|app:app|--workers|4|--bind|0.0.0.0:8000", "python3|/usr/bin/networkd-dispatcher|--run-startup-triggers", "python3|-m|http.server|8000", "python3|manage.py|runserver|0.0.0.0:8000", "node|server.js", "ruby|bin/rails|server|-p|3000", "php-fpm: pool www", "/usr/bin/php|artisan|queue:work|--tries=3", "celery|-A|proj|worker|-l|info", "uwsgi|--ini|app.ini", "beam.smp|-W|w|-K|true|-root|/usr/lib/erlang|-progname|erl",
	"/usr/libexec/UserEventAgent|(System)", "/usr/libexec/logd", "/usr/sbin/mDNSResponder", "/usr/libexec/trustd|--agent", "mdworker_shared|-s|mdworker|-c|MDSImporterWorker|-m|com.apple.mdworker.shared", "/System/Library/CoreServices/loginwindow.app/Contents/MacOS/loginwindow|console", "/usr/sbin/cfprefsd|agent", "/usr/sbin/distnoted|agent", "/usr/libexec/secinitd", "/System/Library/PrivateFrameworks/CoreSpotlight.framework/corespotlightd", "com.docker.backend|-watchdog", "com.docker.backend|services", "/usr/libexec/biometrickitd|--launchd", "/usr/sbin/spindump", "backupd|-launchd", "/usr/bin/caffeinate|-i|-t|300", "mds_stores", "launchd", "/usr/libexec/xpcproxy|com.apple.geod",
	// Shells and what people type.
	"sh|-c|cd /srv\nmake -j4\nls -la /tmp", "sh|-c|echo 'ls -la /tmp' ¦ at now", "sh|-c|(crontab -l; echo '0 4 * * * /usr/bin/rsync -a /a /b') ¦ crontab -", "sh|-c|run-parts --arg=/srv --report /etc/cron.daily",
	"-bash", "-zsh", "/bin/sh|-c|cd /srv && make -j4 && ./run --port 80", "bash|-lc|for f in *.log; do gzip $f; done", "sh|-c|test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )", "/bin/sh|/etc/init.d/apache2|restart", "bash|build.sh|release|linux", "zsh|-i", "sh|-c|while true; do sleep 60; done", "ls|-la|/tmp", "cp|-pr|old|new", "grep|-rn|pattern|src", "find|.|-name|*.go|-type|f", "sed|-i|s/a/b/g|file.txt", "awk|{print $1}|log", "sort|-k2|-n|data.csv", "tail|-f|/var/log/syslog", "tar|czf|backup.tgz|home", "curl|-sSL|-o|x.tgz|https://example.org/x.tgz", "wget|-q|https://example.org/a.iso",
	"systemctl|restart|ssh.service", "journalctl|-u|ssh|--since|yesterday", "apt-get|install|-y|build-essential", "dpkg|--configure|-a", "brew|upgrade|wget", "pip|install|requests", "npm|run|build", "docker|run|--rm|-it|ubuntu:24.04|bash", "docker|compose|up|-d|web", "kubectl|get|pods|-n|kube-system", "helm|upgrade|web|charts/web|-f|values.yaml", "terraform|plan|-out=plan.bin", "ping|-c|4|example.org", "top|-b|-n|1", "sudo|-u|postgres|pg_dump|shop", "sudo|systemctl|stop|nginx", "env|LANG=C|sort|names", "env|LANG=de_DE.UTF-8|TZ=Europe/Berlin|PATH=/usr/bin:/bin|acme|start", "docker|run|-d|--name|web|-v|/a:/b|--mount|type=bind,source=/a|-e|LANG=C|nginx:1.27|nginx|-g|daemon off;", "tmux|new-session|-d|-s|work|vim notes.txt", "screen|-dmS|build|make|all", "screen|-r|work", "tmux|attach|-t|work", "ssh|-N|-L|8080:localhost:80|ana@h", "acme|--workers=4|--log-level=debug|--timeout=30s|--window=1h30m|--size=10MB|--bind=0.0.0.0:80|--url=https://h/x|--dry-run=true|--name=web|-vv|-config|x.toml|-I/usr/include|-j8|-serverMode|--config.file=/etc/x", "java|-Dspring.profiles.active=prod|-Dfile.encoding=UTF-8|-Djava.io.tmpdir=/tmp|-jar|x.jar|--server.port=8080", "helm|install|x|--set|replicas=3", "ansible-playbook|-e|env=prod|p.yml", "nohup|./worker|start", "timeout|30|make|test", "nice|-n|10|make|bzImage", "xargs|-n|1|-P|4|gzip", "su|-|ana|-c|ls /tmp", "watch|-n|5|df -h", "man|proc", "sleep|60", "dd|if=/dev/zero|of=/tmp/x|bs=1M", "mount|-t|ext4|/dev/sda1|/mnt", "qemu-system-x86_64|-m|4096|-smp|4|-drive|file=/vm/disk.qcow2,if=virtio|-cpu|host",
}

// Redact must hide every secret in a form for which no rule was made.
func TestRedactHidesFurtherShapes(t *testing.T) {
	leaks, tried := 0, 0
	for _, w := range wrappers {
		for _, chosen := range []string{"hunter2Zq", "zebrasecretzebra"} {
			for _, shape := range furtherShapes {
				tried++
				argv := w.wrap(strings.Split(strings.ReplaceAll(shape, "§", chosen), "|"))
				for i := range argv {
					argv[i] = strings.ReplaceAll(argv[i], "¦", "|")
				}
				if out := Redact(argv); strings.Contains(strings.Join(out, "|"), chosen) {
					leaks++
					t.Errorf("%s: %q\n became %q", w.name, argv, out)
				}
			}
		}
	}
	t.Logf("%d shapes, %d tried, %d leaks", len(furtherShapes), tried, leaks)
}

// Command lines must stay readable, or recording them is of no use.
func TestRedactKeepsOrdinaryLines(t *testing.T) {
	words, hidden := 0, 0
	for _, line := range ordinaryLines {
		in := strings.Split(line, "|")
		out := strings.Join(Redact(in), "|")
		words += len(strings.FieldsFunc(line, func(r rune) bool { return r == '|' || r == ' ' }))
		if n := strings.Count(out, Hidden); n > 0 {
			hidden += n
			t.Logf("%s\n became %s", line, out)
		}
	}
	t.Logf("%d lines, %d of %d words hidden", len(ordinaryLines), hidden, words)
	if hidden*100 > words {
		t.Errorf("%d of %d words are hidden", hidden, words)
	}
}
