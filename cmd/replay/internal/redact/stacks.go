package redact

import (
	"regexp"
	"strings"

	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

// The parts of stacks: the files that contain the code, the functions in them, and the threads
// that ran them.

// systemImages are files that come with a system, including the kernel's own. On a Mac only the
// system can put files there; on Linux these are the files that programs of all kinds share.
var systemImages = pattern(`kernel|\[?vdso\]?|\[vsyscall\]|linux-vdso\.so\.1|/System/Library/.*|/System/iOSSupport/System/Library/.*|/usr/lib/[A-Za-z0-9+._-]+\.dylib|/usr/lib/(system|swift|dyld|log)(/[A-Za-z0-9+._-]+)*|/usr/lib/dyld` +
	`|(/usr)?/lib(32|64|x32)?(/[a-z0-9_]+-linux-[a-z0-9]+)?/(ld-linux[a-z0-9_-]*|ld-musl-[a-z0-9_]+|ld|libc|libc\.musl-[a-z0-9_]+|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libnss_[a-z]+|` +
	`libgcc_s|libstdc\+\+|libgomp|libc\+\+|libc\+\+abi|libunwind|libcrypto|libssl|libz|libzstd|liblzma|liblz4|libbz2|libsystemd|libudev|libselinux|libcap|libblkid|libmount|libuuid|` +
	`libglib-2\.0|libgobject-2\.0|libgio-2\.0|libffi|libpcre2?(-8)?|libexpat|libreadline|libncursesw?|libtinfo|libsqlite3|libcurl|libxml2|libgmp|libX11|libxcb|libdbus-1|libpython3\.\d+|libjemalloc|libtcmalloc(_minimal)?)` +
	`[-.0-9]*(\.so)?[.0-9]*`)

// systemFunctions are functions of language runtimes and of systems: those that threads begin
// with, and those that they wait in.
var systemFunctions = pattern(`main|start|_start|__libc_start_main(_impl)?|__libc_start_call_main|start_thread|clone3?|__clone3?|(__)?(GI_)?(___)?(read|write|pread64|pwrite64|readv|writev|open|openat|close|poll|ppoll|select|pselect|epoll_wait|epoll_pwait|accept4?|connect|` +
	`recv(from|msg)?|send(to|msg)?|nanosleep|clock_nanosleep|futex|wait4|waitpid|ioctl|fsync|fdatasync|mmap|munmap|brk|syscall|malloc|calloc|realloc|free|memcpy|memmove|memset|strlen|strcmp)` +
	`|_?(pthread|dispatch|mach_msg|semaphore|kevent|objc|swift|xpc|os|CFRunLoop|CFRUNLOOP|NS)_[A-Za-z0-9_]{1,60}|_?_?(psynch_\w{1,20}|ulock_wait2?|workq_kernreturn|semwait_signal|select|mach_msg2?_\w{1,20}|CFRunLoop\w{1,40})|kevent(_id|_qos)?|thread_start|(start_)?wqthread` +
	`|runtime(/internal)?\.[A-Za-z0-9_.()*]{1,80}|(internal/)?(syscall|sync|time|os|io|net|net/http|encoding/json|sort|strings|bytes|reflect|bufio|compress/[a-z]+|crypto/[a-z0-9/]+)\.[A-Za-z0-9_.()*]{1,80}`)

// function maps the name of a function. It is not learned, because no sentence means it.
func (m *Mapping) function(s string) string {
	if s == "" || m.names.made(s) || !m.all && systemFunctions(s) {
		return s
	}
	return m.names.of(aFunction, s)
}

func (m *Mapping) stackInstance(in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: m.numberKey(in.Key), Name: m.processName(in.Name), Labels: m.labelled(in.Labels, labelsOfStacks)}
}

// imageInstance keeps the identity of a file that systems have. The identity of any other file
// is hidden, too.
func (m *Mapping) imageInstance(in *metric.Instance) *metric.Instance {
	out := &metric.Instance{Key: m.numberKey(in.Key), Name: in.Name}
	labels := labelsOfImages
	if m.all || !systemImages(in.Name) {
		out.Name, labels = m.path(in.Name), labelsOfOwnImages
	}
	out.Labels = m.labelled(in.Labels, labels)
	return out
}

// frameInstance keeps the functions of the kernel.
func (m *Mapping) frameInstance(in *metric.Instance) *metric.Instance {
	out := &metric.Instance{Key: m.numberKey(in.Key), Name: in.Name, Labels: m.labelled(in.Labels, labelsOfFrames)}
	if m.all || in.Label(stack.LabelKernel) == "" || !kernelWords(in.Name) {
		out.Name = m.function(in.Name)
	}
	return out
}

// kernelWords match functions of kernels, and the names of what a thread waits for in them.
var kernelWords = pattern(`[A-Za-z0-9_.$]{0,100}( ?\(?(0x[0-9a-f]+|[a-z0-9_]+)\)?){0,4}`)

var (
	labelsOfStacks = map[string]labelMap{
		stack.LabelProcess: numberKeys, stack.LabelPID: digits, stack.LabelTID: digits, stack.LabelFrame: numberKeys,
		stack.LabelThread: func(m *Mapping, s string) (string, bool) { return m.thread(s), true },
		stack.LabelQueue:  func(m *Mapping, s string) (string, bool) { return m.queue(s), true },
		stack.LabelWait:   wait,
		stack.LabelEnd:    like(pattern(`truncated|broken`)),
		stack.LabelWaker: func(m *Mapping, s string) (string, bool) {
			if s == stack.Interrupt {
				return s, true
			}
			return m.process(s), true
		},
		stack.LabelWakerProcess: numberKeys, stack.LabelWakerPID: digits, stack.LabelWakerTID: digits, stack.LabelWakerFrame: numberKeys,
		stack.LabelWakerThread: func(m *Mapping, s string) (string, bool) { return m.thread(s), true },
	}
	labelsOfImages = map[string]labelMap{
		stack.LabelID: like(pattern(`[0-9A-Fa-f-]{1,64}`)), stack.LabelBase: digits, stack.LabelCache: like(pattern(`yes`)),
		stack.LabelCacheID: like(pattern(`[0-9A-F-]{1,64}`)), stack.LabelCacheSlide: digits,
	}
	labelsOfOwnImages = map[string]labelMap{stack.LabelBase: digits, stack.LabelCache: like(pattern(`yes`))}
	labelsOfFrames    = map[string]labelMap{
		stack.LabelCaller: numberKeys, stack.LabelImage: numberKeys, stack.LabelOffset: digits, stack.LabelLine: digits, stack.LabelStart: digits,
		stack.LabelFile: paths, stack.LabelKernel: like(pattern(`yes`)),
	}
)

// ofLock matches a wait for the lock of Python's interpreter, with the thread that has it.
var ofLock = regexp.MustCompile(`^the GIL(?:, held by thread \d{1,20}(?: \((.*)\))?)?$`)

// wait keeps what a thread waited for, but for the name of another thread.
func wait(m *Mapping, s string) (string, bool) {
	if at := ofLock.FindStringSubmatchIndex(s); at != nil {
		if at[2] >= 0 {
			s = s[:at[2]] + m.thread(s[at[2]:at[3]]) + s[at[3]:]
		}
		return s, true
	}
	return like(kernelWords)(m, s)
}

// queue maps the label of a dispatch queue: the system's own begin with com.apple.
func (m *Mapping) queue(s string) string {
	if s == "" || !m.all && (strings.HasPrefix(s, "com.apple.") || knownThread(s)) {
		return s
	}
	return m.names.of(aThread, s)
}

// sampled maps the subject of a sampling: "Safari (pid 312)".
func sampled(m *Mapping, s string) string {
	if s == "all processes" {
		return s
	}
	if i := strings.LastIndex(s, " (pid "); i >= 0 {
		return m.process(s[:i]) + s[i:]
	}
	return m.process(s)
}
