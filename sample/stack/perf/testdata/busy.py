"""A program whose shares of time and whose chains of calls are known."""
import json
import random
import sys
import threading
import time


def spin(n):
    total = 0
    for i in range(n):
        total += i
    return total


def heavy(n):
    spin(7 * n)


def light(n):
    spin(3 * n)


class Outer:
    def run(self):
        # Pieces of equal size would be in step with the sampling clock.
        pieces = random.Random(1)
        while True:
            n = pieces.randrange(20, 500)
            heavy(n)
            light(n)


def key(x):
    return -spin(x % 7 + 200)


def through_sort():
    data = list(range(500))
    while True:
        sorted(data, key=key)


class Odd:
    pass


def convert(odd):
    return spin(3000)


def through_json():
    data = [Odd() for _ in range(100)]
    while True:
        json.dumps(data, default=convert)


def waits_for_lock(lock):
    lock.acquire()


def sleeps():
    time.sleep(3600)


def waits():
    lock = threading.Lock()
    lock.acquire()
    all = [threading.Thread(target=waits_for_lock, args=(lock,), daemon=True), threading.Thread(target=sleeps, daemon=True)]
    for thread in all:
        thread.start()
    for thread in all:
        while not asleep(thread.native_id):
            time.sleep(0.001)


def asleep(tid):
    with open(f"/proc/self/task/{tid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"


def burns():
    while True:
        spin(100000)


def fights():
    for _ in range(3):
        threading.Thread(target=burns, daemon=True).start()


roles = {"shares": Outer().run, "sort": through_sort, "json": through_json, "waits": waits, "gil": fights}


def main():
    role = threading.Thread(target=roles[sys.argv[1]], daemon=True)
    role.start()
    if sys.argv[1] == "waits":
        role.join()
    print("ready", flush=True)
    sys.stdin.read()


main()
