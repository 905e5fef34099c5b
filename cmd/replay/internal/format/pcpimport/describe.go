package pcpimport

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/cmd/replay/internal/format/pcpexport"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// rounded returns an interval rounded to one that people choose.
func rounded(ns int64) time.Duration {
	d := time.Duration(ns)
	for _, to := range []time.Duration{time.Minute, 10 * time.Second, time.Second, 100 * time.Millisecond, 10 * time.Millisecond} {
		if r := d.Round(to); r > 0 && max(r-d, d-r) <= d/20 {
			return r
		}
	}
	return d
}

// A described metric is one of ours, with the group that it is in.
type described struct {
	*metric.Desc
	group string
}

// describe returns our descriptions of a PCP metric, one for each of its names.
func (m *importer) describe(r *pcparchive.Reader, d *pcparchive.Desc) []described {
	typ, ok := d.Type.Metric()
	if !ok {
		return nil
	}
	sem, _ := pcp.Semantics(d.Semantics)
	labels := labelled(r.Labels[pcparchive.LabelKey{Kind: pcp.LabelItem, Ident: d.PMID}])
	var list []described
	for _, name := range d.Names {
		own := &metric.Desc{Name: name, PMID: metric.PMID(d.PMID), Type: typ, Sem: sem, Units: pcp.Units(d.Units)}
		if t := r.Texts[d.PMID]; t != nil {
			own.Help, own.LongHelp = t.Line, t.Help
		}
		group := ""
		if m.survey.ours {
			group = m.restore(own, labels)
		} else {
			m.foreign(own, d)
			if labels := said(r, d.PMID); labels != nil {
				class := own.Class // as it was logged
				m.restore(own, labels)
				own.Class = class
			}
		}
		list = append(list, described{own, group})
	}
	return list
}

// restore restores the parts of a description that an export wrote as labels, and returns its
// group.
func (m *importer) restore(d *metric.Desc, labels []metric.Label) (group string) {
	for _, l := range labels {
		switch l.Name {
		case pcp.SaysClass:
			d.Class, _ = metric.ParseClass(l.Value)
		case pcp.SaysGroup:
			group = l.Value
		case pcp.SaysIndom:
			d.Indom = l.Value
		case pcp.SaysSource:
			d.Source = l.Value
		case pcp.SaysWidth:
			n, _ := strconv.ParseUint(l.Value, 10, 8)
			d.Width = uint8(n)
		case pcp.SaysClamped:
			d.Clamped = l.Value == "true"
		case pcp.SaysFalls:
			n, _ := strconv.ParseUint(l.Value, 10, 8)
			if f := metric.Falls(n); f.Valid() {
				d.Falls = f
			}
		case pcp.SaysFastest:
			d.Fastest, _ = time.ParseDuration(l.Value)
		case pcp.SaysUnits:
			if u, err := metric.ParseUnits(l.Value); err == nil {
				d.Units = u
			}
		case pcp.SaysType:
			n, _ := strconv.ParseUint(l.Value, 10, 8)
			if t := metric.Type(n); t.Valid() && t != metric.String && !t.Float() && !d.Type.Float() && d.Type != metric.String {
				d.Type = t
			}
		case pcp.SaysSemantics:
			n, _ := strconv.ParseUint(l.Value, 10, 8)
			if sem := metric.Semantics(n); sem <= metric.Discrete {
				d.Sem = sem
			}
		case pcp.SaysName:
			d.Name = l.Value
		case pcp.SaysNumber:
			n, _ := strconv.ParseUint(l.Value, 10, 32)
			d.PMID = metric.PMID(n)
		}
	}
	return group
}

// said returns the labels of a metric that our own agent served and pmlogger wrote.
func said(r *pcparchive.Reader, pmid uint32) []metric.Label {
	domain := metric.Instance{Labels: labelled(r.Said[pcparchive.LabelKey{Kind: pcp.LabelDomain, Ident: pmid >> 22}])}
	if domain.Label("agent") != pcp.Root {
		return nil
	}
	return labelled(r.Said[pcparchive.LabelKey{Kind: pcp.LabelItem, Ident: pmid}])
}

// open opens an archive. Metrics that our own agent served get our own names back, wherever the
// agent put them among PCP's names.
func open(base string) (*pcparchive.Reader, error) {
	r, err := pcparchive.Open(base)
	if err != nil {
		return nil, err
	}
	for id, d := range r.Descs {
		for _, l := range said(r, id) {
			if l.Name == pcp.SaysName {
				d.Names = []string{l.Value}
			}
		}
	}
	return r, nil
}

// word matches what may be a metric's name in a formula.
var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*\.[A-Za-z0-9_.]*`)

// computed returns the metrics of ours that can be computed from the archive's.
func (m *importer) computed() []*metric.Desc {
	return catalog.Select(m.platform, func(d *metric.Desc) bool {
		if d.Formula == "" || d.Unsupported != "" || m.survey.names[d.Name] {
			return false
		}
		for _, name := range word.FindAllString(d.Formula, -1) {
			if !m.survey.names[name] {
				return false
			}
		}
		return true
	})
}

// foreign describes a metric that a program of PCP recorded.
func (m *importer) foreign(d *metric.Desc, from *pcparchive.Desc) {
	if from.InDom != pcp.Null {
		d.Indom = m.indom(from.InDom)
	}
	own := catalog.Find(m.platform, d.Name)
	if own != nil && own.Formula == "" && own.Sem == d.Sem && (own.Type == metric.String) == (d.Type == metric.String) &&
		own.Units.SameDimension(d.Units) && (own.Indom == "") == (d.Indom == "") {
		if d.Help == "" {
			d.Help, d.LongHelp = own.Help, own.LongHelp
		}
		d.Falls = own.Falls
	}
	if d.LongHelp == d.Help {
		d.LongHelp = ""
	}
	if seen := m.survey.metrics[from.PMID]; seen != nil {
		d.Class = m.classes.of(seen, d.Indom)
	}
	d.Source = "PCP " + d.PMID.String()
}

// indom returns our name for a PCP instance domain: that of our metrics with the same names,
// else its number.
func (m *importer) indom(id uint32) string {
	if name, known := m.indoms[id]; known {
		return name
	}
	return pcp.InDomString(id)
}

// nameIndoms finds which instance domains are ours, by the metrics that have them.
func (m *importer) nameIndoms(r *pcparchive.Reader) {
	for _, d := range r.Descs {
		if d.InDom == pcp.Null || m.indoms[d.InDom] != "" {
			continue
		}
		if name, ok := pcp.IndomName(d.InDom); ok {
			m.indoms[d.InDom] = name
			continue
		}
		for _, name := range d.Names {
			if own := catalog.Find(m.platform, name); own != nil && own.Indom != "" {
				m.indoms[d.InDom] = own.Indom
			}
		}
	}
}

// labelled returns the labels of the first set.
func labelled(sets []pcparchive.LabelSet) []metric.Label {
	if len(sets) == 0 {
		return nil
	}
	list, err := pcp.ParseLabels(sets[0].JSON)
	if err != nil {
		return nil
	}
	return list
}

// host returns the machine that archives were recorded on.
func (s *survey) host(labels []metric.Label) (h metric.Host, boot, zone, recorder string, every metric.Intervals) {
	h.Name = s.label.Host
	zone = zoneOf(s.label)
	for _, l := range labels {
		switch l.Name {
		case pcp.SaysHost:
			h.Name = l.Value
		case pcp.SaysID:
			h.ID = l.Value
		case pcp.SaysOS:
			h.OS = l.Value
		case pcp.SaysRelease:
			h.Release = l.Value
		case pcp.SaysArch:
			h.Arch = l.Value
		case pcp.SaysModel:
			h.Model = l.Value
		case pcp.SaysPlatform:
			h.Platform = l.Value
		case pcp.SaysBoot:
			boot = l.Value
		case pcp.SaysZone:
			zone = l.Value
		case pcp.SaysRecorder:
			recorder = l.Value
		case pcp.SaysEvery:
			every = pcpexport.Intervals(l.Value)
		default:
			h.Labels = append(h.Labels, l)
		}
	}
	if h.ID == "" {
		h.ID = h.Name
	}
	if h.OS == "" {
		h.OS, h.Release, h.Arch = s.system, s.release, s.machine
	}
	if h.OS == "" {
		h.OS = map[catalog.Platform]string{catalog.Linux: "Linux", catalog.Darwin: "Darwin"}[s.platform()]
	}
	if h.Platform == "" {
		h.Platform = s.platform().Name()
	}
	return h, boot, zone, recorder, every
}

// platform returns the platform of the metrics: PCP has a domain for each kernel.
func (s *survey) platform() catalog.Platform {
	const linux, darwin = 60, 78
	if s.system == "Darwin" || s.domains[darwin] && !s.domains[linux] {
		return catalog.Darwin
	}
	return catalog.Linux
}

// zoneOf returns the zone of a label: from the file that describes it, or from the POSIX
// notation.
func zoneOf(l pcparchive.Label) string {
	if name := strings.TrimPrefix(l.Zone, ":"); name != "" {
		if _, err := time.LoadLocation(name); err == nil {
			return name
		}
	}
	tz := strings.TrimPrefix(l.TZ, ":")
	if _, err := time.LoadLocation(tz); err == nil && tz != "" {
		return tz
	}
	// "CET-1CEST" is UTC+1: POSIX counts the other way round.
	at := strings.IndexAny(tz, "+-0123456789")
	if at < 0 {
		return "UTC"
	}
	sign, rest := "-", strings.TrimPrefix(tz[at:], "+")
	if strings.HasPrefix(rest, "-") {
		sign, rest = "+", rest[1:]
	}
	hours, minutes := 0, 0
	for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' && hours < 24 {
		hours, rest = hours*10+int(rest[0]-'0'), rest[1:]
	}
	if len(rest) >= 3 && rest[0] == ':' {
		minutes, _ = strconv.Atoi(rest[1:3])
	}
	if hours > 14 || minutes < 0 || minutes > 59 {
		return "UTC"
	}
	two := func(n int) string { return strconv.Itoa(n/10) + strconv.Itoa(n%10) }
	return sign + two(hours) + ":" + two(minutes)
}
