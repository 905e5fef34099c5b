/* Coalitions: launchd makes one for each app and each service, and the kernel
 * counts what its processes use, those that have ended too. */
#include "dh.h"
#include <math.h>

/* as scenarios describe them */
static struct coalition {
	int64_t id;
	bool keep;      /* launchd does not reap it when its last process ends */
	bool corpse;    /* the one of corpses, about which the kernel tells nothing */
	struct dh_fieldset usage;
	struct dh_expr *swapins;
} *told;
static int ntold;

/* host { coalition_size N }: the size of coalition_resource_usage */
static const size_t sizes[] = { 216, 264, 280, 296, 352, 360, 400 };
static size_t usage_size = 352;
enum { NEWEST = 400, SWAPINS = 352, NEWER = 360 };

static struct coalition *told_of(int64_t id)
{
	for (int i = 0; i < ntold; i++)
		if (told[i].id == id)
			return &told[i];
	return NULL;
}

void dh_coalition_stmt(struct dh_node *n)
{
	if (n->ntok < 2)
		dh_scn_error(n, "coalition ID { ... }");
	int64_t id = atoll(n->tok[1].s);
	struct coalition *c = told_of(id);
	if (!c) {
		told = realloc(told, sizeof *told * (size_t)(ntold + 1));
		if (!told)
			dh_die("out of memory");
		c = &told[ntold++];
		memset(c, 0, sizeof *c);
		c->id = id;
	}
	for (int i = 0; i < n->nchild; i++) {
		struct dh_node *s = n->child[i];
		const char *k = s->ntok ? s->tok[0].s : "";
		bool yes = s->ntok < 2 || strcmp(s->tok[1].s, "no") != 0;
		int next;
		if (!strcmp(k, "keep")) c->keep = yes;
		else if (!strcmp(k, "corpse")) c->corpse = yes;
		else if (!strcmp(k, "swapins")) c->swapins = dh_expr_parse(s, 1, &next);
		else dh_fieldset_add(&c->usage, dh_layout_find("coalition_resource_usage"), s, 0);
	}
}

void dh_coalition_size(struct dh_node *n)
{
	size_t size = n->ntok > 1 ? (size_t)atoi(n->tok[1].s) : 0;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (sizes[i] == size)
			usage_size = size;
	if (usage_size != size)
		dh_scn_error(n, "coalition_size is one of 216, 264, 280, 296, 352, 360, 400");
}

static bool ended(struct dh_proc *p) { return dh_proc_is_zombie(p) || dh_proc_reaped(p); }

#define ADD(b, field, v) dh_put_le(b, O_coalition_resource_usage__##field, 8, \
	dh_get_le(b, O_coalition_resource_usage__##field, 8) + (uint64_t)(v))
#define OF(r, field) dh_get_le(r, O_rusage_info_v6__##field, 8)

/* Returns how many processes of the coalition live, -1 if there is none such. */
static int fill_usage(int64_t id, uint8_t *b)
{
	struct dh_proc *l[8192];
	struct coalition *c = told_of(id);
	int n = dh_proc_ever(l, 8192), living = 0, born = 0;
	memset(b, 0, NEWEST);
	for (int i = 0; i < n; i++) {
		uint8_t r[SZ_rusage_info_v6];
		if (l[i]->coalition[0] != id)
			continue;
		dh_fill_rusage(l[i], r);
		born++;
		living += !ended(l[i]);
		ADD(b, tasks_started, 1);
		ADD(b, tasks_exited, ended(l[i]));
		ADD(b, cpu_time, OF(r, ri_user_time) + OF(r, ri_system_time));
		ADD(b, cpu_ptime, OF(r, ri_user_ptime) + OF(r, ri_system_ptime));
		ADD(b, interrupt_wakeups, OF(r, ri_interrupt_wkups));
		ADD(b, platform_idle_wakeups, OF(r, ri_pkg_idle_wkups));
		ADD(b, bytesread, OF(r, ri_diskio_bytesread));
		ADD(b, byteswritten, OF(r, ri_diskio_byteswritten));
		ADD(b, energy, OF(r, ri_energy_nj));
		ADD(b, energy_billed_to_me, OF(r, ri_billed_energy));
		ADD(b, energy_billed_to_others, OF(r, ri_serviced_energy));
		ADD(b, logical_deferred_writes, OF(r, ri_logical_writes));
		ADD(b, cpu_instructions, OF(r, ri_instructions));
		ADD(b, cpu_cycles, OF(r, ri_cycles));
		ADD(b, cpu_pinstructions, OF(r, ri_pinstructions));
		ADD(b, cpu_pcycles, OF(r, ri_pcycles));
		if (!ended(l[i]))
			ADD(b, phys_footprint, OF(r, ri_phys_footprint));
	}
	ADD(b, cpu_time_eqos_len, 7);
	/* what macOS 27 has besides */
	for (size_t at = NEWER; at < NEWEST; at += 8)
		dh_put_le(b, at, 8, 16384);
	if (c) {
		dh_fieldset_apply(&c->usage, b, NEWEST);
		if (c->swapins)
			dh_put_le(b, SWAPINS, 8, (uint64_t)dh_ev(c->swapins));
	}
	return living || (c && (c->corpse || (c->keep && born))) ? living : -1;
}

/* ---- the calls ---- */

/* The ids of a type, in order; a resource coalition may be kept without processes. */
static int list_ids(int type, int64_t *ids, int cap)
{
	struct dh_proc *l[8192];
	int n = dh_proc_ever(l, 8192), k = 0;
	for (int i = 0; i < n + ntold; i++) {
		int64_t id = i < n ? l[i]->coalition[type] : told[i - n].id;
		struct coalition *c = type ? NULL : told_of(id);
		int at = 0;
		if (i < n ? ended(l[i]) && !(c && c->keep) : type || !c->corpse)
			continue;
		while (at < k && ids[at] < id)
			at++;
		if (k == cap || (at < k && ids[at] == id))
			continue;
		memmove(&ids[at + 1], &ids[at], sizeof *ids * (size_t)(k++ - at));
		ids[at] = id;
	}
	return k;
}

static int living_of(int type, int64_t id)
{
	struct dh_proc *l[8192];
	int n = dh_proc_ever(l, 8192), living = 0;
	for (int i = 0; i < n; i++)
		living += l[i]->coalition[type] == id && !ended(l[i]);
	return living;
}

int dh_listcoalitions(int flavor, int type, void *buf, int size)
{
	int64_t ids[4096];
	int code, rc = 0, got = 0;
	dh_lock();
	dh_proc_ids();
	if (dh_injected("proc_listcoalitions", -1, &code))
		rc = code;
	else if (flavor != 1 && flavor != 2)
		rc = D_EINVAL;
	else
		for (int t = 0; t < 2; t++) {
			if (flavor == 2 && t != type)
				continue;
			int n = list_ids(t, ids, ARRAY_LEN(ids));
			for (int k = 0; k < n; k++, got += 16) {
				if (!buf || size <= 0)
					continue;
				if (got + 16 > size)
					break;      /* what does not fit is left out without a word */
				dh_put_le(buf, (size_t)got, 8, (uint64_t)ids[k]);
				dh_put_le(buf, (size_t)got + 8, 4, (uint64_t)t);
				dh_put_le(buf, (size_t)got + 12, 4, (uint64_t)living_of(t, ids[k]));
			}
		}
	dh_unlock();
	TRACE("proc_listcoalitions(flavor=%d, type=%d, size=%d) = %d errno %d", flavor, type, size, got, rc);
	if (rc) {
		dh_fail(rc);
		return 0;
	}
	return got;
}

static int c_usage(uint64_t id, void *buf, size_t size)
{
	uint8_t b[NEWEST];
	int code, rc = 0;
	dh_lock();
	dh_proc_ids();
	if (dh_injected("coalition_info_resource_usage", -1, &code))
		rc = code;
	else if ((told_of((int64_t)id) && told_of((int64_t)id)->corpse) || living_of(1, (int64_t)id))
		rc = D_EINVAL;
	else if (fill_usage((int64_t)id, b) < 0)
		rc = D_ESRCH;
	else    /* the caller does not learn how much it got */
		memcpy(buf, b, size < usage_size ? size : usage_size);
	dh_unlock();
	TRACE("coalition_info_resource_usage(%llu, size=%zu) = %d", (unsigned long long)id, size, rc);
	return rc ? (int)dh_fail(rc) : 0;
}

/* __coalition_info: system call 459 */
static int c_info(uint32_t flavor, uint64_t *id, void *buf, size_t *size)
{
	if (flavor != 1)
		return (int)dh_fail(D_EINVAL);
	return c_usage(*id, buf, *size);
}

const struct dh_sym dh_syms_coalition[] = {
	FN("proc_listcoalitions", dh_listcoalitions), FN("coalition_info_resource_usage", c_usage), FN("__coalition_info", c_info),
	{0, 0, 0}
};
