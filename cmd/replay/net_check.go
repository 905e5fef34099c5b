package main

import (
	"slices"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/store/query"
)

// netCheck says which metrics a row about the use of the network is of, and with which arguments
// replay shows them: for processes, and for all connections together, as they were recorded; for a
// group its processes, where a pattern means just these. What is the rest of others has no metrics.
func (q *netAnswer) netCheck(r answer.NetRow) ([]string, []string) {
	of := "proc.net."
	if r.Over != "" {
		of += r.Over + "."
	}
	metrics := q.recorded(of, "in_bytes", "out_bytes", "retrans_bytes", "opened", "accepted", "refused", "failed")
	all := func(of string) ([]string, []string) {
		metrics := q.recorded(of, "in_bytes", "out_bytes", "retrans_bytes")
		return metrics, q.a.rangeWords(metrics, "", r.Of.From, r.Of.To)
	}
	switch c := r.Consumer; {
	case r.Row == answer.RowProcess:
		return metrics, q.a.rangeWords(metrics, c.Instance.Key, r.Of.From, r.Of.To)
	case r.Row == answer.RowGroup:
		pattern := ""
		switch query.Grouping(q.f.group) {
		case query.PerName:
			pattern = c.Name
		case query.Grouping(c.Owned):
			pattern = c.Owned + "=" + c.Name
		default:
			return metrics, nil
		}
		return metrics, slices.Concat([]string{"net", pattern}, q.over(), spanWords(r.Of.From, r.Of.To))
	case r.Over != "":
	case r.Row == answer.RowUnattributed:
		return all("network.traffic.unattributed.")
	case r.Row == answer.RowTotal && q.m.All():
		return all("network.traffic.")
	}
	return nil, nil
}

// recorded are the metrics under a name that the archive has.
func (q *netAnswer) recorded(of string, names ...string) (list []string) {
	for _, name := range names {
		if q.a.Archive.Lookup(of+name) != nil {
			list = append(list, of+name)
		}
	}
	return list
}

// over are the flags that say which part of the bytes is meant.
func (q *netAnswer) over() []string {
	switch {
	case q.f.protocol != "":
		return []string{"--protocol", q.f.protocol}
	case q.f.medium != "":
		return []string{"--medium", q.f.medium}
	}
	return nil
}

// socketCheck does what netCheck does, for a row about a connection, a peer or a port.
func (q *netAnswer) socketCheck(r answer.SocketRow) ([]string, []string) {
	one := func(metrics []string) ([]string, []string) {
		return metrics, q.a.rangeWords(metrics, r.Socket.Instance.Key, r.Of.From, r.Of.To)
	}
	connections := q.recorded("network.persocket.", "bytes_received", "bytes_sent", "bytes_retrans", "round_trip.rtt", "minrtt")
	switch r.Row {
	case answer.RowSocket:
		return one(connections)
	case answer.RowPort:
		return one(q.recorded("network.listener.", "backlog", "backlog_limit", "drops", "connections"))
	case answer.RowPeer:
		return connections, append([]string{"net", "--connections", "-n", "0"}, spanWords(r.Of.From, r.Of.To)...)
	}
	return nil, nil
}
