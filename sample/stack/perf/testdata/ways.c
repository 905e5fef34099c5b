/* A program whose calls go through other people's code, and one way per argument:
   "sort" calls compare through the C library, "signal" burns in the handler of a
   signal, "stack" in one that has a stack of its own, "library" in a library that
   it loads (argv[2]: this file again, with LIBRARY), "clock" asks for the time in
   the code that the kernel maps. heavy gets three times as much as light. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static volatile unsigned long sink;

static APART void spin(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

static APART void heavy(unsigned long n) { spin(3 * n); sink++; }
static APART void light(unsigned long n) { spin(n); sink++; }

/* Pieces of work are of uneven length, as in burn.c. */
static unsigned long uneven(void)
{
	static unsigned long x = 1;
	x = x * 6364136223846793005UL + 1442695040888963407UL;
	return 10000 + (x >> 33) % 90000;
}

APART void outer(unsigned long n)
{
	heavy(n);
	light(n);
	sink++;
}

#ifndef LIBRARY

static APART int compare(const void *a, const void *b)
{
	outer(uneven());
	return *(const int *)a - *(const int *)b;
}

static APART void handler(int number)
{
	(void)number;
	outer(uneven());
	sink++;
}

static APART void asks(int n)
{
	struct timespec now;
	for (int i = 0; i < n; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	sink += now.tv_nsec;
}

static APART void interrupted(int number)
{
	raise(number);
	sink++;
}

static void *input(void *arg)
{
	char c;
	while (read(0, &c, 1) > 0)
		;
	exit(0);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	void (*work)(unsigned long) = 0;
	struct sigaction a = {.sa_handler = handler};
	if (argc < 2)
		return 1;
	if (!strcmp(argv[1], "stack")) {
		stack_t own = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};
		sigaltstack(&own, 0);
		a.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGUSR1, &a, 0);
	if (!strcmp(argv[1], "library")) {
		void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : 0;
		if (!library || !(work = (void (*)(unsigned long))dlsym(library, "outer")))
			return 2;
	}
	pthread_create(&t, 0, input, 0);
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (!strcmp(argv[1], "sort")) {
			int v[] = {5, 3, 8, 1, 9, 2, 7};
			qsort(v, 7, sizeof *v, compare);
		} else if (!strcmp(argv[1], "clock"))
			asks(100000);
		else if (work)
			work(uneven());
		else
			interrupted(SIGUSR1);
		sink++;
	}
}

#endif
