package cmdline

import "strings"

// A program says which arguments of one program are secret, where the argument itself gives no
// sign of it.
type program struct {
	// letters are the short options that take a secret, in the next word or attached to the
	// letter; hanging are those that take it attached only.
	letters, hanging string
	// values are the short options that take something else: what is attached to them is not
	// searched for more letters.
	values string
	// assigns are the short options whose value is a name, "=" and what may be a secret.
	assigns string
	// sets says that a word with a "=" assigns to a name that the user chose.
	sets bool
	// passes are the long options whose value is the arguments of an unknown program.
	passes []string
	// words are the long options, with any number of dashes.
	words []string
	// whole says that a single dash begins a word, not letters.
	whole bool
	// verb is the word without which letters and words have another meaning.
	verb string
	// places are secrets that are words of their own.
	places []places
	// slash says that logins are written name/password@where.
	slash bool
	// lasting says that the rules still apply after a command within has ended.
	lasting bool
	// searches says that the words are search terms: "grep password file".
	searches bool
}

// places are secret words, counted without options.
type places struct {
	after string // this word or option; empty: the program itself
	skip  int
	hide  int // all from there on if negative
}

const everyone = -1

var (
	mysql   = &program{hanging: "p", values: "uhPDSeBC"}
	archive = &program{hanging: "p"}
	login   = &program{letters: "p", values: "u", assigns: "e", verb: "login"}
	remote  = &program{letters: "p", values: "uhHd"}
	mssql   = &program{letters: "P", values: "SUdQioEHfr"}
	ldap    = &program{letters: "w", values: "DHbsfyahlpzYUXRoOe"}
	snmp    = &program{letters: "cAXZW", values: "vulnrteaxO"}
	oracle  = &program{slash: true}
	putty   = &program{words: []string{"pw"}, whole: true}
	samba   = &program{letters: "U", values: "LIpcWnsMDkT", places: []places{{"", 1, 1}}}
	http    = &program{letters: "a", values: "psov"}
	youtube = &program{letters: "p", values: "ufor"}
	toolkit = &program{words: []string{"storepass", "keypass", "srcstorepass", "deststorepass"}, whole: true}
)

// programs are the programs with secrets that nothing else shows.
var programs = func() map[string]*program {
	m := make(map[string]*program)
	add := func(names string, p *program) {
		for _, n := range strings.Fields(names) {
			m[n] = p
		}
	}
	add("mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlslap mysqlshow mysqlbinlog mysqlpump mysqlsh "+
		"mariadb mariadb-dump mariadb-admin mariadb-import mariadb-check mariadb-show mycli", mysql)
	add("7z 7za 7zr 7zz p7zip", archive)
	add("rar unrar", &program{hanging: "p", words: []string{"hp"}})
	add("docker podman nerdctl buildah skopeo helm crane oras regctl singularity apptainer oc argocd", login)
	add("az", &program{letters: "p", values: "ugno", words: []string{"value"}})
	add("gh", &program{letters: "b", words: []string{"body"}, verb: "secret"})
	add("ip", &program{places: []places{{"enc", 1, 1}, {"auth", 1, 1}, {"auth-trunc", 1, 1}, {"aead", 1, 1}, {"key", 1, 1}}})
	add("nc ncat netcat", &program{letters: "P"})
	add("kubectl", &program{words: []string{"from-literal"}})
	add("mongo mongosh mongodump mongorestore mongoexport mongoimport rabbitmqadmin cqlsh influx hydra medusa crackmapexec nxc netexec evil-winrm "+
		"altool rdesktop ncftp ncftpget ncftpput beeline veracrypt truecrypt twine poetry", remote)
	add("sshpass", &program{letters: "p", values: "fde"})
	add("zip zipcloak", &program{letters: "P", values: "bitnsx"})
	add("unzip zipinfo funzip", &program{letters: "P", values: "dx"})
	add("mosquitto_pub mosquitto_sub mosquitto_rr", &program{letters: "P", values: "htmfupiqk"})
	add("ipmitool ipmiutil", &program{letters: "Pk", values: "HUILpCtA"})
	add("ansible ansible-playbook ansible-pull", &program{assigns: "e"})
	add("isql iusql", &program{letters: "P", values: "SUdQioEHfr", places: []places{{"", 2, 1}}})
	add("cmake mvn mvnw ant meson", &program{assigns: "DP"})
	add("gradle gradlew", &program{assigns: "DP", passes: []string{"args"}})
	add("run-parts", &program{letters: "a", passes: []string{"arg"}})
	add("scons", &program{assigns: "DP", sets: true})
	add("make gmake bmake rake", &program{sets: true})
	add("psql", &program{assigns: "v"})
	add("awk gawk mawk", &program{assigns: "v", sets: true})
	add("systemctl", &program{sets: true, verb: "set-environment"})
	add("launchctl", &program{places: []places{{"setenv", 0, 2}}})
	add("virsh", &program{places: []places{{"secret-set-value", 1, everyone}, {"set-user-password", 2, 1}}})
	add("tmux", &program{places: []places{{"send-keys", 0, everyone}, {"send", 0, everyone}, {"set-environment", 1, everyone}, {"setenv", 1, everyone}, {"set-buffer", 0, everyone}, {"setb", 0, everyone}}})
	add("screen", &program{lasting: true, places: []places{{"stuff", 0, everyone}}})
	add("sqlcmd bcp osql tsql sqsh freebcp", mssql)
	add("plink pscp psftp putty", putty)
	add("ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldapmodrdn ldapcompare ldapexop ldapurl", ldap)
	add("ldappasswd", &program{letters: "was", values: "DHSAfyY"})
	add("redis-cli valkey-cli keydb-cli redis-benchmark", &program{letters: "a", values: "hpnsrdiu"})
	add("curl", &program{letters: "uUbE", values: "AcCdDeFHhKmoPQrtTwxXyYz", words: []string{"user", "proxy-user", "cookie", "oauth2-bearer", "pass", "cert"}})
	add("lftp", &program{letters: "u", values: "epf"})
	add("smbclient rpcclient net smbget smbcacls smbtree nmblookup winexe wmic pth-winexe", samba)
	add("wbinfo", &program{letters: "a", words: []string{"authenticate"}})
	add("openssl", &program{whole: true, words: []string{"k", "K", "passin", "passout", "pass", "psk", "challenge", "hmac", "macopt"}, places: []places{{"passwd", 0, everyone}}})
	add("keytool jarsigner", toolkit)
	// -k and -o name files as well.
	add("security", &program{letters: "pPwX", values: "asltDjcCGTdf", places: []places{{"k", 0, 1}, {"o", 0, 1}}})
	add("networksetup", &program{whole: true, places: []places{
		{"setairportnetwork", 2, 1}, {"addpreferredwirelessnetworkatindex", 4, 1}, {"setpppoepassword", 1, 1}, {"createpppoeservice", 3, 1},
		{"setwebproxy", 5, 1}, {"setsecurewebproxy", 5, 1}, {"setftpproxy", 5, 1}, {"setsocksfirewallproxy", 5, 1},
		{"setstreamingproxy", 5, 1}, {"setgopherproxy", 5, 1}, {"setrtspproxy", 5, 1}}})
	add("dscl", &program{whole: true, words: []string{"P"}, places: []places{{"passwd", 1, everyone}, {"authonly", 1, 1}, {"auth", 1, 1}}})
	add("pwpolicy dsconfigad dseditgroup", &program{whole: true, words: []string{"p", "P"}})
	add("ansible-vault", &program{places: []places{{"encrypt_string", 0, everyone}}})
	add("htpasswd htdigest", &program{places: []places{{"b", 1, everyone}}})
	add("mkpasswd grub-mkpasswd-pbkdf2", &program{places: []places{{"", 0, everyone}}})
	add("wpa_passphrase", &program{places: []places{{"", 1, 1}}})
	add("vault bao", &program{places: []places{{"login", 0, everyone}, {"unseal", 0, everyone}, {"lookup", 0, 1}, {"renew", 0, 1}, {"revoke", 0, 1}}})
	add("bw", &program{places: []places{{"unlock", 0, 1}, {"login", 1, 1}}})
	add("cargo", &program{places: []places{{"login", 0, everyone}}})
	add("rclone", &program{places: []places{{"obscure", 0, 1}, {"pass", 0, 1}}})
	add("rabbitmqctl", &program{places: []places{{"add_user", 1, 1}, {"change_password", 1, 1}, {"authenticate_user", 1, 1}}})
	add("mc", &program{places: []places{{"alias", 3, everyone}, {"host", 3, everyone}}})
	add("b2", &program{places: []places{{"authorize-account", 1, 1}, {"authorize", 1, 1}}})
	add("db2", &program{places: []places{{"using", 0, 1}}})
	add("steamcmd steam", &program{places: []places{{"+login", 1, 1}}})
	add("xauth", &program{places: []places{{"add", 2, 1}}})
	add("iwconfig iw", &program{places: []places{{"key", 0, 1}, {"keys", 0, 1}}})
	add("ifconfig", &program{places: []places{{"wepkey", 0, 1}, {"wpakey", 0, 1}, {"nwkey", 0, 1}}})
	add("qpdf", &program{places: []places{{"encrypt", 0, 2}}})
	add("signtool", &program{places: []places{{"/p", 0, 1}}})
	add("expect", &program{lasting: true, places: []places{{"send", 0, 1}, {"exp_send", 0, 1}}})
	add("pulumi", &program{places: []places{{"secret", 0, everyone}}})
	add("dotnet", &program{letters: "k", verb: "push", places: []places{{"user-secrets", 2, 1}}})
	add("nuget", &program{places: []places{{"setapikey", 0, 1}}, whole: true})
	add("wpa_cli", &program{places: []places{{"password", 1, 1}, {"otp", 1, 1}, {"passphrase", 1, 1}}})
	add("aws", &program{words: []string{"value", "plaintext"}})
	add("glab", &program{letters: "t", verb: "login"})
	add("doctl", &program{letters: "t"})
	add("ab", &program{letters: "AP", values: "nctspTvwXH"})
	add("http https xh xhs httpie hey", http)
	add("youtube-dl yt-dlp", youtube)
	add("snmpget snmpwalk snmpset snmpbulkget snmpbulkwalk snmpgetnext snmptrap snmptable snmpstatus snmpd", snmp)
	add("usermod useradd", &program{letters: "p", values: "cdegGskuRP"})
	add("ssh-keygen", &program{letters: "NP", values: "tfCbmO"})
	add("swaks", &program{words: []string{"ap"}, whole: true})
	add("sendemail sendEmail", &program{words: []string{"xp"}, whole: true})
	add("p4", &program{letters: "P", values: "upcCdHrx"})
	add("knife", &program{letters: "P", values: "xN"})
	add("sqlplus sqlldr expdp impdp rman exp imp tnsping sqlcl", oracle)
	add("grep egrep fgrep zgrep rg ag ack man apropos which locate mdfind pgrep", &program{searches: true})
	return m
}()
