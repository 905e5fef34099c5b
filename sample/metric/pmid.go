package metric

import (
	"fmt"
)

// PMID is PCP's metric identifier: 9 bits of domain, 12 of cluster, 10 of item. Zero means that
// the metric has none.
type PMID uint32

// OwnDomain is the block of PMIDs for metrics that PCP does not have.
const OwnDomain = 500

// NewPMID packs the three parts. It is cheap, so that tables can call it freely.
func NewPMID(domain, cluster, item uint32) PMID {
	return PMID(domain&0x1ff<<22 | cluster&0xfff<<10 | item&0x3ff)
}

// Parts unpacks p.
func (p PMID) Parts() (domain, cluster, item uint32) {
	return uint32(p) >> 22 & 0x1ff, uint32(p) >> 10 & 0xfff, uint32(p) & 0x3ff
}

// String prints p as PCP does: domain.cluster.item.
func (p PMID) String() string {
	d, c, i := p.Parts()
	return fmt.Sprintf("%d.%d.%d", d, c, i)
}
