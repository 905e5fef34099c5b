/* The kernel control com.apple.network.statistics: what each socket, and each
 * flow that a library handles in its process, has transferred. */
#include "dh.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONTROL_NAME "com.apple.network.statistics"
enum { CONTROL_ID = 7, NPROVIDERS = 11, FRAGMENT = 100, DATAGRAM = 4096 };
enum { SUCCESS = 0, ERROR = 1, ADD_ALL_SRCS = 1002, GET_SRC_DESC = 1005, GET_UPDATE = 1007,
       SRC_ADDED = 10001, SRC_REMOVED = 10002, SRC_DESC = 10003, SRC_UPDATE = 10006 };
enum { CONTINUATION = 2, CLOSING = 4, AFTER_DROP = 8, AFTER_GONE = 64 };
enum { SUPPRESS_SRC_ADDED = 0x100000, NOZEROBYTES = 0x400000 };
enum { D_ENOBUFS = 55 };
static const char *const provider_names[NPROVIDERS] = { [2] = "tcp", [3] = "tcp_user", [4] = "udp", [5] = "udp_user", [8] = "quic" };

/* host { ntstat 13|14|27 }: the version of macOS; from 27 on the kernel shows
 * ordinary users their own flows only, and no process before it was asked. */
static int version = 14;
static bool refused;

enum { RX, TX, RXPACKETS, TXPACKETS, RETRANSMIT, MIN_RTT, AVG_RTT, VAR_RTT, CLAIMS_RX, CLAIMS_TX,
       SND_USED, RCV_USED, UNACKED, WINDOW, CWND, NNUMBERS };
static const char *const number_names[NNUMBERS] = { "rx", "tx", "rxpackets", "txpackets", "retransmit", "min_rtt", "avg_rtt",
	"var_rtt", "claims_rx", "claims_tx", "snd_used", "rcv_used", "unacked", "window", "cwnd" };

struct flow {
	int provider, family;
	uint8_t lip[16], fip[16];
	uint16_t lport, fport;
	struct { int pid; double from; struct dh_proc *p; } pids[4];
	int npid;
	char *ifname, *medium, *congestion;
	struct dh_expr *state, *uid, *number[NNUMBERS];
	bool inbound;
	double start, end, every;
	int repeat;
	struct flow *next;
};
static struct flow *flows, **flows_end = &flows;

/* One connection of a flow that is repeated. */
struct inst { struct flow *f; double start, end; uint64_t number; };
static struct inst *insts;
static size_t ninst;

struct datagram { struct datagram *next; size_t n; uint8_t b[]; };
struct source { uint64_t ref; uint64_t round; uint8_t life, described; };
enum { NOT_YET, OPEN, GONE };

struct client {
	int fd, other;
	bool connected;
	size_t room, queued;
	struct datagram *first, **last;
	uint64_t filter[NPROVIDERS];
	bool has[NPROVIDERS];
	struct source *src;
	size_t next, *open, nopen, opencap;
	uint64_t refs, round, context;
	bool asking;
	uint8_t part[DATAGRAM];
	size_t npart;
};
static struct client *clients[1024];
static int nclients;

void dh_flow_clear(void)
{
	flows = NULL;
	flows_end = &flows;
}

void dh_ntstat_stmt(struct dh_node *n)
{
	for (int i = 1; i < n->ntok; i++)
		if (!strcmp(n->tok[i].s, "refused"))
			refused = true;
		else
			version = atoi(n->tok[i].s);
}

void dh_flow_stmt(struct dh_node *n)
{
	struct flow *f = dh_xcalloc(1, sizeof *f);
	struct dh_node rest = *n;
	if (n->ntok < 4)
		dh_scn_error(n, "flow PROVIDER LOCAL:PORT REMOTE:PORT { ... }");
	for (int p = 0; p < NPROVIDERS; p++)
		if (provider_names[p] && !strcmp(provider_names[p], n->tok[1].s))
			f->provider = p;
	if (!f->provider)
		dh_scn_error(n, "a provider is one of tcp, tcp_user, udp, udp_user, quic");
	f->family = 2;
	dh_endpoint(n, n->tok[2].s, &f->family, f->lip, &f->lport);
	dh_endpoint(n, n->tok[3].s, &f->family, f->fip, &f->fport);
	f->start = -1e9;
	f->end = INFINITY;
	f->repeat = 1;
	f->ifname = "en0";
	f->congestion = "cubic";
	f->state = dh_expr_const(4);
	rest.child = dh_xcalloc((size_t)n->nchild + 1, sizeof *rest.child);
	rest.nchild = 0;
	for (int i = 0; i < n->nchild; i++) {
		struct dh_node *c = n->child[i];
		const char *k = c->ntok ? c->tok[0].s : "", *v = c->ntok > 1 ? c->tok[1].s : "";
		int next, at = -1;
		for (int x = 0; x < NNUMBERS; x++)
			if (!strcmp(number_names[x], k))
				at = x;
		if (at >= 0) {
			f->number[at] = dh_expr_parse(c, 1, &next);
		} else if (!strcmp(k, "pid")) {
			if (f->npid == 4)
				dh_scn_error(c, "too many processes");
			f->pids[f->npid].pid = atoi(v);
			f->pids[f->npid++].from = c->ntok > 3 ? atof(c->tok[3].s) : -1e300;
		} else if (!strcmp(k, "interface")) f->ifname = c->tok[1].s;
		else if (!strcmp(k, "medium")) f->medium = c->tok[1].s;
		else if (!strcmp(k, "congestion")) f->congestion = c->tok[1].s;
		else if (!strcmp(k, "uid")) f->uid = dh_expr_parse(c, 1, &next);
		else if (!strcmp(k, "inbound")) f->inbound = strcmp(v, "no") != 0;
		else if (!strcmp(k, "repeat")) {
			f->repeat = atoi(v);
			f->every = c->ntok > 3 ? atof(c->tok[3].s) : 0;
		} else {
			if (!strcmp(k, "start")) f->start = atof(v);
			else if (!strcmp(k, "end")) f->end = atof(v);
			else if (!strcmp(k, "state")) f->state = dh_tcp_state(c, 1);
			rest.child[rest.nchild++] = c;
		}
	}
	*flows_end = f;
	flows_end = &f->next;
	/* sockets of the kernel are in its own lists as well */
	if (f->provider == 2 && f->repeat == 1)
		dh_conn_add(&rest, false, f->family, f->lip, f->lport, f->fip, f->fport, f->state);
}

static int by_start(const void *a, const void *b)
{
	const struct inst *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void settle(void)
{
	size_t n = 0;
	if (insts)
		return;
	for (struct flow *f = flows; f; f = f->next)
		n += (size_t)f->repeat;
	insts = dh_xcalloc(n + 1, sizeof *insts);
	for (struct flow *f = flows; f; f = f->next)
		for (int k = 0; k < f->repeat; k++, ninst++)
			insts[ninst] = (struct inst){ f, f->start + k * f->every, f->end + k * f->every, ninst };
	qsort(insts, ninst, sizeof *insts, by_start);
}

/* ---- messages ---- */
static struct dh_proc *proc_of(struct flow *f, int *at, double t)
{
	int i = f->npid - 1;
	while (i > 0 && t < f->pids[i].from)
		i--;
	*at = i;
	if (i < 0 || f->pids[i].p)
		return i < 0 ? NULL : f->pids[i].p;
	struct dh_proc *l[8192];
	int n = dh_proc_ever(l, 8192);
	for (int k = 0; k < n; k++)
		if (l[k]->pid == f->pids[i].pid && (!f->pids[i].p || l[k]->start > f->pids[i].p->start))
			f->pids[i].p = l[k];
	return f->pids[i].p;
}

static bool is_udp(int provider) { return provider == 4 || provider == 5; }
static uint64_t num(struct flow *f, int k) { return f->number[k] ? (uint64_t)dh_ev(f->number[k]) : 0; }

static uint64_t ticks_at(double t, uint64_t number)
{
	int64_t up = dh_opt.boot_ns ? -dh_opt.boot_ns : (int64_t)((dh_clk.uptime + dh_clk.slept) * 1e9);
	int64_t ns = t < -1e8 ? 60000000000LL : up + (int64_t)(t * 1e9);
	return dh_ns_to_ticks((uint64_t)ns) + number;
}

static void put_addr(uint8_t *b, int family, const uint8_t *ip, uint16_t port)
{
	b[0] = family == 30 ? 28 : 16;
	b[1] = (uint8_t)family;
	b[2] = (uint8_t)(port >> 8);
	b[3] = (uint8_t)port;
	memcpy(b + (family == 30 ? 8 : 4), ip, family == 30 ? 16 : 4);
}

static const char *medium_of(struct flow *f)
{
	return f->medium ? f->medium : strncmp(f->ifname, "en", 2) ? "none" : "wifi";
}

static void header(uint8_t *b, uint64_t context, uint32_t type, size_t n, int flags)
{
	dh_put_le(b, 0, 8, context);
	dh_put_le(b, 8, 4, type);
	dh_put_le(b, 12, 2, n);
	dh_put_le(b, 14, 2, (uint64_t)flags);
}

static void put_counts(struct inst *x, uint8_t *c)
{
	struct flow *f = x->f;
	bool user = f->provider != 2 && f->provider != 4;
	uint64_t rx = num(f, RX), tx = num(f, TX);
	const char *m = medium_of(f);
	int at = !strcmp(m, "cellular") ? 32 : !strcmp(m, "wifi") ? 48 : !strcmp(m, "wired") ? 64 : 0;
	dh_put_le(c, 0, 8, f->number[RXPACKETS] ? num(f, RXPACKETS) : (rx + 1447) / 1448);
	dh_put_le(c, 16, 8, f->number[TXPACKETS] ? num(f, TXPACKETS) : (tx + 1447) / 1448);
	dh_put_le(c, 8, 8, user && f->number[CLAIMS_RX] ? num(f, CLAIMS_RX) : rx);
	dh_put_le(c, 24, 8, user && f->number[CLAIMS_TX] ? num(f, CLAIMS_TX) : tx);
	if (at) {
		dh_put_le(c, (size_t)at, 8, rx);
		dh_put_le(c, (size_t)at + 8, 8, tx);
	}
	int64_t state = dh_ev(f->state);
	dh_put_le(c, 88, 4, num(f, RETRANSMIT));
	dh_put_le(c, 92, 4, state >= 2);
	dh_put_le(c, 96, 4, state >= 4);
	dh_put_le(c, 100, 4, num(f, MIN_RTT));
	dh_put_le(c, 104, 4, num(f, AVG_RTT));
	dh_put_le(c, 108, 4, num(f, VAR_RTT));
}

static size_t put_descriptor(struct inst *x, struct source *s, uint8_t *d)
{
	struct flow *f = x->f;
	int at;
	struct dh_proc *p = proc_of(f, &at, dh_t());
	bool udp = is_udp(f->provider), newer = version >= 14;
	size_t size = udp ? (newer ? 280 : 272) : (newer ? 344 : 336);
	size_t properties = size - 8, name = udp ? 132 : 196;
	uint64_t upid = p ? p->uniqueid : 0;
	int pid = at < 0 ? 0 : f->pids[at].pid, index = dh_if_index(f->ifname);
	bool known = version < 27 || s->described > 0;
	memset(d, 0, size);
	if (s->described < 255)
		s->described++;
	if (known) {
		dh_put_le(d, 0, 8, upid);
		dh_put_le(d, 8, 8, upid);
		dh_put_le(d, udp ? 128 : 116, 4, (uint64_t)pid);
		dh_put_le(d, udp ? 196 : 120, 4, (uint64_t)pid);
		dh_put_str((char *)d + name, 64, p ? p->name : "");
	}
	dh_put_le(d, 16, 8, ticks_at(x->start, x->number));
	dh_put_le(d, 24, 8, ticks_at(dh_t(), 0));
	dh_put_le(d, udp ? 112 : 72, 4, (uint64_t)index);
	put_addr(d + (udp ? 56 : 124), f->family, f->lip, f->lport);
	put_addr(d + (udp ? 84 : 152), f->family, f->fip, f->fport);
	/* the type is that of the link below, and one end of a connection in the
	 * machine does not say so */
	const char *m = medium_of(f);
	uint32_t bits = !strcmp(m, "cellular") ? 4 : !strcmp(m, "wired") ? 16 : !strncmp(f->ifname, "lo", 2) ? (x->number & 1 ? 2 : 0) : 8;
	if (f->fport)
		bits |= f->inbound ? 0x04000000 : 0x08000000;
	dh_put_le(d, udp ? 116 : 88, 4, 131072);
	dh_put_le(d, udp ? 120 : 92, 4, num(f, RCV_USED));
	if (!udp) {
		int64_t state = dh_ev(f->state);
		dh_put_le(d, 76, 4, (uint64_t)state);
		dh_put_le(d, 80, 4, 131072);
		dh_put_le(d, 84, 4, num(f, SND_USED));
		dh_put_le(d, 96, 4, num(f, UNACKED));
		dh_put_le(d, 100, 4, num(f, WINDOW));
		dh_put_le(d, 104, 4, num(f, CWND));
		dh_put_str((char *)d + 180, 16, f->congestion);
		if (state == 1)
			bits |= 0x02000000;
	}
	if (newer)
		dh_put_le(d, udp ? 268 : 328, 4, (uint64_t)(f->uid ? dh_ev(f->uid) : p ? dh_proc_uid(p) : 0));
	dh_put_le(d, properties, 4, bits);
	return size;
}

static size_t put_update(struct inst *x, struct source *s, uint64_t context, int flags, uint8_t *b)
{
	memset(b, 0, 152);
	dh_put_le(b, 16, 8, s->ref);
	put_counts(x, b + 32);
	dh_put_le(b, 144, 4, (uint64_t)x->f->provider);
	size_t n = 152 + put_descriptor(x, s, b + 152);
	header(b, context, SRC_UPDATE, n, flags);
	return n;
}

/* ---- the queue of a client ---- */
static int enqueue(struct client *c, const uint8_t *b, size_t n)
{
	if (!n)
		return 0;
	if (c->queued + n > c->room)
		return D_ENOBUFS;
	struct datagram *d = dh_xcalloc(1, sizeof *d + n);
	d->n = n;
	memcpy(d->b, b, n);
	*c->last = d;
	c->last = &d->next;
	if (!c->queued && write(c->other, "", 1) < 0)
		dh_die("the control socket is full");
	c->queued += n;
	return 0;
}

static int flush(struct client *c)
{
	int rc = enqueue(c, c->part, c->npart);
	c->npart = 0;
	return rc;
}

/* Several messages share a datagram. */
static int append(struct client *c, const uint8_t *b, size_t n)
{
	int rc = c->npart + n > sizeof c->part ? flush(c) : 0;
	if (!rc && c->queued + c->npart + n > c->room)
		rc = D_ENOBUFS;
	if (rc)
		return rc;
	memcpy(c->part + c->npart, b, n);
	c->npart += n;
	return 0;
}

static void say(struct client *c, uint64_t context, uint32_t type, int flags, int errno_, const uint8_t *request, size_t nreq)
{
	uint8_t b[24 + 256];
	size_t n = 16;
	memset(b, 0, sizeof b);
	if (type == ERROR) {
		dh_put_le(b, 16, 4, (uint64_t)errno_);
		if (nreq > 256)
			nreq = 256;
		if (nreq)
			memcpy(b + 24, request, nreq);
		n = 24 + nreq;
	}
	header(b, context, type, n, flags);
	enqueue(c, b, n);
}

/* ---- sources ---- */
static bool shown(struct inst *x)
{
	int at;
	if (version < 27 || dh_host.root)
		return true;
	struct dh_proc *p = proc_of(x->f, &at, dh_t());
	int64_t uid = x->f->uid ? dh_ev(x->f->uid) : p ? dh_proc_uid(p) : 0;
	return uid == (dh_host.self_uid >= 0 ? dh_host.self_uid : (int)getuid());
}

static int add(struct client *c, size_t i)
{
	struct inst *x = &insts[i];
	struct source *s = &c->src[i];
	int p = x->f->provider, rc = 0;
	if (s->life != NOT_YET || !shown(x))
		return 0;
	s->ref = ++c->refs;
	if (!(c->filter[p] & SUPPRESS_SRC_ADDED)) {
		uint8_t b[32];
		memset(b, 0, sizeof b);
		dh_put_le(b, 16, 8, s->ref);
		dh_put_le(b, 24, 4, (uint64_t)p);
		header(b, 0, SRC_ADDED, sizeof b, 0);
		rc = enqueue(c, b, sizeof b);
	}
	if (rc)
		return rc;
	s->life = OPEN;
	if (c->nopen == c->opencap) {
		c->opencap = c->opencap * 2 + 256;
		c->open = realloc(c->open, c->opencap * sizeof *c->open);
		if (!c->open)
			dh_die("out of memory");
	}
	c->open[c->nopen++] = i;
	return 0;
}

/* The last word about a source has what it came to. */
static void goodbye(struct client *c, size_t i)
{
	uint8_t b[512];
	struct inst *x = &insts[i];
	struct source *s = &c->src[i];
	int flags = AFTER_GONE;
	double before = dh_t_hold(x->end);
	size_t n = put_update(x, s, 0, CLOSING, b);
	dh_t_release(before);
	if (!(c->filter[x->f->provider] & NOZEROBYTES && !dh_get_le(b, 40, 8) && !dh_get_le(b, 56, 8)) && enqueue(c, b, n))
		flags = AFTER_DROP;
	memset(b, 0, 24);
	dh_put_le(b, 16, 8, s->ref);
	header(b, 0, SRC_REMOVED, 24, flags);
	enqueue(c, b, 24);
	s->life = GONE;
}

/* What began and ended since the last time. */
static void advance(struct client *c)
{
	double t = dh_t();
	if (!c->connected)
		return;
	for (; c->next < ninst && insts[c->next].start <= t; c->next++)
		if (c->has[insts[c->next].f->provider])
			add(c, c->next);
	size_t kept = 0;
	for (size_t k = 0; k < c->nopen; k++) {
		size_t i = c->open[k];
		if (insts[i].end <= t)
			goodbye(c, i);
		else
			c->open[kept++] = i;
	}
	c->nopen = kept;
}

static void *watch(void *arg)
{
	(void)arg;
	for (;;) {
		struct timespec ts = { 0, 2000000 };
		nanosleep(&ts, NULL);
		dh_lock();
		for (int fd = 0; fd < 1024; fd++)
			if (clients[fd])
				advance(clients[fd]);
		dh_unlock();
	}
	return NULL;
}

static void start_watching(void)
{
	static bool started;
	if (started || dh_clk.frozen)
		return;
	started = true;
	sigset_t full, old;
	sigfillset(&full);
	pthread_sigmask(SIG_SETMASK, &full, &old);
	pthread_t t;
	if (pthread_create(&t, NULL, watch, NULL))
		dh_die("no thread for the flows");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- requests ---- */
static int add_all(struct client *c, const uint8_t *b, size_t n, uint64_t context)
{
	uint32_t p = n == 56 ? (uint32_t)dh_get_le(b, 32, 4) : 0;
	if (n != 56)
		return D_EINVAL;
	if (p < 2 || p > (version < 13 ? 8 : 10))
		return D_ENOENT;
	if (refused || p > 8)
		return D_EPERM;
	if (p == 6 || p == 7)
		return D_ENOTSUP;
	if (c->has[p])
		return D_EALREADY;
	c->has[p] = true;
	c->filter[p] = dh_get_le(b, 16, 8);
	double t = dh_t();
	/* what has no room is left out, and so is all that follows */
	for (size_t i = 0; i < c->next; i++)
		if (insts[i].f->provider == (int)p && insts[i].end > t && add(c, i))
			break;
	say(c, context, SUCCESS, 0, 0, NULL, 0);
	return 0;
}

static int update_all(struct client *c, uint64_t context, int flags)
{
	int code, done = 0;
	if (dh_injected("ntstat", -1, &code))
		return code;
	if (c->asking && c->context != context) {
		say(c, c->context, ERROR, 0, D_EAGAIN, NULL, 0);
		c->asking = false;
	}
	if (!c->asking)
		c->round++;
	c->asking = true;
	c->context = context;
	for (size_t k = 0; k < c->nopen; k++) {
		struct source *s = &c->src[c->open[k]];
		uint8_t b[512];
		if (s->round == c->round)
			continue;
		if (done == FRAGMENT) {
			int rc = flush(c);
			if (rc)
				return rc;
			say(c, context, SUCCESS, flags & CONTINUATION, 0, NULL, 0);
			return 0;
		}
		size_t n = put_update(&insts[c->open[k]], s, context, 0, b);
		int rc = append(c, b, n);
		if (rc) {
			flush(c);
			return rc;
		}
		s->round = c->round;
		done++;
	}
	int rc = flush(c);
	c->asking = false;
	if (!rc)
		say(c, context, SUCCESS, 0, 0, NULL, 0);
	return rc;
}

static int describe_one(struct client *c, uint64_t ref, uint32_t type, uint64_t context)
{
	for (size_t k = 0; k < c->nopen; k++) {
		struct source *s = &c->src[c->open[k]];
		uint8_t b[512];
		if (s->ref != ref)
			continue;
		if (type == GET_UPDATE)
			return enqueue(c, b, put_update(&insts[c->open[k]], s, context, 0, b));
		memset(b, 0, 40);
		dh_put_le(b, 16, 8, ref);
		dh_put_le(b, 32, 4, (uint64_t)insts[c->open[k]].f->provider);
		size_t n = 40 + put_descriptor(&insts[c->open[k]], s, b + 40);
		header(b, context, SRC_DESC, n, 0);
		return enqueue(c, b, n);
	}
	return D_ENOENT;
}

static int request(struct client *c, const uint8_t *b, size_t n)
{
	uint64_t context = n >= 16 ? dh_get_le(b, 0, 8) : 0;
	uint32_t type = n >= 16 ? (uint32_t)dh_get_le(b, 8, 4) : 0;
	int flags = n >= 16 && dh_get_le(b, 12, 2) == n ? (int)dh_get_le(b, 14, 2) : 0, rc = D_EINVAL;
	uint64_t ref = n == 24 ? dh_get_le(b, 16, 8) : 0;
	if (n < 16)
		return D_EINVAL;
	if (type == ADD_ALL_SRCS)
		rc = add_all(c, b, n, context);
	else if (type == GET_UPDATE && n == 24 && ref == ~0ULL)
		rc = update_all(c, context, flags);
	else if ((type == GET_UPDATE || type == GET_SRC_DESC) && n == 24)
		rc = describe_one(c, ref, type, context);
	if (rc)
		say(c, context, ERROR, 0, rc, b, n);
	TRACE("ntstat(%u, %zu bytes) = %d, %zu sources, %zu bytes to read", type, n, rc, c->nopen, c->queued);
	return 0;
}

/* ---- the socket ---- */
bool dh_control_owns(int fd) { return fd >= 0 && fd < 1024 && clients[fd]; }

long dh_control_socket(int type, int proto)
{
	int sv[2];
	if (type != SOCK_DGRAM || proto != 2)
		return dh_fail(43);                             /* EPROTONOSUPPORT */
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sv))
		return dh_fail_host();
	if (sv[0] >= 1024) {
		close(sv[0]);
		close(sv[1]);
		return dh_fail(D_EMFILE);
	}
	fcntl(sv[0], F_SETFD, 0);
	struct client *c = dh_xcalloc(1, sizeof *c);
	c->fd = sv[0];
	c->other = fcntl(sv[1], F_DUPFD_CLOEXEC, 700);
	close(sv[1]);
	c->last = &c->first;
	dh_lock();
	clients[c->fd] = c;
	nclients++;
	dh_unlock();
	return c->fd;
}

/* CTLIOCGINFO: the number of a control's name */
long dh_control_info(int fd, uint8_t *arg)
{
	if (!dh_control_owns(fd))
		return dh_fail(D_ENOTTY);
	if (strncmp((char *)arg + 4, CONTROL_NAME, 96))
		return dh_fail(D_ENOENT);
	dh_put_le(arg, 0, 4, CONTROL_ID);
	return 0;
}

long dh_control_connect(int fd, const uint8_t *a, uint32_t len)
{
	struct client *c = clients[fd];
	int code;
	if (len != 32 || a[1] != 32 || dh_get_le(a, 2, 2) != 2)
		return dh_fail(D_EINVAL);
	if (dh_get_le(a, 4, 4) != CONTROL_ID)
		return dh_fail(D_ENOENT);
	if (dh_injected("ntstat:connect", -1, &code))
		return dh_fail(code);
	dh_lock();
	dh_proc_ids();
	settle();
	c->connected = true;
	c->room = 8192;
	c->src = dh_xcalloc(ninst + 1, sizeof *c->src);
	advance(c);
	dh_unlock();
	start_watching();
	return 0;
}

long dh_control_room(int fd, int n)
{
	if ((int64_t)n > dh_sysctl_int("kern.ipc.maxsockbuf", 8 << 20))
		return dh_fail(D_ENOBUFS);
	clients[fd]->room = (size_t)n;
	return 0;
}

ssize_t dh_control_send(int fd, const void *b, size_t n)
{
	struct client *c = clients[fd];
	if (!c->connected)
		return dh_fail(57);                             /* ENOTCONN */
	dh_lock();
	advance(c);
	int rc = request(c, b, n);
	dh_unlock();
	return rc ? dh_fail(rc) : (ssize_t)n;
}

ssize_t dh_control_recv(int fd, void *b, size_t n)
{
	struct client *c = clients[fd];
	for (;;) {
		dh_lock();
		advance(c);
		struct datagram *d = c->first;
		if (d) {
			char x;
			size_t got = d->n < n ? d->n : n;
			memcpy(b, d->b, got);
			c->queued -= d->n;
			if (!(c->first = d->next)) {
				c->last = &c->first;
				if (recv(fd, &x, 1, MSG_DONTWAIT) < 0)
					dh_die("the control socket is empty");
			}
			free(d);
			dh_unlock();
			return (ssize_t)got;
		}
		dh_unlock();
		if (fcntl(fd, F_GETFL) & O_NONBLOCK)
			return dh_fail(D_EAGAIN);
		struct pollfd p = { .fd = fd, .events = POLLIN };
		poll(&p, 1, -1);
	}
}

void dh_control_closing(int fd)
{
	if (!dh_control_owns(fd))
		return;
	dh_lock();
	struct client *c = clients[fd];
	clients[fd] = NULL;
	nclients--;
	close(c->other);
	while (c->first) {
		struct datagram *d = c->first;
		c->first = d->next;
		free(d);
	}
	free(c->src);
	free(c->open);
	free(c);
	dh_unlock();
}
