package decode

// The NFS client.
var (
	NFSAttrcacheHits     = u64("nfsclntstats", "attrcache_hits", 0)
	NFSAttrcacheMisses   = u64("nfsclntstats", "attrcache_misses", 8)
	NFSLookupcacheHits   = u64("nfsclntstats", "lookupcache_hits", 16)
	NFSLookupcacheMisses = u64("nfsclntstats", "lookupcache_misses", 24)
	NFSDireofcacheHits   = u64("nfsclntstats", "direofcache_hits", 32)
	NFSDireofcacheMisses = u64("nfsclntstats", "direofcache_misses", 40)
	NFSBiocacheReads     = u64("nfsclntstats", "biocache_reads", 64)
	NFSReadBios          = u64("nfsclntstats", "read_bios", 72)
	NFSBiocacheWrites    = u64("nfsclntstats", "biocache_writes", 88)
	NFSWriteBios         = u64("nfsclntstats", "write_bios", 96)
	NFSBiocacheReadlinks = u64("nfsclntstats", "biocache_readlinks", 112)
	NFSReadlinkBios      = u64("nfsclntstats", "readlink_bios", 120)
	NFSBiocacheReaddirs  = u64("nfsclntstats", "biocache_readdirs", 128)
	NFSReaddirBios       = u64("nfsclntstats", "readdir_bios", 136)
	NFSRpcretries        = u64("nfsclntstats", "rpcretries", 712)
	NFSRpcrequests       = u64("nfsclntstats", "rpcrequests", 720)
	NFSRpctimeouts       = u64("nfsclntstats", "rpctimeouts", 728)
	NFSRpcunexpected     = u64("nfsclntstats", "rpcunexpected", 736)
	NFSRpcinvalid        = u64("nfsclntstats", "rpcinvalid", 744)
	NFSPageins           = u64("nfsclntstats", "pageins", 752)
	NFSPageouts          = u64("nfsclntstats", "pageouts", 760)
)

// The NFS server.
var (
	NFSDRpcErrs              = u64("nfsrvstats", "srvrpc_errs", 184)
	NFSDErrs                 = u64("nfsrvstats", "srv_errs", 192)
	NFSDCacheInproghits      = u64("nfsrvstats", "srvcache_inproghits", 200)
	NFSDCacheIdemdonehits    = u64("nfsrvstats", "srvcache_idemdonehits", 208)
	NFSDCacheNonidemdonehits = u64("nfsrvstats", "srvcache_nonidemdonehits", 216)
	NFSDCacheMisses          = u64("nfsrvstats", "srvcache_misses", 224)
	NFSDVopWrites            = u64("nfsrvstats", "srvvop_writes", 232)
)

// NFS version 3 procedures: an array of 64-bit counters at the same place in
// the server's struct (0) and in the client's.
const (
	NFS3Procs   = 23
	NFS3Client  = 144
	NFS3Server  = 0
	NFSSize     = 1336
	NFSDSize    = 488
	VFSConfSize = 40
)
