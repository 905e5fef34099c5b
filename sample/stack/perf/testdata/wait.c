/* A program whose waits are known. When a line has come in, main waits some times
   for the thread worker-3, which sleeps meanwhile, and then two threads more want a
   lock that each of the three holds while it sleeps. Then it prints the nanoseconds
   that each waited, by its own clock. With arguments it and a thread wake each other that many
   times instead, with that many nanoseconds of work between, and it prints how long
   that took, and how long it waited. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { TURNS = 20, TURN = 20000000, HOLDS = 10, HOLD = 7000000 };

static atomic_int turn, free_lock = 1;
static volatile unsigned long sink;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* The function that makes a call of the kernel's has no frame that its callers are
   found by; these are beneath it instead of the functions that say who waits. */
static APART void sleep_on(atomic_int *at, int value)
{
	syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
	sink++;
}

static APART void wake(atomic_int *at)
{
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	sink++;
}

static APART void doze(long ns)
{
	struct timespec t = { 0, ns };
	syscall(SYS_nanosleep, &t, 0);
	sink++;
}

static APART long await_worker(int n)
{
	long began = now();
	while (atomic_load(&turn) == n)
		sleep_on(&turn, n);
	return now() - began;
}

static APART long rest(long ns)
{
	long began = now();
	doze(ns);
	return now() - began;
}

static APART void tell_main(void)
{
	atomic_fetch_add(&turn, 1);
	wake(&turn);
	sink++;
}

static APART long take_lock(void)
{
	long began = now();
	while (atomic_exchange(&free_lock, 0) == 0)
		sleep_on(&free_lock, 0);
	return now() - began;
}

static APART void release_lock(void)
{
	atomic_store(&free_lock, 1);
	wake(&free_lock);
	sink++;
}

static void *worker(void *arg)
{
	long waited = 0;
	for (int i = 0; i < TURNS; i++) {
		waited += rest(TURN);
		tell_main();
	}
	*(long *)arg = waited;
	return 0;
}

static void *convoy(void *arg)
{
	long waited = 0;
	for (int i = 0; i < HOLDS; i++) {
		waited += take_lock();
		rest(HOLD);
		release_lock();
	}
	*(long *)arg = waited;
	return 0;
}

static long work;

static APART void busy(void)
{
	long began = now();
	while (now() - began < work)
		;
	sink++;
}

static void *ping(void *arg)
{
	int n = *(int *)arg;
	for (int i = 0; i < n; i++) {
		while (atomic_load(&turn) % 2 == 0)
			sleep_on(&turn, 2 * i);
		busy();
		tell_main();
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[4];
	long waited[5] = { 0 };
	char c;
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) < 1)
		return 1;
	if (argc > 2) {
		int n = atoi(argv[1]);
		work = atol(argv[2]);
		long began = now();
		pthread_create(&t[0], 0, ping, &n);
		for (int i = 0; i < n; i++) {
			busy();
			tell_main();
			waited[0] += await_worker(2 * i + 1);
		}
		printf("%ld %ld\n", now() - began, waited[0]);
		fflush(stdout);
		pthread_join(t[0], 0);
		return 0;
	}
	pthread_create(&t[0], 0, worker, &waited[1]);
	pthread_setname_np(t[0], "worker-3");
	for (int i = 0; i < TURNS; i++)
		waited[0] += await_worker(i);
	pthread_join(t[0], 0);
	for (int i = 1; i < 4; i++) {
		char name[] = "convoy-?";
		name[7] = '0' + i;
		pthread_create(&t[i], 0, convoy, &waited[i + 1]);
		pthread_setname_np(t[i], name);
	}
	for (int i = 1; i < 4; i++)
		pthread_join(t[i], 0);
	printf("main %ld\nworker-3 %ld\nconvoy-1 %ld\nconvoy-2 %ld\nconvoy-3 %ld\n", waited[0], waited[1], waited[2], waited[3], waited[4]);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
