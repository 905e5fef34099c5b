package stackstest

import (
	"time"

	"tachograph/sample/stack"
)

// Waits are five seconds of a program whose thread main waits 4.1 seconds for its thread
// worker-3, which waits for fsync meanwhile, and then for a lock that worker-3 holds for a tenth
// of a second. A timer wakes a third thread time and again; its waits are too short for the
// clock to see all of them.
func Waits() [][]stack.Sample {
	thread := func(tid uint64, name string) stack.Thread {
		return stack.Thread{PID: 700, Process: "700/100", Command: "ledger", TID: tid, Name: name}
	}
	main, worker, poller := thread(700, ""), thread(703, "worker-3"), thread(704, "poller")
	begin := In(App, 0x1000, "main")
	run := In(App, 0x3000, "run")
	futex := []stack.Frame{In(Libc, 0x9100, "syscall"), Kernel("do_futex"), Kernel("futex_do_wait")}
	awaits := Frames(append([]stack.Frame{begin, In(App, 0x1100, "await_worker")}, futex...)...)
	locks := Frames(append([]stack.Frame{begin, In(App, 0x1200, "take_lock")}, futex...)...)
	syncs := Frames(run, In(App, 0x3100, "store"), In(Libc, 0x8900, "fsync"), Kernel("ext4_sync_file"), Kernel("folio_wait_writeback"))
	polls := Frames(In(App, 0x4000, "poll_loop"), In(Libc, 0x7a00, "nanosleep"), Kernel("hrtimer_nanosleep"))
	woke := func(by string) *stack.Waker {
		return &stack.Waker{Thread: worker, Frames: Frames(run, In(App, 0x3200, by), In(Libc, 0x9180, "syscall"), Kernel("do_futex"), Kernel("futex_wake"))}
	}
	timer := &stack.Waker{Frames: Frames(Kernel("hrtimer_interrupt"), Kernel("hrtimer_wakeup"), Kernel("try_to_wake_up"))}
	disk := &stack.Waker{Frames: Frames(Kernel("blk_mq_complete_request"), Kernel("folio_end_writeback"), Kernel("wake_up_bit"))}
	looked := func(t stack.Thread, wait string, count uint32, frames []stack.Frame) stack.Sample {
		return stack.Sample{Thread: t, State: stack.Waiting, Wait: wait, Count: count, Frames: frames}
	}
	waited := func(t stack.Thread, wait string, long time.Duration, by *stack.Waker, frames []stack.Frame) stack.Sample {
		return stack.Sample{Thread: t, State: stack.Waiting, Wait: wait, Waited: uint64(long), Waker: by, Frames: frames}
	}
	var all [][]stack.Sample
	for range 4 {
		all = append(all, []stack.Sample{
			looked(main, "futex_do_wait", 99, awaits),
			looked(worker, "folio_wait_writeback", 99, syncs),
			waited(poller, "hrtimer_nanosleep", 100*time.Millisecond, timer, polls),
			{Thread: poller, State: stack.Running, Count: 20, Frames: Frames(In(App, 0x4000, "poll_loop"))},
		})
	}
	return append(all, []stack.Sample{
		waited(worker, "folio_wait_writeback", 4*time.Second, disk, syncs),
		waited(main, "futex_do_wait", 4100*time.Millisecond, woke("finish"), awaits),
		waited(main, "futex_do_wait", 100*time.Millisecond, woke("release_lock"), locks),
		looked(poller, "hrtimer_nanosleep", 80, polls),
		{Thread: main, State: stack.Running, Count: 70, Frames: Frames(begin, In(App, 0x1300, "compute"))},
	})
}
