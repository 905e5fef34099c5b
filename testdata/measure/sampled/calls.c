/* A program to sample: it takes some hundred ways through sixteen functions, 14 to 30 calls deep, a few
   of them often and most of them seldom. It begins when there is a line of input, and ends after as many
   rounds as its argument says; then it writes how much processor time they took, in nanoseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;
static unsigned long state = 1;

static unsigned long uneven(void)
{
	state = state * 6364136223846793005UL + 1442695040888963407UL;
	return state >> 33;
}

typedef void step(unsigned way, unsigned left);
static step *const steps[16];

static __attribute__((noinline, noclone)) void work(void)
{
	for (unsigned long n = 20000 + uneven() % 60000; n > 0; n--)
		sink += n;
}

/* What comes next depends on the way and on how far it is, so that ways part and never meet. */
static inline void onward(unsigned way, unsigned left)
{
	if (left == 0)
		work();
	else
		steps[((way >> (left % 9)) * 2654435761U + left * 40503U) >> 28](way, left - 1);
	sink++;
}

#define STEP(n) static __attribute__((noinline, noclone)) void step##n(unsigned way, unsigned left) { onward(way, left); sink += n; }
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15)

static step *const steps[16] = {step0, step1, step2, step3, step4, step5, step6, step7,
	step8, step9, step10, step11, step12, step13, step14, step15};

int main(int argc, char **argv)
{
	struct timespec from, to;
	puts("ready");
	fflush(stdout);
	if (argc < 2 || getchar() == EOF)
		return 1;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (long rounds = atol(argv[1]); rounds > 0; rounds--) {
		unsigned long r = uneven() % 10000;
		unsigned way = r * r / 250000; /* 0 to 399 */
		onward(way, 14 + way % 17);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	printf("%ld\n", (to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec);
	return 0;
}
