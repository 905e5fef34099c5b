package stacks

import (
	"strings"
	"testing"
)

func TestSwift(t *testing.T) {
	for _, c := range []struct{ mangled, want string }{
		{"$s4main1fyyF", "main.f()"},
		{"_$s4main1fyyF", "main.f()"},
		{"$s4main3FooV3baryyF", "main.Foo.bar()"},
		{"$s4main3FooC3baryyFZ", "static main.Foo.bar()"},
		{"$s4main3FooO5InnerV3baryyKF", "main.Foo.Inner.bar()"},
		{"$s4main1fyS2iF", "main.f(_:)"},
		{"$s8mangling14varargsVsArray3arr1nySid_SStF", "mangling.varargsVsArray(arr:n:)"},
		{"$s8mangling14varargsVsArray3arr1nySaySiG_SStF", "mangling.varargsVsArray(arr:n:)"},
		{"$s4main3FooV3bar3baz_SbSi_SSSgtYaKF", "main.Foo.bar(baz:_:)"},
		{"$s4test6testitySiyt_tF", "test.testit(_:)"},
		{"$s4main3runyyyyXEF", "main.run(_:)"},
		{"$s4main3runyyS2icSg_ypSgtF", "main.run(_:_:)"},
		{"$s4main3fooyyxlF", "main.foo(_:)"},
		{"$s4main3fooyyx_q_tSHRzSER_r0_lF", "main.foo(_:_:)"},
		{"$s4test3StrCACycfC", "test.Str.__allocating_init()"},
		{"$s4test3StrCACycfc", "test.Str.init()"},
		{"$s4test3StrV1xACSi_tcfC", "test.Str.init(x:)"},
		{"$s4test3StrCfD", "test.Str.__deallocating_deinit"},
		{"$s4test3StrCfd", "test.Str.deinit"},
		{"$s4main3FooV3barSivg", "main.Foo.bar.getter"},
		{"$s4main3FooV3barSaySSGvs", "main.Foo.bar.setter"},
		{"$s4main3FooV6sharedACvgZ", "static main.Foo.shared.getter"},
		{"$s4main3FooV3barSivM.resume.0", "main.Foo.bar.modify.resume.0"},
		{"$s4main3fooyyFyyXEfU_", "closure #1 in main.foo()"},
		{"$s4main3fooyyFyyXEfU_yyXEfU0_", "closure #2 in closure #1 in main.foo()"},
		{"$s4main3fooyyFSbyKXEfu_", "implicit closure #1 in main.foo()"},
		{"$s4main3fooyyYaFTY0_", "(1) suspend resume partial function for main.foo()"},
		{"$s4main3fooyyYaFTQ1_", "(2) await resume partial function for main.foo()"},
		{"$s3abc6testityySiFTm", "merged abc.testit(_:)"},
		{"$s4main3FooC3baryyFTo", "@objc main.Foo.bar()"},
		{"$s4main3fooyyFyyXEfU_TA", "partial apply for closure #1 in main.foo()"},
		{"$s4Test6testityyxlFAA8MystructV_TB5", "specialized Test.testit(_:)"},
		{"$s4main3fooyyx_q_tr0_lFSi_SSTg5", "specialized main.foo(_:_:)"},
		{"$s4main3fooyyxlFSi_Tg5Tf4nd_n", "specialized specialized main.foo(_:)"},
		{"$s4main3useyyAA3FooV_AA3BarCyAA3BazOGSgtF", "main.use(_:_:)"},
		{"$s4main3FooVMa", "type metadata accessor for main.Foo"},
		{"$sSS4mainE3fooyyF", "Swift.String.foo()"},
		{"$sSa4mainE3foo3bary1d_tF", "$sSa4mainE3foo3bary1d_tF"}, // no type before the label
		{"$s4main3FooPAAE3bazyyF", "main.Foo.baz()"},
		{"$sSo8NSStringC4mainE3fooyyF", "__C.NSString.foo()"},
		{"$s4main3Foo33_0123456789ABCDEF0123456789ABCDEFLLV3baryyF", "main.Foo.bar()"},
		{"$s8AudioKit0A6PlayerC4playyyF", "AudioKit.AudioPlayer.play()"}, // words of earlier names
		{"$s10NetworkKit0aB7SessionV0aC0yyF", "NetworkKit.NetworkKitSession.NetworkSession()"},
	} {
		if got := Demangled(c.mangled); got != c.want {
			t.Errorf("%s is %s, want %s", c.mangled, got, c.want)
		}
	}
}

// What is not understood stays as it is.
func TestSwiftUnknown(t *testing.T) {
	for _, s := range []string{
		"$s", "$s4main", "$s4main3FooV", "$s4main3FooV3baryy", "$s4main3FooVMn", "$s4mainMa", "$s4main3fooyyFTf3pfpf_n", "$s4main3FooVWOe", "$s4main3fooyyFTwx",
		"$s7example1fyyYF", "$s4main1gyySiXCvp", "$s4main6testityyYFTu", "$s0059xxxxxxxxxxxxxxx_ttttttttBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBee",
		"$sxq_Ifgnr_D", "$sSD5IndexVy__GD", "$s1A1gyyxlFx_qd__t_Ti5", "$sAA3FooV3baryyF", "$s4main3barL_yyF", "$ss5print_9separator10terminatoryypfC",
		"$s3red4testyAA3ResOyxSayq_GAEs5ErrorAAq_sAFHD1__HCg_GADyxq_GsAFR_r0_lF", "$s10Foundation4main2eeoiySbAC_ACtFZ", "$s4main3FooVyyF", "$sSSyyF",
		"$s4main0dE3FooV3baryyF", "s4main3fooyyF", "$S4main3fooyyF", "main",
	} {
		if got := Demangled(s); got != s {
			t.Errorf("%s is shown as %s", s, got)
		}
	}
}

func FuzzSwift(f *testing.F) {
	for _, s := range []string{"$s4main3FooV3bar3baz_SbSi_SSSgtYaKF", "$s8AudioKit0A6PlayerC4playyyF", "$s4main3fooyyFyyXEfU_yyXEfU0_", "$sS99iA255a255aA", "$s4main3fooyyx_q_tSHRzSER_r0_lF"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > maxSymbol {
			return
		}
		got, ok := swift(s)
		if !ok {
			return
		}
		if !strings.HasPrefix(strings.TrimPrefix(s, "_"), "$s") || got == "" || len(got) > 20*maxSymbol {
			t.Errorf("%q is %q", s, got)
		}
	})
}
