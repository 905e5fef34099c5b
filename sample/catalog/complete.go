package catalog

import "tachograph/sample/metric"

// Complete adds to a description from an archive of host h what archives of its time did not
// store and the metric's name implies: how the counter falls, and that a value is in percent.
func Complete(h *metric.Host, d *metric.Desc) {
	p, ok := PlatformOf(h)
	if !ok {
		return
	}
	now := Find(p, d.Name)
	if now == nil || now.Type != d.Type || now.Sem != d.Sem || now.Indom != d.Indom {
		return
	}
	d.Falls = max(d.Falls, now.Falls)
	if d.Units == metric.NoUnits && now.Units == metric.Percent {
		d.Units = now.Units
		if d.Formula != "" {
			d.Formula = now.Formula // the old formula computed the percentage itself
		}
	}
}
