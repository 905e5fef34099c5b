package mach

import (
	"fmt"
	"os"
	"testing"
)

// pythonAt is a program in Python: C calls one of its functions, which calls another through C,
// and that one calls itself. The memory is what the package python makes for its own tests.
const pythonAt = `
process 710 { name python3.%[1]d; uniqueid 7100; uid 501
  image "/opt/python/bin/python3.%[1]d" uuid 0e0e0e0e-0000-0000-0000-000000000001 load 0x104000000 size 0x20000 {
    symbol _main 0x1000; symbol __PyEval_EvalFrameDefault 0x4000; symbol _list_sort 0x5000; symbol _take_gil 0x6000 local; symbol __PyRuntime 0x10000
  }
  image "/usr/lib/system/libsystem_kernel.dylib"
  memory 0x104010000 0x%[2]x hex "%[3]s" prot 5
  thread 0x751 { name worker; state 1; stack _PyEval_EvalFrameDefault+0x10 list_sort+0x8 _PyEval_EvalFrameDefault+0x20 main+0x8 0x200000000 }
  thread 0x752 { stack ___psynch_cvwait+8 take_gil+0x8 main+0x8 0x200000000 }
  thread 0x753 { stack main+0x8 }
}
`

// Functions of Python stand where the interpreter's loop was.
func TestPython(t *testing.T) {
	t.Parallel()
	for _, minor := range []int{12, 14} {
		memory, err := os.ReadFile(fmt.Sprintf("testdata/python3%d.hex", minor))
		if err != nil {
			t.Fatal(err)
		}
		const app = "sample 710 1m 300 90"
		o := simulated(t).tidy(t, world+fmt.Sprintf(pythonAt, minor, len(memory)/2, memory)+"\nfreeze 5\n", app)
		p := o.part(t, app)
		of := fmt.Sprintf("710/7100/python3.%d/", minor)
		in := fmt.Sprintf("@python3.%d+", minor)
		p.always(t, of+"751", "worker||0||0|größe@app.py:20,20 größe@app.py:22,20 list_sort"+in+"5008 Outer.run@app.py:10,10 main"+in+"1008 200000000")
		p.always(t, of+"752", "||1|the GIL, held by thread 1873 (worker)|0|__psynch_cvwait@cache:libsystem_kernel.dylib+45d8 take_gil"+in+"6008 main"+in+"1008 200000000")
		p.always(t, of+"753", "||1||0|main"+in+"1008")
	}
}
