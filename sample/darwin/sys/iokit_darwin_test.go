package sys

import "testing"

func TestRegistry(t *testing.T) {
	stats, ops, name := NewKey("Statistics"), NewKey("Operations (Read)"), NewKey("BSD Name")
	defer stats.Release()
	defer ops.Release()
	defer name.Release()
	drivers := 0
	err := Services(NewClass("IOBlockStorageDriver"), func(s Service) bool {
		drivers++
		if id, err := s.ID(); id == 0 || err != nil {
			t.Errorf("registry id %d, %v", id, err)
		}
		d := s.Property(stats)
		defer d.Release()
		if n, ok := d.Get(ops).Int(); !ok || n <= 0 {
			t.Errorf("reads: %d, %v", n, ok)
		}
		if _, ok := d.Get(name).Int(); ok {
			t.Error("a key that is not there has a number")
		}
		s.Children(func(m Service) bool {
			if !m.Conforms(NewClass("IOMedia")) {
				return false
			}
			v := m.Property(name)
			defer v.Release()
			if b, ok := v.Text(make([]byte, 64)); !ok || string(b) != "disk0" {
				t.Errorf("disk %q, %v", b, ok)
			}
			if _, ok := v.Int(); ok {
				t.Error("a string is a number")
			}
			if n, err := m.Name(); n == "" || err != nil {
				t.Errorf("registry name %q, %v", n, err)
			}
			return false
		})
		return false
	})
	if err != nil || drivers != 1 {
		t.Errorf("%d drivers, %v", drivers, err)
	}
	if err := Services(NewClass("NoSuchClass"), func(Service) bool { t.Error("visited"); return false }); err != nil {
		t.Error(err)
	}
}

func TestPowerSourcesAndSMC(t *testing.T) {
	kind := NewKey("Type")
	defer kind.Release()
	err := PowerSources(func(d Value) {
		if b, ok := d.Get(kind).Text(make([]byte, 64)); !ok || string(b) != "InternalBattery" {
			t.Errorf("a power source of type %q, %v", b, ok)
		}
	}, func(v Value) {
		if _, ok := v.Text(make([]byte, 64)); !ok {
			t.Error("the providing source has no name")
		}
	})
	if err != nil {
		t.Error(err)
	}
	found := false
	err = Services(NewClass("AppleSMC"), func(s Service) bool {
		found = true
		c, err := s.Open()
		if err != nil {
			t.Error(err)
			return false
		}
		defer c.Close()
		// The number of fans.
		in, out := make([]byte, 80), make([]byte, 80)
		copy(in, "muNF")
		in[42] = 9
		if err := c.Call(2, in, out); err != nil || out[28] != 1 {
			t.Errorf("FNum: %v, size %d", err, out[28])
		}
		return false
	})
	if err != nil || !found {
		t.Errorf("AppleSMC: %v, found %v", err, found)
	}
}
