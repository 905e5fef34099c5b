#!/bin/sh -e
# make.sh REMOTE FORMAT KEYED COMPRESSION: makes FORMAT-COMPRESSION.journal.zst from fixture.export
# with REMOTE, a systemd-journal-remote: regular-none and regular-zstd with that of systemd 252, the
# others with that of 254, the first that compresses as it is asked to. COMPRESSION may be ONLINE:
# the file is copied before anybody has closed it.
export SYSTEMD_JOURNAL_COMPACT=0 SYSTEMD_JOURNAL_KEYED_HASH="$3" SYSTEMD_JOURNAL_COMPRESS="$4"
[ "$2" = regular ] || SYSTEMD_JOURNAL_COMPACT=1
name=$2-$(echo "$4" | tr '[:upper:]' '[:lower:]').journal
rm -f "$name"
case $4 in
NONE) "$1" --compress=no -o "$name" fixture.export ;;
ONLINE)
	SYSTEMD_JOURNAL_COMPRESS=ZSTD
	(
		cat fixture.export
		until [ -s online ] && sleep 1; do
			[ ! -s "$name" ] || { sleep 1 && cp "$name" online; }
		done
	) | "$1" -o "$name" -
	mv online "$name"
	;;
*) "$1" --compress=yes -o "$name" fixture.export ;;
esac
zstd -q -19 --rm -f "$name"
