/* Whose a process is: the responsible process, the code signature, and folders that macOS guards. */
#include "dh.h"

/* ---- the responsible process ---- */

/* A process inherits the responsible process from its parent; what launchd starts is its own. */
int dh_proc_responsible(struct dh_proc *p)
{
	struct dh_proc *top = p;
	for (int k = 0; k < 64 && !top->responsible; k++) {
		struct dh_proc *up = dh_proc_parent_at(top, top->start);
		if (!up || up->pid <= 1)
			break;
		top = up;
	}
	return top->responsible ? (int)dh_ev(top->responsible) : top->pid;
}

static int l_responsible(int pid)
{
	int code = 0, r = -1;
	dh_lock();
	struct dh_proc *p = dh_proc_find(pid);
	if (!dh_injected("responsibility_get_pid_responsible_for_pid", pid, &code)) {
		code = p ? 0 : D_ESRCH;
		if (p && (r = dh_proc_responsible(p)) < 0)
			code = D_EINVAL;
	}
	dh_unlock();
	TRACE("responsibility_get_pid_responsible_for_pid(%d) = %d errno %d", pid, r, code);
	return code ? (int)dh_fail(code) : r;
}

/* ---- csops ---- */
enum { CS_STATUS = 0, CS_IDENTITY = 11, CS_TEAMID = 14 };
enum { CS_VALID = 1, CS_ADHOC = 2, CS_PLATFORM_BINARY = 0x4000000 };

static bool part_of_macos(const char *path)
{
	static const char *const from[] = { "/System/", "/usr/libexec/", "/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/", NULL };
	for (int i = 0; from[i]; i++)
		if (!strncmp(path, from[i], strlen(from[i])))
			return true;
	return false;
}

/* The signature that the linker or Apple makes, unless the scenario has one. */
static void signature(struct dh_proc *p, char *identity, size_t cap, const char **team, uint32_t *flags)
{
	const char *path = dh_proc_path(p), *base = strrchr(path, '/');
	bool apple = part_of_macos(path), own = p->identity && !dh_proc_image(p);
	base = base ? base + 1 : path;
	if (own)
		snprintf(identity, cap, "%s", p->identity);
	else
		snprintf(identity, cap, "%s%s", apple ? "com.apple." : "", base);
	*team = dh_proc_image(p) ? NULL : p->team;
	*flags = CS_VALID | (apple ? CS_PLATFORM_BINARY : *team ? 0 : CS_ADHOC);
}

static long k_csops(int pid, uint32_t op, void *buf, size_t size)
{
	char identity[1024];
	const char *team = NULL, *text = NULL;
	uint32_t flags = 0;
	int code = 0;
	dh_lock();
	struct dh_proc *p = dh_proc_find(pid);
	if (dh_injected("csops", pid, &code))
		goto out;
	code = p ? 0 : D_ESRCH;
	if (!p)
		goto out;
	signature(p, identity, sizeof identity, &team, &flags);
	switch (op) {
	case CS_STATUS:
		if (size < 4)
			code = D_ERANGE;
		else
			dh_put_le(buf, 0, 4, p->unsigned_ ? 0 : flags);
		break;
	case CS_IDENTITY: case CS_TEAMID:
		text = op == CS_IDENTITY ? identity : team;
		if (p->unsigned_)
			code = D_EINVAL;               /* no valid signature */
		else if (!text)
			code = D_ENOENT;
		else if (size < 8)
			code = D_ERANGE;
		else {
			/* a 32-bit zero and the whole length, with the most significant byte first */
			size_t n = 8 + strlen(text) + 1;
			uint8_t head[8] = { 0, 0, 0, 0, 0, 0, (uint8_t)(n >> 8), (uint8_t)n };
			memcpy(buf, head, 8);
			if (n > size)
				code = D_ERANGE;
			else
				memcpy((char *)buf + 8, text, n - 8);
		}
		break;
	default:
		code = D_EINVAL;
	}
out:
	dh_unlock();
	TRACE("csops(%d, %u, size=%zu) errno %d", pid, op, size, code);
	return code ? dh_fail(code) : 0;
}

/* ---- guarded folders ---- */
static char *guarded[32];
static int nguarded;

void dh_guard_stmt(struct dh_node *n)
{
	if (n->ntok != 2 || n->tok[1].s[0] != '/' || nguarded == (int)ARRAY_LEN(guarded))
		dh_scn_error(n, "guard /PATH");
	guarded[nguarded++] = dh_xstrdup(n->tok[1].s);
}

/* Files below a guarded folder can be looked at, but not opened. */
bool dh_guarded(const char *path)
{
	for (int i = 0; path && i < nguarded; i++) {
		size_t k = strlen(guarded[i]);
		if (!strncmp(path, guarded[i], k) && (path[k] == '/' || !path[k]))
			return true;
	}
	return false;
}

const struct dh_sym dh_syms_owner[] = {
	FN("responsibility_get_pid_responsible_for_pid", l_responsible), FN("csops", k_csops),
	{0, 0, 0}
};
