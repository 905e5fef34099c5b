/* A program whose stacks are known. Until its input ends, outer spends three times
   as much on heavy as on light; a thread waits in wait_here. With "threads" threads
   are started and end all the time, each burning in short_lived; with "deep" light
   is called at the end of a thousand calls of deeper; with "many" six hundred
   threads more wait. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int over;
static volatile unsigned long sink;

#define APART __attribute__((noinline, noclone))

static APART void spin(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

static APART void heavy(unsigned long n) { spin(3 * n); sink++; }
static APART void light(unsigned long n) { spin(n); sink++; }

static APART void outer(unsigned long n)
{
	heavy(n);
	light(n);
	sink++;
}

/* Pieces of work are of uneven length: even ones would beat with the clock that
   samples, and shares would be those of the beat. */
static unsigned long uneven(void)
{
	static unsigned long x = 1;
	x = x * 6364136223846793005UL + 1442695040888963407UL;
	return 10000 + (x >> 33) % 90000;
}

static APART void deeper(int n)
{
	if (n > 0)
		deeper(n - 1);
	else
		light(100000);
	sink++;
}

static APART void wait_here(int fd)
{
	char c;
	while (read(fd, &c, 1) > 0)
		;
	sink++;
}

static void *waiter(void *arg)
{
	wait_here(*(int *)arg);
	return 0;
}

static APART void *short_lived(void *arg)
{
	spin(5000000);
	sink++;
	return arg;
}

static void *input(void *arg)
{
	char c;
	while (read(0, &c, 1) > 0)
		;
	over = 1;
	return arg;
}

int main(int argc, char **argv)
{
	int ends[2];
	pthread_t t, u;
	if (pipe(ends))
		return 1;
	pthread_create(&t, 0, waiter, &ends[0]);
	pthread_setname_np(t, "waiter");
	pthread_create(&u, 0, input, 0);
	if (argc > 2) { /* so much work, and what it took */
		for (int i = 0; i < 400; i++)
			outer(200000);
		struct timespec c;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &c);
		printf("%ld\n", c.tv_sec * 1000000000L + c.tv_nsec);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "many")) {
		pthread_attr_t small;
		pthread_attr_init(&small);
		pthread_attr_setstacksize(&small, 65536);
		for (int i = 0; i < 600; i++)
			pthread_create(&t, &small, waiter, &ends[0]);
	}
	puts("ready");
	fflush(stdout);
	while (!over) {
		if (argc > 1 && !strcmp(argv[1], "threads")) {
			pthread_t s;
			pthread_create(&s, 0, short_lived, 0);
			pthread_join(s, 0);
		} else if (argc > 1 && !strcmp(argv[1], "deep"))
			deeper(1000);
		else
			outer(uneven());
	}
	return 0;
}
