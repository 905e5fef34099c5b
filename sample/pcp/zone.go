package pcp

import (
	"strconv"
	"strings"
	"time"
)

// Zone returns a time zone as PCP has it: in POSIX notation, for the offset in force at an
// instant, and as the name of the file that describes it.
func Zone(name string, at int64) (tz, zone string) {
	loc := time.UTC
	if l, err := time.LoadLocation(name); err == nil && name != "" {
		loc, zone = l, ":"+name
	} else if t, err := time.Parse("-07:00", name); err == nil {
		loc = t.Location()
	}
	short, off := time.Unix(0, at).In(loc).Zone()
	if off == 0 && (short == "UTC" || short == "") {
		if zone == "" || zone == ":UTC" {
			zone = ":Etc/UTC"
		}
		return "UTC", zone
	}
	if strings.ContainsAny(short, "+-0123456789") || len(short) < 3 {
		short = "LOC" // POSIX allows only letters
	}
	sign := "-" // POSIX counts the other way round
	if off < 0 {
		sign, off = "+", -off
	}
	tz = short + sign + strconv.Itoa(off/3600)
	if m := off / 60 % 60; m != 0 {
		tz += ":" + strconv.Itoa(m/10) + strconv.Itoa(m%10)
	}
	return tz, zone
}
