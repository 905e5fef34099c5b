package redact

// zaphodsMac is the shipped laptop with unmistakable names in all that holds some.
const zaphodsMac = `include "macbook-m.scn"
sysctl kern.hostname string "Zaphods-MacBook.local"
sysctl kern.bootargs string "-v zaphod=1"
sysctl kern.corefile string "/cores/zaphod/core.%P"
sysctl vm.swapfileprefix string "/private/var/vm/zaphod/swapfile"
sysctl kern.shutdownreason string "because of Zaphod"
sysctl kern.wakereason string "USB Zaphods-iPhone"
sysctl my.serialtext string "ZAPHODSERIAL01"
sysctl my.other string "of Zaphod and nobody else"
process 4242 {
  name "Zaphodd"; path "/Users/zaphod/Zaphod's tools/Zaphodd"; ppid 1; uid 501; ruid 501; svuid 501; gid 20
  args "/Users/zaphod/Zaphodd" --password zaphodsecret; cwd "/Users/zaphod/work of Zaphod"
  state run; running 1; rss 1G; footprint 2G; user_ns counter 5000000 20000000
  thread 0x111 { name "Zaphods worker"; user_ns 5000000000; system_ns 3000; state 1; priority 47 }
  thread 0x112 { name "main"; user_ns 5000; system_ns 3000; state 1; priority 47 }
}
process 4243 { name "Zaphod Helper (Renderer)"; comm "Zaphod Helper (R"; path "/Applications/Zaphod.app/Contents/MacOS/Zaphod Helper (Renderer)"; ppid 4242; uid 1729384756; ruid 1729384756; svuid 1729384756; args zaphod; start 20; exit 40 }
mount "/Volumes/Zaphod's disk" { f_bsize 4096; f_blocks 1000000; f_bfree 500000; f_bavail 500000; f_files 100; f_ffree 50; f_fstypename "apfs"; f_mntfromname "/dev/disk9s1"; f_type 26; start 30; end 70 }
mount "/Users/zaphod/share" { f_bsize 4096; f_blocks 1000000; f_bfree 500000; f_bavail 500000; f_files 100; f_ffree 50; f_fstypename "smbfs"; f_mntfromname "//zaphod@zaphods-nas.example/Zaphod"; f_type 26 }
mount "/Volumes/nfs" { f_bsize 4096; f_blocks 1000000; f_bfree 500000; f_bavail 500000; f_files 100; f_ffree 50; f_fstypename "nfs"; f_mntfromname "zaphod.example:/export/zaphod"; f_type 26 }
utmpx { ut_user "zaphod"; ut_line "ttys001"; ut_pid 902; ut_type 7; ut_host "zaphod.example"; ut_tv.tv_sec 1750003600 }
`
