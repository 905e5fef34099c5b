package live

import (
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/metric"
)

func metricMessage(d *metric.Desc) *tachographv1.AnnouncedMetric {
	return &tachographv1.AnnouncedMetric{
		Name: wire.Text(d.Name), Type: wire.Type(d.Type), Semantics: wire.Semantics(d.Sem), Units: wire.Text(d.Units.String()),
	}
}
