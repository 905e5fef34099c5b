package chunk_test

import (
	"bytes"
	"fmt"
	"log"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A Builder takes ticks and is sealed into a chunk. One column of the chunk is read back.
func Example() {
	reads := &metric.Desc{Name: "disk.reads", Type: metric.U64, Sem: metric.Counter, Indom: "disk"}
	group := &metric.Group{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{reads}}
	disks := []*metric.Instance{{Key: "disk0", Name: "disk0"}, {Key: "disk4", Name: "Backup"}}

	b := chunk.NewBuilder(metric.Fast)
	for second := range uint64(3) {
		at := metric.Stamp{Wall: 1e18 + int64(second)*1e9, Cont: int64(second) * 1e9, Awake: int64(second) * 1e9}
		block := &metric.Block{Group: group, At: at, Rows: disks, Cols: []metric.Column{{Bits: []uint64{100 + 7*second, 40}}}}
		if err := b.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{block}}); err != nil {
			log.Fatal(err)
		}
	}
	sealed, err := b.Seal(func(*metric.Desc) uint32 { return 0 }) // there is one metric, number 0
	if err != nil {
		log.Fatal(err)
	}
	b.Reset()

	c, err := chunk.Open(bytes.NewReader(sealed.Data), sealed.Info.Size)
	if err != nil {
		log.Fatal(err)
	}
	g := c.Groups[0]
	insts, err := g.Instances()
	if err != nil {
		log.Fatal(err)
	}
	err = g.Series(0, nil, func(i int, s *chunk.Series) error {
		fmt.Printf("%s: %d values, changes at %v: %v\n", insts[i].Names[0].Name, s.Life, s.At, s.Bits)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// Backup: 3 values, changes at [0]: [40]
	// disk0: 3 values, changes at [0 1 2]: [100 107 114]
}
