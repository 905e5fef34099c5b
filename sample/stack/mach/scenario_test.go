package mach

// world is a Mac with Apple silicon whose processes do many things. What is not defined here
// does not matter.
const world = `
include "macbook-m.scn"
clear process
self { pid 4321; as_uid 0; ppid 1 }
host { rate_limit no; root yes }
stackshot { duration 3000 }
sharedcache {
  uuid 11111111-2222-3333-4444-555555555555
  base 0x180000000; slide 0x4c4000
  image "/usr/lib/system/libsystem_kernel.dylib" uuid 0a0a0a0a-0000-0000-0000-000000000001 at 0x180400000 size 0x3c000 {
    symbol _mach_msg2_trap 0xce0
    symbol ___psynch_cvwait 0x45d0
  }
  image "/usr/lib/system/libsystem_pthread.dylib" uuid 0a0a0a0a-0000-0000-0000-000000000002 at 0x180440000 size 0xd000 {
    symbol _pthread_start 0x7000
    symbol thread_start 0x2000
  }
}
sharedcache {
  arch x86_64; uuid 99999999-2222-3333-4444-555555555555; base 0x7ff800000000; slide 0x2000
  image "/usr/lib/system/libsystem_c.dylib" uuid 0a0a0a0a-0000-0000-0000-000000000003 at 0x7ff800010000 size 0x8000 {
    symbol _usleep 0x1000
  }
}
process 0 { name kernel_task; ppid 0
  image "/System/Library/Kernels/kernel" uuid cccccccc-0000-0000-0000-00000000000c load 0xfffffe0007000000 size 0x2000000
  thread 0x64 { kstack 0xfffffe0007a00100; state 1 } }
process 1 { name launchd; ppid 0; uid 0; protected yes
  image "/sbin/launchd" uuid 0f0f0f0f-0000-0000-0000-000000000001 load 0x100000000 size 0x8000 { symbol _main 0x1000 }
  image "/usr/lib/dyld" uuid 0f0f0f0f-0000-0000-0000-000000000002 load 0x1d0000000 size 0x4000 type dylinker { symbol _start 0xf00 }
  thread 0x66 { stack 0x100001000 0x1d0000f04; kstack 0xfffffe0007a00200 0xfffffe0007a00300 } }
process 700 {
  name app; uniqueid 7000; path "/Applications/App.app/Contents/MacOS/App"; uid 501; arch arm64e
  image "/Applications/App.app/Contents/MacOS/App" uuid aabbccdd-0011-2233-4455-66778899aabb load 0x104a30000 size 0x20000 {
    symbol _main 0x3f00; symbol _compute 0x4000; symbol _loop 0x4180; symbol secret 0x5000 local
  }
  image "/Applications/App.app/Contents/Frameworks/Util.framework/Util" uuid 0b0b0b0b-0000-0000-0000-000000000001 load 0x104c00000 size 0x9000 { symbol _util 0x1000 }
  image "/usr/lib/system/libsystem_kernel.dylib"
  image "/usr/lib/system/libsystem_pthread.dylib"
  image "/opt/plugin.dylib" uuid 0b0b0b0b-0000-0000-0000-000000000002 load 0x105000000 size 0x8000 stripped yes {
    symbol _plugin_init 0x900; symbol _plugin_work 0xa40
  }
  thread 0x711 { name main; state 1; queue "com.apple.main-thread" serial 1
    stack compute+0x10 loop+0x8 main+0x24 0x1804c0000 }
  thread 0x712 { name leaf; stack mach_msg2_trap+8 pthread_start+0x10 thread_start+8 leaf
    wait receive owner 0x711 context 0x1203; kstack 0xfffffe0007b00000 0xfffffe0007b00100 }
  thread 0x713 { stack main+4*650 thread_start+8 tail }
  thread 0x714 { state 1; cycle { stack compute+0x10 main+0x24 weight 7; stack loop+0x8 main+0x24 weight 3 } }
  thread 0x715 { state 1; moving yes; cycle { stack compute+4 loop+4 main+4; stack util+4 main+4 } }
  thread 0x716 { stack ___psynch_cvwait+8 pthread_start+0x10 thread_start+8 tail; wait mutex owner 0x711; last_run 0 }
  thread 0x717 { stack secret+4 0x105000910 0x104a40000 }
  thread 0x721 { stack 0x1 0x2 0x3 0x4 break loop 1 }
  thread 0x722 { stack 0x1 0x2 0x3 0x4 break self 0 }
  thread 0x723 { stack 0x1 0x2 0x3 0x4 break unaligned 1 }
  thread 0x724 { stack 0x1 0x2 0x3 0x4 break unmapped 1 }
  thread 0x725 { stack 0x1 0x2 0x3 0x4 break guard 1 }
  thread 0x726 { stack 0x1 0x2 0x3 0x4 break down 1 }
  thread 0x727 { stack 0x1 0x2 0x3 0x4 break zero 1 }
  thread 0x728 { stack 0x1 0x2 0x3 0x4 break garbage 1 }
  thread 0x729 { stack 0x1 0x2 0x3 0x4 break edge 1 }
  thread 0x72a { stack 0x5 }
  thread 0x72b { stack mach_msg2_trap+8 thread_start+8; suspended 1 }
}
process 701 { name intelapp; uniqueid 7010; uid 501; arch x86_64
  image "/usr/local/bin/intelapp" uuid 0c0c0c0c-0000-0000-0000-000000000001 load 0x100000000 size 0x8000 { symbol _main 0x1000 }
  image "*"
  thread 0x731 { stack usleep+4 main+4 0x200000000 } }
process 702 { name small; uniqueid 7020; uid 501
  image "/usr/local/bin/small" uuid 0d0d0d0d-0000-0000-0000-000000000001 load 0x104000000 size 0x4000 { symbol _main 0x1000; symbol _work 0x1100 }
  thread 0x741 { state 1; queue "work"; stack work+4 main+4 }
  thread 0x742 { stack main+8 } }
process 704 { name restless; uniqueid 7040; uid 501
  thread 0x781 { cycle { stack 0x10 0x30; stack 0x20 0x30 } } }
`

// frozen is the world at one instant: nothing begins or ends.
const frozen = world + "\nfreeze 5\n"

// intel is a Mac with an Intel processor.
const intel = `
include "intel.scn"
clear process
freeze 5
self { pid 4321; as_uid 0; ppid 1 }
host { rate_limit no; root yes }
process 800 { name app; uniqueid 8000; uid 501
  image "/usr/local/bin/app" uuid aabbccdd-0011-2233-4455-66778899aabb load 0x10a000000 size 0x8000 { symbol _main 0x1000; symbol _work 0x1100 }
  thread 0x811 { state 1; stack work+5 main+9 0x7ff812345678 }
  thread 0x812 { cycle { stack work+1 main+9 weight 7; stack work+2 main+9 weight 3 }; state 1 }
  thread 0x813 { stack main+1 }
  thread 0x814 { stack work main+9 0x7ff812345678 leaf }
}
`

// bareOnARM is a process with functions that have no frame, or not at each instruction, and with
// unwind information that says so. One of them uses the link register for something else.
const bareOnARM = world + `
freeze 5
process 830 { name bare; uniqueid 8300; uid 501; arch arm64e
  image "/usr/local/bin/bare" uuid 0e0e0e0e-0000-0000-0000-000000000003 load 0x10b000000 size 0x8000 {
    symbol _main 0x1000 unwind 0x04000000
    symbol _leaf 0x1100 unwind 0x02000000
    symbol _room 0x1180 unwind 0x02001000
    symbol _framed 0x1200 unwind 0x04000000
    symbol _asm 0x1300 unwind 0x03000000
    symbol _unsaid 0x1400 unwind 0
  }
  memory 0x10b001200 20 hex "fd7bbfa9fd03009100000094fd7bc1a8c0035fd6" prot 5
  thread 0x831 { state 1; stack leaf+4~0 main+8 0x1804c0000 }
  thread 0x832 { stack room+8~16 main+8 0x1804c0000 }
  thread 0x833 { state 1; stack framed~0 main+8 0x1804c0000 }
  thread 0x834 { state 1; stack framed+4~16 main+8 0x1804c0000 }
  thread 0x835 { state 1; stack framed+12 main+8 0x1804c0000; regs { lr 0x10b001104 } }
  thread 0x836 { state 1; stack framed+16~0 main+8 0x1804c0000 }
  thread 0x837 { state 1; stack asm+4~0 main+8 0x1804c0000 }
  thread 0x838 { state 1; stack unsaid+4~0 main+8 0x1804c0000 }
  thread 0x839 { state 1; stack leaf+4~0 framed+12 main+8*3 0x1804c0000 break unmapped 3 }
}
`

// bareOnIntel is the same for Intel's processors, where such functions may be anywhere in a stack,
// and may use the frame pointer's register for something else.
const bareOnIntel = intel + `
process 830 { name bare; uniqueid 8300; uid 501
  image "/usr/local/bin/bare" uuid 0e0e0e0e-0000-0000-0000-000000000003 load 0x10b000000 size 0x8000 {
    symbol _main 0x1000 unwind 0x01000000
    symbol _outer 0x1080 unwind 0x01000000
    symbol _leaf 0x1100 unwind 0x02010000
    symbol _bare 0x1180 unwind 0x02030000
    symbol _uses 0x1200 unwind 0x02040804
    symbol _large 0x1300 unwind 0x03032000
    symbol _framed 0x1400 unwind 0x01000000
    symbol _asm 0x1500 unwind 0x04000000
  }
  memory 0x10b001200 18 hex "55534883ec08e8000000004883c4085b5dc3" prot 5
  memory 0x10b001300 7 hex "4881ec98000000" prot 5
  memory 0x10b001400 11 hex "554889e5e8000000005dc3" prot 5
  thread 0x831 { state 1; stack leaf+1~8 bare+9~24 main+9 0x7ff812345678 }
  thread 0x832 { stack uses+6~32@16 outer+5 main+9 0x7ff812345678 }
  thread 0x833 { state 1; stack framed+4 uses+11~32@16 bare+7~24 outer+5 main+9 0x7ff812345678 }
  thread 0x834 { state 1; stack framed+4 large+12~160 main+9 0x7ff812345678 }
  thread 0x835 { state 1; stack uses+1~16@16 main+9 0x7ff812345678 }
  thread 0x836 { state 1; stack uses+17~8 main+9 0x7ff812345678 }
  thread 0x837 { state 1; stack framed~8 main+9 0x7ff812345678 }
  thread 0x838 { state 1; stack framed+10~8 main+9 0x7ff812345678 }
  thread 0x839 { state 1; stack large+7~160 asm+5 main+9*3 0x7ff812345678 break unmapped 2 }
  thread 0x83a { stack bare+20~24*600 main+9 0x7ff812345678 }
}
`
