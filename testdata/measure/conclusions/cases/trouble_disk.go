package cases

import (
	"tachograph/testdata/measure/conclusions/sim"
)

const saysFull = `full|fill`

var diskTroubles = []trouble{
	{kind: "volume filled", least: 0.3, lasts: 70, what: []string{saysFull}, begin: volumeFilled},
	{kind: "volume full", least: 1, what: []string{saysFull}, begin: volumeFull},
	{kind: "inodes", least: 0.3, lasts: 70, what: []string{`inode|files`}, begin: inodes},
	{kind: "writer", least: 0.05, what: []string{saysWrites}, begin: writer},
	{kind: "reader", least: 0.05, what: []string{saysReads}, begin: reader},
	{kind: "many readers", least: 0.1, what: []string{saysReads}, begin: manyReaders},
	{kind: "syncs", least: 0.1, what: []string{saysWrites, "flush", "sync"}, begin: syncs},
	{kind: "slow disk", least: 0.3, what: []string{"slow|took|request|busy|wait"}, begin: slowDisk},
	{kind: "hung disk", least: 1, what: []string{"hung|hang|none finished|stuck|not answer"}, begin: hungDisk},
	{kind: "stuck", least: 1, lasts: 60, what: []string{"stuck|hung|waiting|uninterrupt"}, begin: stuckNFS},
}

// volumeFilled fills the rest of a volume.
func volumeFilled(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	v := c.M.Volumes[1+c.rnd.IntN(2)]
	c.Truth.Who = append(c.Truth.Who, v.Mount)
	p.Volume = v
	if v.Mount == "/srv" {
		p.Disk = c.M.Disks[1]
	}
	v.Used = max(v.Used, v.Capacity-float64(c.Length)*80e3)
	each := (v.Capacity - v.Used) * 1024 / float64(c.Length) * 1.4
	return c.while(p, func(p *sim.Proc, _ int) { p.Write, p.Sys, p.User = each, 0.1, 0.05 })
}

// volumeFull is a volume that is full from the beginning.
func volumeFull(c *Case) func(*sim.Machine, int) {
	v := c.M.Volumes[1+c.rnd.IntN(2)]
	v.Used = v.Capacity
	c.Truth.Who = []string{v.Mount}
	c.Onset, c.Length = 0, c.Onset+c.Length
	return func(*sim.Machine, int) {}
}

func inodes(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	v := c.M.Volumes[1+c.rnd.IntN(2)]
	c.Truth.Who = []string{v.Mount, p.Name}
	each := (v.MaxFiles - v.Files) * min(c.Strength*1.4, 1.2) / float64(c.Length)
	return c.while(p, func(p *sim.Proc, _ int) {
		v.Files = min(v.Files+each, v.MaxFiles)
		p.Sys, p.User, p.Write, p.Volume = 0.3, 0.1, 2e6, v
	})
}

func writer(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	return c.while(p, func(p *sim.Proc, _ int) { p.Write, p.Sys = c.Strength*p.Disk.Bandwidth, 0.1 })
}

func reader(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	return c.while(p, func(p *sim.Proc, _ int) { p.Read, p.Sys = c.Strength*p.Disk.Bandwidth, 0.1 })
}

// manyReaders is a program with many processes that read at once.
func manyReaders(c *Case) func(*sim.Machine, int) {
	name := c.name()
	c.Truth.Who = []string{name}
	for range 20 {
		p := steady(c.M.Start(nil, name, "app"), sim.Want{User: 0.001, Memory: 9e3}, 0.3)
		c.while(p, func(p *sim.Proc, _ int) {
			p.Requests, p.Read = c.Strength*p.Disk.IOPS/20, c.Strength*p.Disk.IOPS/20*4096
		})
	}
	return func(*sim.Machine, int) {}
}

// syncs is a small process that waits for the disk hundreds of times a second.
func syncs(c *Case) func(*sim.Machine, int) {
	p := c.culprit()
	return c.while(p, func(p *sim.Proc, _ int) { p.Syncs, p.Write, p.Sys = c.Strength*p.Disk.IOPS/2, c.Strength*400e3, 0.04 })
}

// slowDisk is a disk that has become slow, for all of its users.
func slowDisk(c *Case) func(*sim.Machine, int) {
	d := c.M.Disks[1]
	p := c.culprit()
	p.Disk = d
	c.Truth.Near, c.Truth.Who = append(c.Truth.Near, p.Name, "postgres"), []string{d.Name}
	steady(p, sim.Want{User: 0.02, Sys: 0.01, Requests: 40, Read: 2e6, Write: 3e5, Syncs: 3, Memory: 90e3, Shared: 9e3}, 0.3)
	return func(_ *sim.Machine, t int) {
		d.Slow = 1
		if c.Active(t) {
			d.Slow = 60 * c.Strength
		}
	}
}

func hungDisk(c *Case) func(*sim.Machine, int) {
	d := c.M.Disks[1]
	p := c.culprit()
	p.Disk = d
	c.Truth.Near, c.Truth.Who = append(c.Truth.Near, p.Name, "postgres"), []string{d.Name}
	steady(p, sim.Want{User: 0.02, Sys: 0.01, Requests: 20, Read: 1e6, Write: 3e5, Memory: 90e3, Shared: 9e3}, 0.3)
	return func(_ *sim.Machine, t int) {
		d.Hung = c.Active(t)
		p.State = 0
		if c.Active(t) {
			p.State = 'D'
		}
	}
}

// stuckNFS is processes that wait in the kernel for a server that is gone.
func stuckNFS(c *Case) func(*sim.Machine, int) {
	name := c.name()
	c.Truth.Who = []string{name}
	var all []*sim.Proc
	for range 2 + c.rnd.IntN(10) {
		all = append(all, steady(c.M.Start(nil, name, "app"), sim.Want{User: 0.02, Switches: 40, Memory: 30e3}, 0.3))
	}
	return func(_ *sim.Machine, t int) {
		for i, p := range all {
			p.State = 0
			if c.Active(t) && t-c.Onset > i {
				p.State = 'D'
			}
		}
	}
}
