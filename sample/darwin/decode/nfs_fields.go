package decode

const nfsclntstats = Struct("nfsclntstats")

// The NFS client.
var _ = []*Field{
	nfsclntstats.U64("attrcache_hits", 0),
	nfsclntstats.U64("attrcache_misses", 8),
	nfsclntstats.U64("lookupcache_hits", 16),
	nfsclntstats.U64("lookupcache_misses", 24),
	nfsclntstats.U64("direofcache_hits", 32),
	nfsclntstats.U64("direofcache_misses", 40),
	nfsclntstats.U64("biocache_reads", 64),
	nfsclntstats.U64("read_bios", 72),
	nfsclntstats.U64("biocache_writes", 88),
	nfsclntstats.U64("write_bios", 96),
	nfsclntstats.U64("biocache_readlinks", 112),
	nfsclntstats.U64("readlink_bios", 120),
	nfsclntstats.U64("biocache_readdirs", 128),
	nfsclntstats.U64("readdir_bios", 136),
	nfsclntstats.Array("rpccntv3", 144, 8, NFS3Procs, false),
	nfsclntstats.U64("rpcretries", 712),
	nfsclntstats.U64("rpcrequests", 720),
	nfsclntstats.U64("rpctimeouts", 728),
	nfsclntstats.U64("rpcunexpected", 736),
	nfsclntstats.U64("rpcinvalid", 744),
	nfsclntstats.U64("pageins", 752),
	nfsclntstats.U64("pageouts", 760),
}

const nfsrvstats = Struct("nfsrvstats")

// The NFS server.
var _ = []*Field{
	nfsrvstats.Array("srvrpccntv3", 0, 8, NFS3Procs, false),
	nfsrvstats.U64("srvrpc_errs", 184),
	nfsrvstats.U64("srv_errs", 192),
	nfsrvstats.U64("srvcache_inproghits", 200),
	nfsrvstats.U64("srvcache_idemdonehits", 208),
	nfsrvstats.U64("srvcache_nonidemdonehits", 216),
	nfsrvstats.U64("srvcache_misses", 224),
	nfsrvstats.U64("srvvop_writes", 232),
}

// NFS3Procs is the number of procedures of NFS version 3; the others are the sizes of the
// answers.
const (
	NFS3Procs   = 23
	NFSSize     = 1336
	NFSDSize    = 488
	VFSConfSize = 40
)
