// A program in C++ whose stacks are known: outer catches what a visitor throws after its work,
// of which heavy has three times as much as light.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define APART __attribute__((noinline, noclone))

static volatile unsigned long sink;

extern "C" APART void spin(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink = sink + i;
}

extern "C" APART void heavy(unsigned long n) { spin(3 * n); sink = sink + 1; }
extern "C" APART void light(unsigned long n) { spin(n); sink = sink + 1; }

struct Visitor {
	virtual ~Visitor() = default;
	virtual void visit(const std::string &name, unsigned long n) = 0;
};

struct Thrower : Visitor {
	APART void visit(const std::string &name, unsigned long n) override
	{
		std::vector<std::string> names(4, name);
		heavy(n);
		light(n);
		throw std::runtime_error(names[n % 4]);
	}
};

extern "C" APART void outer(Visitor &v, unsigned long n)
{
	try {
		v.visit("a name that is too long to be kept in the string itself", n);
	} catch (const std::exception &e) {
		sink = sink + e.what()[0];
	}
}

static unsigned long uneven()
{
	static unsigned long x = 1;
	x = x * 6364136223846793005UL + 1442695040888963407UL;
	return 10000 + (x >> 33) % 90000;
}

static void *input(void *arg)
{
	char c;
	while (read(0, &c, 1) > 0)
		;
	std::_Exit(0);
	return arg;
}

int main()
{
	pthread_t t;
	pthread_create(&t, nullptr, input, nullptr);
	std::unique_ptr<Visitor> v = std::make_unique<Thrower>();
	std::puts("ready");
	std::fflush(stdout);
	for (;;) {
		outer(*v, uneven());
		sink = sink + 1;
	}
}
