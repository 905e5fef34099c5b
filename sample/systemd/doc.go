// Package systemd reads what systemd has written down: the files of its journal, the names of the
// core dumps that it keeps, and what a panic left in the firmware's memory. Crash files of apport,
// which takes systemd's place on Ubuntu, are read too.
//
// Anybody who may log may choose most of what a journal holds, and files may be damaged, cut or
// written at this moment. So no offset and no length of a file is trusted: every read lies within
// what the file's header says, chains only go forward, and each call does a bounded amount of work.
//
// What it returns are facts. Sentences about them are made elsewhere.
package systemd
