package darwin

import "tachograph/sample/darwin/decode"

// nfs3Procedures are the remote procedures of NFS version 3, in the order of
// the kernel's counters.
var nfs3Procedures = [decode.NFS3Procs]string{
	"null", "getattr", "setattr", "lookup", "access", "readlink", "read", "write",
	"create", "mkdir", "symlink", "mknod", "remove", "rmdir", "rename", "link",
	"readdir", "readdir+", "statfs", "fsinfo", "pathconf", "commit", "noop",
}

// nfsColumn is a metric of the NFS statistics: one counter, or one less
// another.
type nfsColumn struct {
	metric string
	field  *decode.Field
	less   *decode.Field
}

// nfsClientColumns: of the buffer cache the kernel counts what was looked up
// and what then had to be fetched. What was fetched was missed, the rest was
// hit; PCP has the two the other way round.
var nfsClientColumns = []nfsColumn{
	{metric: "rpc.client.rpccnt", field: decode.NFSRpcrequests},
	{metric: "rpc.client.rpcretrans", field: decode.NFSRpcretries},
	{metric: "rpc.client.rpctimeouts", field: decode.NFSRpctimeouts},
	{metric: "rpc.client.rpcinvalid", field: decode.NFSRpcinvalid},
	{metric: "rpc.client.rpcunexpected", field: decode.NFSRpcunexpected},
	{metric: "rpc.client.attrcache.hits", field: decode.NFSAttrcacheHits},
	{metric: "rpc.client.attrcache.misses", field: decode.NFSAttrcacheMisses},
	{metric: "rpc.client.lookupcache.hits", field: decode.NFSLookupcacheHits},
	{metric: "rpc.client.lookupcache.misses", field: decode.NFSLookupcacheMisses},
	{metric: "rpc.client.direofcache.hits", field: decode.NFSDireofcacheHits},
	{metric: "rpc.client.direofcache.misses", field: decode.NFSDireofcacheMisses},
	{metric: "rpc.client.biocache.read.hits", field: decode.NFSBiocacheReads, less: decode.NFSReadBios},
	{metric: "rpc.client.biocache.read.misses", field: decode.NFSReadBios},
	{metric: "rpc.client.biocache.write.hits", field: decode.NFSBiocacheWrites, less: decode.NFSWriteBios},
	{metric: "rpc.client.biocache.write.misses", field: decode.NFSWriteBios},
	{metric: "rpc.client.biocache.readlink.hits", field: decode.NFSBiocacheReadlinks, less: decode.NFSReadlinkBios},
	{metric: "rpc.client.biocache.readlink.misses", field: decode.NFSReadlinkBios},
	{metric: "rpc.client.biocache.readdir.hits", field: decode.NFSBiocacheReaddirs, less: decode.NFSReaddirBios},
	{metric: "rpc.client.biocache.readdir.misses", field: decode.NFSReaddirBios},
	{metric: "rpc.client.pageins", field: decode.NFSPageins},
	{metric: "rpc.client.pageouts", field: decode.NFSPageouts},
	{metric: "nfs3.client.calls"},
}

var nfsServerColumns = []nfsColumn{
	{metric: "rpc.server.retfailed", field: decode.NFSDRpcErrs},
	// Faults are the server's own errors; PCP repeats the failed replies.
	{metric: "rpc.server.faults", field: decode.NFSDErrs},
	{metric: "rpc.server.cache.inprog", field: decode.NFSDCacheInproghits},
	{metric: "rpc.server.cache.idem", field: decode.NFSDCacheIdemdonehits},
	{metric: "rpc.server.cache.nonidem", field: decode.NFSDCacheNonidemdonehits},
	{metric: "rpc.server.cache.misses", field: decode.NFSDCacheMisses},
	{metric: "rpc.server.vopwrites", field: decode.NFSDVopWrites},
	{metric: "nfs3.server.calls"},
}

// value is a column of an answer; procs is where its procedure counters begin.
func (c *nfsColumn) value(answer []byte, procs int) (uint64, bool) {
	if c.field == nil {
		var sum uint64
		for i := range decode.NFS3Procs {
			n, ok := nfsProcedure(answer, procs, i)
			if !ok {
				return 0, false
			}
			sum += n
		}
		return sum, true
	}
	v, ok := c.field.Uint(answer)
	if ok && c.less != nil {
		var minus uint64
		if minus, ok = c.less.Uint(answer); minus > v {
			// The two counters were not read at the same instant.
			return 0, ok
		}
		v -= minus
	}
	return v, ok
}

func nfsProcedure(answer []byte, procs, i int) (uint64, bool) {
	if len(answer) < procs {
		return 0, false
	}
	return decode.Quads(answer[procs:], i)
}
