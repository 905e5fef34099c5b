package naming

// table has the families of node_exporter whose metrics are recorded, a line each: the platform
// (both, linux or macos), the collector, the name, the type, and the sources. Each source is a
// metric, with options behind a colon. The help is below.
//
//	LABEL=VALUE   a label of all its series
//	only=NAME     the instance with that name, without a label for it
//	device        the label of the instance is called device
//	times=METRIC  multiplied by that metric
//	kind=clock    the time of the reading; kind=failing: 0 if there is a value, else 1
//	texts=LABEL:METRIC ...  labels with the words of those metrics; there can be no other options
//	raw           not converted to a base unit
const table = `
macos boottime node_boot_time_seconds gauge | kern.boottime
	When the machine was started, since 1970.
linux conntrack node_nf_conntrack_entries gauge | net.netfilter.nf_conntrack_count
	Connections the packet filter keeps track of.
linux conntrack node_nf_conntrack_entries_limit gauge | net.netfilter.nf_conntrack_max
	Connections the packet filter can keep track of.
linux cpu node_cpu_guest_seconds_total counter | kernel.percpu.cpu.guest: mode=user | kernel.percpu.cpu.guest_nice: mode=nice
	Time the processors spent in guests, which is time in user mode or nice as well.
both cpu node_cpu_seconds_total counter | kernel.percpu.cpu.user: mode=user | kernel.percpu.cpu.nice: mode=nice | kernel.percpu.cpu.sys: mode=system | kernel.percpu.cpu.idle: mode=idle | kernel.percpu.cpu.wait.total: mode=iowait | kernel.percpu.cpu.irq.hard: mode=irq | kernel.percpu.cpu.irq.soft: mode=softirq | kernel.percpu.cpu.steal: mode=steal
	Time the processors spent in each mode.
linux diskstats node_disk_discard_time_seconds_total counter | disk.dev.discard_rawactive
	Time spent on discards.
linux diskstats node_disk_discarded_sectors_total counter | disk.dev.blkdiscard
	Sectors discarded.
linux diskstats node_disk_discards_completed_total counter | disk.dev.discard
	Discards completed.
linux diskstats node_disk_discards_merged_total counter | disk.dev.discard_merge
	Discards joined to a neighbour.
linux diskstats node_disk_flush_requests_time_seconds_total counter | disk.dev.flush_rawactive
	Time spent on flushes.
linux diskstats node_disk_flush_requests_total counter | disk.dev.flush
	Flushes completed.
linux diskstats node_disk_io_now gauge | disk.dev.inflight
	Requests under way.
linux diskstats node_disk_io_time_seconds_total counter | disk.dev.avactive
	Time in which requests were under way.
linux diskstats node_disk_io_time_weighted_seconds_total counter | disk.dev.aveq
	Time under way added up over requests.
both diskstats node_disk_read_bytes_total counter | disk.dev.read_bytes
	Data read.
macos diskstats node_disk_read_errors_total counter | disk.dev.read_errors
	Reads that failed.
macos diskstats node_disk_read_retries_total counter | disk.dev.read_retries
	Reads that were repeated.
macos diskstats node_disk_read_sectors_total counter | disk.dev.blkread
	Blocks read.
both diskstats node_disk_read_time_seconds_total counter | disk.dev.total_read_time
	Time reads took.
both diskstats node_disk_reads_completed_total counter | disk.dev.read
	Reads completed.
linux diskstats node_disk_reads_merged_total counter | disk.dev.read_merge
	Reads joined to a neighbour.
macos diskstats node_disk_write_errors_total counter | disk.dev.write_errors
	Writes that failed.
macos diskstats node_disk_write_retries_total counter | disk.dev.write_retries
	Writes that were repeated.
both diskstats node_disk_write_time_seconds_total counter | disk.dev.total_write_time
	Time writes took.
both diskstats node_disk_writes_completed_total counter | disk.dev.write
	Writes completed.
linux diskstats node_disk_writes_merged_total counter | disk.dev.write_merge
	Writes joined to a neighbour.
both diskstats node_disk_written_bytes_total counter | disk.dev.write_bytes
	Data written.
macos diskstats node_disk_written_sectors_total counter | disk.dev.blkwrite
	Blocks written.
linux entropy node_entropy_available_bits gauge | kernel.all.entropy.avail
	Bits of entropy there are.
linux entropy node_entropy_pool_size_bits gauge | kernel.all.entropy.poolsize
	Bits of entropy there can be.
linux filefd node_filefd_allocated gauge | vfs.files.count
	Files that are open.
linux filefd node_filefd_maximum gauge | vfs.files.max
	Files that may be open.
both filesystem node_filesystem_avail_bytes gauge | filesys.avail
	Space left for ordinary users.
both filesystem node_filesystem_device_error gauge | filesys.capacity: kind=failing
	1 where the file system cannot be asked.
both filesystem node_filesystem_files gauge | filesys.maxfiles
	Files there can be.
both filesystem node_filesystem_files_free gauge | filesys.freefiles
	Files that can still be made.
both filesystem node_filesystem_free_bytes gauge | filesys.free
	Space left.
linux filesystem node_filesystem_readonly gauge | filesys.readonly
	1 where nothing can be written.
both filesystem node_filesystem_size_bytes gauge | filesys.capacity
	Size of the file system.
both loadavg node_load1 gauge | kernel.all.load: only=1 minute
	Load average over 1 minute.
both loadavg node_load15 gauge | kernel.all.load: only=15 minute
	Load average over 15 minutes.
both loadavg node_load5 gauge | kernel.all.load: only=5 minute
	Load average over 5 minutes.
linux meminfo node_memory_Active_anon_bytes gauge | mem.util.active_anon
	Active_anon of /proc/meminfo.
linux meminfo node_memory_Active_bytes gauge | mem.util.active
	Active of /proc/meminfo.
linux meminfo node_memory_Active_file_bytes gauge | mem.util.active_file
	Active_file of /proc/meminfo.
linux meminfo node_memory_AnonHugePages_bytes gauge | mem.util.anonhugepages
	AnonHugePages of /proc/meminfo.
linux meminfo node_memory_AnonPages_bytes gauge | mem.util.anonpages
	AnonPages of /proc/meminfo.
linux meminfo node_memory_Bounce_bytes gauge | mem.util.bounce
	Bounce of /proc/meminfo.
linux meminfo node_memory_Buffers_bytes gauge | mem.util.bufmem
	Buffers of /proc/meminfo.
linux meminfo node_memory_Cached_bytes gauge | mem.util.cached
	Cached of /proc/meminfo.
linux meminfo node_memory_CommitLimit_bytes gauge | mem.util.commitLimit
	CommitLimit of /proc/meminfo.
linux meminfo node_memory_Committed_AS_bytes gauge | mem.util.committed_AS
	Committed_AS of /proc/meminfo.
linux meminfo node_memory_DirectMap1G_bytes gauge | mem.util.directMap1G
	DirectMap1G of /proc/meminfo.
linux meminfo node_memory_DirectMap2M_bytes gauge | mem.util.directMap2M
	DirectMap2M of /proc/meminfo.
linux meminfo node_memory_DirectMap4k_bytes gauge | mem.util.directMap4k
	DirectMap4k of /proc/meminfo.
linux meminfo node_memory_Dirty_bytes gauge | mem.util.dirty
	Dirty of /proc/meminfo.
linux meminfo node_memory_FileHugePages_bytes gauge | mem.util.filehugepages
	FileHugePages of /proc/meminfo.
linux meminfo node_memory_FilePmdMapped_bytes gauge | mem.util.filepmdmapped
	FilePmdMapped of /proc/meminfo.
linux meminfo node_memory_HardwareCorrupted_bytes gauge | mem.util.corrupthardware
	HardwareCorrupted of /proc/meminfo.
linux meminfo node_memory_HugePages_Free gauge | mem.util.hugepagesFree
	HugePages_Free of /proc/meminfo.
linux meminfo node_memory_HugePages_Rsvd gauge | mem.util.hugepagesRsvd
	HugePages_Rsvd of /proc/meminfo.
linux meminfo node_memory_HugePages_Surp gauge | mem.util.hugepagesSurp
	HugePages_Surp of /proc/meminfo.
linux meminfo node_memory_HugePages_Total gauge | mem.util.hugepagesTotal
	HugePages_Total of /proc/meminfo.
linux meminfo node_memory_Hugepagesize_bytes gauge | hinv.hugepagesize
	Hugepagesize of /proc/meminfo.
linux meminfo node_memory_Hugetlb_bytes gauge | mem.util.hugetlb
	Hugetlb of /proc/meminfo.
linux meminfo node_memory_Inactive_anon_bytes gauge | mem.util.inactive_anon
	Inactive_anon of /proc/meminfo.
linux meminfo node_memory_Inactive_bytes gauge | mem.util.inactive
	Inactive of /proc/meminfo.
linux meminfo node_memory_Inactive_file_bytes gauge | mem.util.inactive_file
	Inactive_file of /proc/meminfo.
linux meminfo node_memory_KReclaimable_bytes gauge | mem.util.kreclaimable
	KReclaimable of /proc/meminfo.
linux meminfo node_memory_KernelStack_bytes gauge | mem.util.kernelStack
	KernelStack of /proc/meminfo.
linux meminfo node_memory_Mapped_bytes gauge | mem.util.mapped
	Mapped of /proc/meminfo.
linux meminfo node_memory_MemAvailable_bytes gauge | mem.util.available
	MemAvailable of /proc/meminfo.
linux meminfo node_memory_MemFree_bytes gauge | mem.util.free
	MemFree of /proc/meminfo.
linux meminfo node_memory_MemTotal_bytes gauge | mem.physmem
	MemTotal of /proc/meminfo.
linux meminfo node_memory_Mlocked_bytes gauge | mem.util.mlocked
	Mlocked of /proc/meminfo.
linux meminfo node_memory_NFS_Unstable_bytes gauge | mem.util.NFS_Unstable
	NFS_Unstable of /proc/meminfo.
linux meminfo node_memory_PageTables_bytes gauge | mem.util.pageTables
	PageTables of /proc/meminfo.
linux meminfo node_memory_Percpu_bytes gauge | mem.util.percpu
	Percpu of /proc/meminfo.
linux meminfo node_memory_SReclaimable_bytes gauge | mem.util.slabReclaimable
	SReclaimable of /proc/meminfo.
linux meminfo node_memory_SUnreclaim_bytes gauge | mem.util.slabUnreclaimable
	SUnreclaim of /proc/meminfo.
linux meminfo node_memory_ShmemHugePages_bytes gauge | mem.util.shmemhugepages
	ShmemHugePages of /proc/meminfo.
linux meminfo node_memory_ShmemPmdMapped_bytes gauge | mem.util.shmempmdmapped
	ShmemPmdMapped of /proc/meminfo.
linux meminfo node_memory_Shmem_bytes gauge | mem.util.shmem
	Shmem of /proc/meminfo.
linux meminfo node_memory_Slab_bytes gauge | mem.util.slab
	Slab of /proc/meminfo.
linux meminfo node_memory_SwapCached_bytes gauge | mem.util.swapCached
	SwapCached of /proc/meminfo.
linux meminfo node_memory_SwapFree_bytes gauge | mem.util.swapFree
	SwapFree of /proc/meminfo.
linux meminfo node_memory_SwapTotal_bytes gauge | mem.util.swapTotal
	SwapTotal of /proc/meminfo.
linux meminfo node_memory_Unevictable_bytes gauge | mem.util.unevictable
	Unevictable of /proc/meminfo.
linux meminfo node_memory_VmallocTotal_bytes gauge | mem.util.vmallocTotal
	VmallocTotal of /proc/meminfo.
linux meminfo node_memory_VmallocUsed_bytes gauge | mem.util.vmallocUsed
	VmallocUsed of /proc/meminfo.
linux meminfo node_memory_Writeback_bytes gauge | mem.util.writeback
	Writeback of /proc/meminfo.
linux meminfo node_memory_Zswap_bytes gauge | mem.util.zswap
	Zswap of /proc/meminfo.
linux meminfo node_memory_Zswapped_bytes gauge | mem.util.zswapped
	Zswapped of /proc/meminfo.
macos meminfo node_memory_active_bytes gauge | mem.util.active
	Memory in use lately.
macos meminfo node_memory_compressed_bytes gauge | mem.util.compressed
	Memory the compressor holds.
macos meminfo node_memory_free_bytes gauge | mem.util.free
	Memory that is free.
macos meminfo node_memory_inactive_bytes gauge | mem.util.inactive
	Memory not in use lately.
macos meminfo node_memory_internal_bytes gauge | vm.page_pageable_internal_count: times=hinv.pagesize
	Memory of programs that has no file.
macos meminfo node_memory_purgeable_bytes gauge | vm.page_purgeable_count: times=hinv.pagesize
	Memory that programs can do without.
macos meminfo node_memory_swap_total_bytes gauge | swap.length
	Swap space there is.
macos meminfo node_memory_swap_used_bytes gauge | swap.used
	Swap space in use.
macos meminfo node_memory_swapped_in_bytes_total counter | mem.pageins: times=hinv.pagesize
	Memory that was paged in.
macos meminfo node_memory_swapped_out_bytes_total counter | mem.pageouts: times=hinv.pagesize
	Memory that was paged out.
macos meminfo node_memory_total_bytes gauge | hw.memsize
	Memory installed.
macos meminfo node_memory_wired_bytes gauge | mem.util.wired
	Memory that cannot be moved.
linux netclass node_network_mtu_bytes gauge | network.interface.mtu: device
	Largest packet.
linux netclass node_network_speed_bytes gauge | network.interface.baudrate: device
	Speed of the interface, in bytes a second.
linux netclass node_network_up gauge | network.interface.operational: device
	1 where the interface is up.
both netdev node_network_receive_bytes_total counter | network.interface.in.bytes: device
	Data received.
linux netdev node_network_receive_compressed_total counter | network.interface.in.compressed: device
	Compressed packets received.
both netdev node_network_receive_drop_total counter | network.interface.in.drops: device
	Packets received and dropped.
both netdev node_network_receive_errs_total counter | network.interface.in.errors: device
	Errors while receiving.
linux netdev node_network_receive_fifo_total counter | network.interface.in.fifo: device
	Overruns while receiving.
linux netdev node_network_receive_frame_total counter | network.interface.in.frame: device
	Framing errors.
both netdev node_network_receive_multicast_total counter | network.interface.in.mcasts: device
	Multicast packets received.
both netdev node_network_receive_packets_total counter | network.interface.in.packets: device
	Packets received.
both netdev node_network_transmit_bytes_total counter | network.interface.out.bytes: device
	Data sent.
linux netdev node_network_transmit_carrier_total counter | network.interface.out.carrier: device
	Losses of the carrier.
both netdev node_network_transmit_colls_total counter | network.interface.collisions: device
	Collisions.
linux netdev node_network_transmit_compressed_total counter | network.interface.out.compressed: device
	Compressed packets sent.
linux netdev node_network_transmit_drop_total counter | network.interface.out.drops: device
	Packets dropped instead of sent.
both netdev node_network_transmit_errs_total counter | network.interface.out.errors: device
	Errors while sending.
linux netdev node_network_transmit_fifo_total counter | network.interface.out.fifo: device
	Overruns while sending.
macos netdev node_network_transmit_multicast_total counter | network.interface.out.mcasts: device
	Multicast packets sent.
both netdev node_network_transmit_packets_total counter | network.interface.out.packets: device
	Packets sent.
linux netstat node_netstat_Icmp6_InErrors unknown | network.icmp6.inerrors
	Icmp6 InErrors of the protocols.
linux netstat node_netstat_Icmp6_InMsgs unknown | network.icmp6.inmsgs
	Icmp6 InMsgs of the protocols.
linux netstat node_netstat_Icmp6_OutMsgs unknown | network.icmp6.outmsgs
	Icmp6 OutMsgs of the protocols.
linux netstat node_netstat_Icmp_InErrors unknown | network.icmp.inerrors
	Icmp InErrors of the protocols.
linux netstat node_netstat_Icmp_InMsgs unknown | network.icmp.inmsgs
	Icmp InMsgs of the protocols.
linux netstat node_netstat_Icmp_OutMsgs unknown | network.icmp.outmsgs
	Icmp OutMsgs of the protocols.
linux netstat node_netstat_Ip6_InOctets unknown | network.ip6.inoctets
	Ip6 InOctets of the protocols.
linux netstat node_netstat_Ip6_OutOctets unknown | network.ip6.outoctets
	Ip6 OutOctets of the protocols.
linux netstat node_netstat_IpExt_InOctets unknown | network.ip.inoctets
	IpExt InOctets of the protocols.
linux netstat node_netstat_IpExt_OutOctets unknown | network.ip.outoctets
	IpExt OutOctets of the protocols.
linux netstat node_netstat_Ip_Forwarding unknown | network.ip.forwarding
	Ip Forwarding of the protocols.
linux netstat node_netstat_TcpExt_ListenDrops unknown | network.tcp.listendrops
	TcpExt ListenDrops of the protocols.
linux netstat node_netstat_TcpExt_ListenOverflows unknown | network.tcp.listenoverflows
	TcpExt ListenOverflows of the protocols.
linux netstat node_netstat_TcpExt_SyncookiesFailed unknown | network.tcp.syncookiesfailed
	TcpExt SyncookiesFailed of the protocols.
linux netstat node_netstat_TcpExt_SyncookiesRecv unknown | network.tcp.syncookiesrecv
	TcpExt SyncookiesRecv of the protocols.
linux netstat node_netstat_TcpExt_SyncookiesSent unknown | network.tcp.syncookiessent
	TcpExt SyncookiesSent of the protocols.
linux netstat node_netstat_TcpExt_TCPOFOQueue unknown | network.tcp.ofoqueue
	TcpExt TCPOFOQueue of the protocols.
linux netstat node_netstat_TcpExt_TCPRcvQDrop unknown | network.tcp.tcprcvqdrop
	TcpExt TCPRcvQDrop of the protocols.
linux netstat node_netstat_TcpExt_TCPSynRetrans unknown | network.tcp.synretrans
	TcpExt TCPSynRetrans of the protocols.
linux netstat node_netstat_TcpExt_TCPTimeouts unknown | network.tcp.timeouts
	TcpExt TCPTimeouts of the protocols.
linux netstat node_netstat_Tcp_ActiveOpens unknown | network.tcp.activeopens
	Tcp ActiveOpens of the protocols.
linux netstat node_netstat_Tcp_CurrEstab unknown | network.tcp.currestab
	Tcp CurrEstab of the protocols.
linux netstat node_netstat_Tcp_InErrs unknown | network.tcp.inerrs.total
	Tcp InErrs of the protocols.
linux netstat node_netstat_Tcp_InSegs unknown | network.tcp.insegs
	Tcp InSegs of the protocols.
linux netstat node_netstat_Tcp_MaxConn unknown | network.tcp.maxconn
	Tcp MaxConn of the protocols.
linux netstat node_netstat_Tcp_OutRsts unknown | network.tcp.outrsts
	Tcp OutRsts of the protocols.
linux netstat node_netstat_Tcp_OutSegs unknown | network.tcp.outsegs
	Tcp OutSegs of the protocols.
linux netstat node_netstat_Tcp_PassiveOpens unknown | network.tcp.passiveopens
	Tcp PassiveOpens of the protocols.
linux netstat node_netstat_Tcp_RetransSegs unknown | network.tcp.retranssegs
	Tcp RetransSegs of the protocols.
linux netstat node_netstat_Udp6_InDatagrams unknown | network.udp6.indatagrams
	Udp6 InDatagrams of the protocols.
linux netstat node_netstat_Udp6_InErrors unknown | network.udp6.inerrors
	Udp6 InErrors of the protocols.
linux netstat node_netstat_Udp6_NoPorts unknown | network.udp6.noports
	Udp6 NoPorts of the protocols.
linux netstat node_netstat_Udp6_OutDatagrams unknown | network.udp6.outdatagrams
	Udp6 OutDatagrams of the protocols.
linux netstat node_netstat_Udp6_RcvbufErrors unknown | network.udp6.rcvbuferrors
	Udp6 RcvbufErrors of the protocols.
linux netstat node_netstat_Udp6_SndbufErrors unknown | network.udp6.sndbuferrors
	Udp6 SndbufErrors of the protocols.
linux netstat node_netstat_Udp_InDatagrams unknown | network.udp.indatagrams
	Udp InDatagrams of the protocols.
linux netstat node_netstat_Udp_InErrors unknown | network.udp.inerrors.total
	Udp InErrors of the protocols.
linux netstat node_netstat_Udp_NoPorts unknown | network.udp.noports
	Udp NoPorts of the protocols.
linux netstat node_netstat_Udp_OutDatagrams unknown | network.udp.outdatagrams
	Udp OutDatagrams of the protocols.
linux netstat node_netstat_Udp_RcvbufErrors unknown | network.udp.recvbuferrors
	Udp RcvbufErrors of the protocols.
linux netstat node_netstat_Udp_SndbufErrors unknown | network.udp.sndbuferrors
	Udp SndbufErrors of the protocols.
both powersupplyclass node_power_supply_capacity gauge | power.battery.charge: power_supply=battery raw
	Charge of the battery in percent.
both powersupplyclass node_power_supply_cyclecount gauge | power.battery.cycle_count: power_supply=battery
	Cycles the battery has been charged in.
both powersupplyclass node_power_supply_online gauge | power.ac.connected: power_supply=ac
	1 where the mains are connected.
both powersupplyclass node_power_supply_voltage_volt gauge | power.battery.voltage: power_supply=battery
	Voltage of the battery.
linux pressure node_pressure_cpu_waiting_seconds_total counter | kernel.all.pressure.cpu.some.total
	Time in which some waited for a processor.
linux pressure node_pressure_io_stalled_seconds_total counter | kernel.all.pressure.io.full.total
	Time in which all waited for a disk.
linux pressure node_pressure_io_waiting_seconds_total counter | kernel.all.pressure.io.some.total
	Time in which some waited for a disk.
linux pressure node_pressure_irq_stalled_seconds_total counter | kernel.all.pressure.irq.full.total
	Time in which all waited for interrupts.
linux pressure node_pressure_memory_stalled_seconds_total counter | kernel.all.pressure.memory.full.total
	Time in which all waited for memory.
linux pressure node_pressure_memory_waiting_seconds_total counter | kernel.all.pressure.memory.some.total
	Time in which some waited for memory.
linux processes node_processes_max_processes gauge | kernel.all.pid_max
	Processes there may be.
linux processes node_processes_max_threads gauge | kernel.threads_max
	Threads there may be.
linux processes node_processes_pids gauge | proc.nprocs
	Processes there are.
linux processes node_processes_state gauge | proc.runq.runnable: state=R | proc.runq.sleeping: state=S | proc.runq.blocked: state=D | proc.runq.stopped: state=T | proc.runq.defunct: state=Z
	Processes in each state.
linux processes node_processes_threads gauge | kernel.all.nthreads
	Threads there are.
linux sockstat node_sockstat_FRAG6_inuse gauge | network.sockstat.frag6.inuse
	FRAG6 inuse of the sockets.
linux sockstat node_sockstat_FRAG6_memory gauge | network.sockstat.frag6.memory
	FRAG6 memory of the sockets.
linux sockstat node_sockstat_FRAG_inuse gauge | network.sockstat.frag.inuse
	FRAG inuse of the sockets.
linux sockstat node_sockstat_FRAG_memory gauge | network.sockstat.frag.memory
	FRAG memory of the sockets.
linux sockstat node_sockstat_RAW6_inuse gauge | network.sockstat.raw6.inuse
	RAW6 inuse of the sockets.
linux sockstat node_sockstat_RAW_inuse gauge | network.sockstat.raw.inuse
	RAW inuse of the sockets.
linux sockstat node_sockstat_TCP6_inuse gauge | network.sockstat.tcp6.inuse
	TCP6 inuse of the sockets.
linux sockstat node_sockstat_TCP_alloc gauge | network.sockstat.tcp.alloc
	TCP alloc of the sockets.
linux sockstat node_sockstat_TCP_inuse gauge | network.sockstat.tcp.inuse
	TCP inuse of the sockets.
linux sockstat node_sockstat_TCP_mem gauge | network.sockstat.tcp.mem
	TCP mem of the sockets.
linux sockstat node_sockstat_TCP_mem_bytes gauge | network.sockstat.tcp.mem: times=hinv.pagesize
	Memory of TCP sockets.
linux sockstat node_sockstat_TCP_orphan gauge | network.sockstat.tcp.orphan
	TCP orphan of the sockets.
linux sockstat node_sockstat_TCP_tw gauge | network.sockstat.tcp.tw
	TCP tw of the sockets.
linux sockstat node_sockstat_UDP6_inuse gauge | network.sockstat.udp6.inuse
	UDP6 inuse of the sockets.
linux sockstat node_sockstat_UDPLITE_inuse gauge | network.sockstat.udplite.inuse
	UDPLITE inuse of the sockets.
linux sockstat node_sockstat_UDP_inuse gauge | network.sockstat.udp.inuse
	UDP inuse of the sockets.
linux sockstat node_sockstat_UDP_mem gauge | network.sockstat.udp.mem
	UDP mem of the sockets.
linux sockstat node_sockstat_UDP_mem_bytes gauge | network.sockstat.udp.mem: times=hinv.pagesize
	Memory of UDP sockets.
linux sockstat node_sockstat_sockets_used gauge | network.sockstat.total
	sockets used of the sockets.
linux softnet node_softnet_dropped_total counter | network.softnet.percpu.dropped
	Packets dropped.
linux softnet node_softnet_flow_limit_count_total counter | network.softnet.percpu.flow_limit_count
	Times the flow limit was reached.
linux softnet node_softnet_processed_total counter | network.softnet.percpu.processed
	Packets processed.
linux softnet node_softnet_received_rps_total counter | network.softnet.percpu.received_rps
	Times a processor was woken for packets.
linux softnet node_softnet_times_squeezed_total counter | network.softnet.percpu.time_squeeze
	Times the budget did not suffice.
linux stat node_boot_time_seconds gauge | kernel.all.boottime
	When the machine was started, since 1970.
linux stat node_context_switches_total counter | kernel.all.pswitch
	Switches from one thread to another.
linux stat node_forks_total counter | kernel.all.sysfork
	Processes and threads that were begun.
linux stat node_intr_total counter | kernel.all.intr
	Interrupts served.
linux stat node_procs_blocked gauge | kernel.all.blocked
	Threads that wait for a disk.
linux stat node_procs_running gauge | kernel.all.running
	Threads that run or want to.
linux tcpstat node_tcp_connection_states gauge | network.tcpconn.close: state=close | network.tcpconn.close_wait: state=close_wait | network.tcpconn.closing: state=closing | network.tcpconn.established: state=established | network.tcpconn.fin_wait1: state=fin_wait1 | network.tcpconn.fin_wait2: state=fin_wait2 | network.tcpconn.last_ack: state=last_ack | network.tcpconn.listen: state=listen | network.tcpconn.syn_recv: state=syn_recv | network.tcpconn.syn_sent: state=syn_sent | network.tcpconn.time_wait: state=time_wait
	Connections in each state.
macos thermal node_thermal_temperature_celsius gauge | thermal.cpu.die: sensor=cpu | thermal.gpu.die: sensor=gpu | thermal.package: sensor=package | thermal.ambient: sensor=ambient
	Temperature of a sensor.
both time node_time_seconds gauge | kernel.all.cpu.user: kind=clock
	When the values of this class were read, since 1970.
both uname node_uname_info info | kernel.uname.sysname: texts=machine:kernel.uname.machine nodename:kernel.uname.nodename release:kernel.uname.release sysname:kernel.uname.sysname version:kernel.uname.version
	The system and its release.
linux vmstat node_vmstat_oom_kill unknown | mem.vmstat.oom_kill
	oom_kill of /proc/vmstat.
linux vmstat node_vmstat_pgfault unknown | mem.vmstat.pgfault
	pgfault of /proc/vmstat.
linux vmstat node_vmstat_pgmajfault unknown | mem.vmstat.pgmajfault
	pgmajfault of /proc/vmstat.
linux vmstat node_vmstat_pgpgin unknown | mem.vmstat.pgpgin
	pgpgin of /proc/vmstat.
linux vmstat node_vmstat_pgpgout unknown | mem.vmstat.pgpgout
	pgpgout of /proc/vmstat.
linux vmstat node_vmstat_pswpin unknown | mem.vmstat.pswpin
	pswpin of /proc/vmstat.
linux vmstat node_vmstat_pswpout unknown | mem.vmstat.pswpout
	pswpout of /proc/vmstat.
`
