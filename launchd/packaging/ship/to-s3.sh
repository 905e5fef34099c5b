#!/bin/sh
# to-s3.sh SETTINGS ARCHIVE
#
# Puts a finished archive into object storage that speaks S3 (AWS, MinIO, Ceph, R2
# ...), with curl 7.87 or later. The recorder runs it for each archive that it has
# finished, and again later when it fails:
#
#   [archive]
#   on_finish = ["/usr/local/libexec/tachograph/to-s3.sh", "/etc/tachograph/s3.conf"]
#
# SETTINGS holds the secret: it must be readable by its owner alone, who runs the
# recorder (chmod 600). A line is a setting:
#
#   url        = https://s3.eu-central-1.amazonaws.com/BUCKET/tachograph
#   region     = eu-central-1
#   access_key = AKIA...
#   secret_key = ...
#
# An archive becomes URL/HOST/NAME.tacho. One that is there already, of the same
# size and sum, is not sent again, so that it may be run any number of times. The
# receiver is told the sum, and refuses what arrives otherwise.
set -eu
umask 077

fail() {
	echo "to-s3: $*" >&2
	exit 1
}

[ $# -eq 2 ] || fail "usage: to-s3.sh SETTINGS ARCHIVE"
settings=$1 archive=$2

# Whoever may read the settings may write into the bucket.
case $(ls -ldnL -- "$settings" 2>/dev/null) in
-???------*) ;;
"") fail "$settings cannot be read" ;;
*) fail "$settings can be read by others: chmod 600 it" ;;
esac
[ -O "$settings" ] || fail "$settings belongs to somebody else"

url='' region='' access_key='' secret_key=''
while IFS= read -r line || [ -n "$line" ]; do
	case $line in '' | '#'*) continue ;; esac
	name=${line%%=*} value=${line#*=}
	name=$(printf %s "$name" | tr -d ' \t')
	value=$(printf %s "$value" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//')
	# What curl reads as a quotation ends in one.
	case $value in *'"'* | *'\'*) fail "$settings: $name holds a quotation mark or a backslash" ;; esac
	case $name in
	url) url=${value%/} ;;
	region) region=$value ;;
	access_key) access_key=$value ;;
	secret_key) secret_key=$value ;;
	*) fail "$settings: there is no setting $name: there are url, region, access_key and secret_key" ;;
	esac
done <"$settings"
[ -n "$url" ] && [ -n "$region" ] && [ -n "$access_key" ] && [ -n "$secret_key" ] ||
	fail "$settings lacks one of url, region, access_key and secret_key"
case $url in
https://* | http://127.0.0.1[:/]* | http://localhost[:/]* | 'http://[::1]'[:/]*) ;;
*) fail "$settings: the url is no https address, and an archive says much about its machine" ;;
esac

# The recorder makes names of these letters only; others would need quoting.
name=${archive##*/}
case $name in
*[!A-Za-z0-9._-]* | .* | -*) fail "$name is no name of an archive" ;;
*-????????T??????Z--*.tacho) ;;
*) fail "$name is no finished archive" ;;
esac
[ -f "$archive" ] && [ ! -L "$archive" ] || fail "$archive is no file"
object=$url/${name%-????????T??????Z--*}/$name

sum() {
	if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1
}
size=$(wc -c <"$archive" | tr -d ' ')
hash=$(sum <"$archive")
empty=$(sum </dev/null)

# Everything secret goes to curl by its standard input: arguments are for all to see.
call() {
	curl --config - --silent --show-error --connect-timeout 30 --speed-limit 1000 --speed-time 60 "$@" <<-END
		aws-sigv4 = "aws:amz:$region:s3"
		user = "$access_key:$secret_key"
	END
}

version=$(curl --version 2>/dev/null | sed -n '1s/^curl \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
[ -n "$version" ] || fail "there is no curl"
# shellcheck disable=SC2086 # two words are meant
set -- $version
[ "$1" -gt 7 ] || [ "$2" -ge 87 ] || fail "curl $1.$2 signs no request as S3 wants it: it takes 7.87"

# Is it there?
there=$(call --head --header "x-amz-content-sha256: $empty" "$object" | tr -d '\r' | tr '[:upper:]' '[:lower:]') || there=''
case $there in
http/*' 200'*)
	if printf '%s\n' "$there" | grep -qx "content-length: $size" && printf '%s\n' "$there" | grep -qx "x-amz-meta-sha256: $hash"; then
		echo "to-s3: $name is there already"
		exit 0
	fi
	;;
esac

said=$(call --fail-with-body --retry 3 --upload-file "$archive" \
	--header "x-amz-content-sha256: $hash" --header "x-amz-meta-sha256: $hash" --header "Content-Type: application/octet-stream" \
	"$object" 2>&1) || fail "$name was not sent: $(printf %s "$said" | tr '\n' ' ' | cut -c1-400)"
echo "to-s3: $name was sent, $size bytes"
