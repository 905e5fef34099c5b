package service

import (
	"slices"
	"testing"

	"tachograph/config"
	"tachograph/sample/metric"
)

func TestWhatIsNotAsTheLastRunLeftIt(t *testing.T) {
	parse := func(text string) *config.Config {
		c, err := config.Parse("f", text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mac := func(release, product, build string) metric.Host {
		return metric.Host{ID: "a", OS: "Darwin", Release: release, Platform: "macos",
			Labels: []metric.Label{{Name: "product", Value: product}, {Name: "build", Value: build}, {Name: "cpus", Value: "8"}}}
	}
	shipping := parse("archive.on_finish = [\"/usr/local/bin/ship\"]\n[[trigger]]\nname = \"x\"\nwhen = \"off\"\nrun = [\"/usr/local/bin/page\"]")
	for _, tc := range []struct {
		name string
		past Past
		host metric.Host
		cfg  *config.Config
		want []string
	}{
		{"nothing recorded before", Past{}, mac("25.1.0", "macOS 26.1", "25B78"), parse(""), nil},
		{"as it was", Past{Host: mac("25.1.0", "macOS 26.1", "25B78"), Config: shipping.TOML()}, mac("25.1.0", "macOS 26.1", "25B78"), shipping, nil},
		{"another machine's archive", Past{Host: metric.Host{ID: "b", OS: "Linux"}}, mac("25.1.0", "macOS 26.1", "25B78"), parse(""), nil},
		{"an update", Past{Host: mac("25.1.0", "macOS 26.1", "25B78")}, mac("25.2.0", "macOS 26.2", "25C56"), parse(""),
			[]string{"system update: Darwin 25.1.0 macOS 26.1 25B78 became Darwin 25.2.0 macOS 26.2 25C56"}},
		{"another recorder", Past{Host: mac("25.1.0", "", ""), Recorder: "recorder 1.0"}, mac("25.1.0", "", ""), parse(""), []string{"software: recorder 1.0 → 1.1"}},
		{"the same recorder", Past{Host: mac("25.1.0", "", ""), Recorder: "recorder 1.1"}, mac("25.1.0", "", ""), parse(""), nil},
		{"other settings", Past{Host: mac("25.1.0", "", ""), Config: parse("").TOML()}, mac("25.1.0", "", ""), parse("[classes]\nfast = \"5s\""),
			[]string{`configuration: the configuration was changed: classes.fast from "1s" to "5s"`}},
		{"other triggers", Past{Host: mac("25.1.0", "", ""), Config: parse("").TOML()}, mac("25.1.0", "", ""), parse("[[trigger]]\nname = \"hang\"\nwhen = \"off\""),
			[]string{`configuration: the configuration was changed: trigger from "hang" to "hang" (changed)`}},
		{"settings that nobody knows any more", Past{Host: mac("25.1.0", "", ""), Config: "[archive]\nlevitate = true"}, mac("25.1.0", "", ""), parse(""), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, e := range sinceThen(tc.past, tc.host, "recorder 1.1", tc.cfg) {
				got = append(got, string(e.Kind)+": "+e.Text)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
