package darwin

import (
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// nfs3Procedures are the remote procedures of NFS version 3, in the order of
// the kernel's counters.
var nfs3Procedures = [decode.NFS3Procs]string{
	"null", "getattr", "setattr", "lookup", "access", "readlink", "read", "write",
	"create", "mkdir", "symlink", "mknod", "remove", "rmdir", "rename", "link",
	"readdir", "readdir+", "statfs", "fsinfo", "pathconf", "commit", "noop",
}

// nfsRows returns the tables of the client or the server: of its own metrics, and of those of
// each procedure. For the buffer cache the kernel counts lookups and subsequent fetches. A fetch
// is a miss, the other lookups are hits; PCP has the two the other way round. A server's faults
// are its own errors; PCP repeats the failed replies.
func nfsRows(side string) (one, each *rows.Table) {
	group, prefix := "nfs "+side, "vfs.nfs "+side+" "
	return rows.New(group, rows.Select(metric.NoIndom, prefix), 0, nil),
		rows.New(group+" calls", rows.Select("nfs3 op", prefix), len(nfs3Procedures), nil)
}
