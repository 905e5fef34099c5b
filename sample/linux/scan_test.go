package linux

import (
	"math"
	"strconv"
	"testing"
)

func TestNumbers(t *testing.T) {
	for in, want := range map[string]uint64{"0": 0, "18446744073709551615": math.MaxUint64, "007": 7} {
		t.Run("unsigned "+in, func(t *testing.T) {
			if v, ok := unsigned([]byte(in)); !ok || v != want {
				t.Errorf("%d, %v", v, ok)
			}
		})
	}
	for _, in := range []string{"", "-1", "18446744073709551616", "99999999999999999999", "1x", "1 "} {
		t.Run("not unsigned "+in, func(t *testing.T) {
			if v, ok := unsigned([]byte(in)); ok {
				t.Errorf("%d", v)
			}
		})
	}
	for in, want := range map[string]int64{"-1": -1, "-9223372036854775808": math.MinInt64, "5": 5} {
		t.Run("integer "+in, func(t *testing.T) {
			if v, ok := integer([]byte(in)); !ok || v != want {
				t.Errorf("%d, %v", v, ok)
			}
		})
	}
	if v, ok := hex([]byte("fF10")); !ok || v != 0xff10 {
		t.Errorf("hex = %x, %v", v, ok)
	}
	if _, ok := hex([]byte("12345678901234567")); ok {
		t.Error("hex accepts 17 digits")
	}
}

func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0.63", "2796.05", "1", "1.", ".5", "99999999999.999999999", "1.1.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := decimal([]byte(s))
		if !ok {
			return
		}
		want, err := strconv.ParseFloat(s, 64)
		if err != nil || math.Abs(v-want) > 1e-9*math.Max(1, want) {
			t.Errorf("decimal(%q) = %v, strconv says %v, %v", s, v, want, err)
		}
	})
}

func FuzzNumbers(f *testing.F) {
	f.Add("18446744073709551615")
	f.Add("-9223372036854775808")
	f.Add("ffffffffffffffff")
	f.Fuzz(func(t *testing.T, s string) {
		b := []byte(s)
		if v, ok := unsigned(b); ok {
			if want, err := strconv.ParseUint(s, 10, 64); err != nil || v != want {
				t.Errorf("unsigned(%q) = %d, strconv says %d, %v", s, v, want, err)
			}
		}
		if v, ok := hex(b); ok {
			if want, err := strconv.ParseUint(s, 16, 64); err != nil || v != want {
				t.Errorf("hex(%q) = %d, strconv says %d, %v", s, v, want, err)
			}
		}
		integer(b)
	})
}
