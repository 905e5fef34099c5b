package catalog

// networkListenerRows are metrics with one value per port that is listened on. The instance is
// the protocol, the address and the port; its labels say which process listens and whose it is.
var networkListenerRows = []row{
	{"network.listener.backlog", own(22, 0), u32, now, none, "listener", network,
		"Connections that wait to be accepted",
		on{mac("net.inet.tcp.pcblist64 xtcpcb64: xt_inpcb.xi_socket.so_qlen", long("Added up over the sockets that listen on the port.")),
			lin("sock_diag idiag_rqueue", long("Added up over the sockets that listen on the port."))}},
	{"network.listener.backlog_limit", own(22, 1), u32, now, none, "listener", network,
		"Connections that may wait to be accepted before new ones are dropped",
		on{mac("net.inet.tcp.pcblist64 xtcpcb64: xt_inpcb.xi_socket.so_qlimit"), lin("sock_diag idiag_wqueue")}},
	{"network.listener.drops", own(22, 2), u64, counts, count, "listener", network,
		"Connections dropped because too many waited to be accepted, or for other lack of room",
		on{lacks(Darwin, "the kernel of macOS counts them for all ports together: network.tcp.listendrops"), lin("sock_diag INET_DIAG_SKMEMINFO: drops")}},
	{"network.listener.connections", own(22, 3), u32, now, none, "listener", network,
		"Open connections through the port",
		on{mac("com.apple.network.statistics sources"), lin("sock_diag")}},
	{"network.listener.sockets", own(22, 4), u32, now, none, "listener", network,
		"Sockets that listen on the port",
		on{mac("com.apple.network.statistics sources"), lin("sock_diag")}},
}
