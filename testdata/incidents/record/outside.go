package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// freePorts returns two free addresses of this machine.
func freePorts() (a, b string, err error) {
	var conns [2]net.PacketConn
	for i := range conns {
		if conns[i], err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			return "", "", err
		}
		defer conns[i].Close()
	}
	return conns[0].LocalAddr().String(), conns[1].LocalAddr().String(), nil
}

// hang makes a disk accept requests and complete none; on=false ends that.
func (o *outside) hang(disk int, on bool) error {
	limit := map[string]any{"device": fmt.Sprintf("disk%d", disk), "bps": 0, "bps_rd": 0, "bps_wr": 0, "iops": 4000, "iops_rd": 0, "iops_wr": 0}
	if on {
		limit["iops"], limit["bps"] = 0, 1
	}
	return o.command("block_set_io_throttle", limit)
}

// command sends a command to the emulator, over its QMP.
func (o *outside) command(name string, arguments map[string]any) error {
	conn, err := net.Dial("unix", filepath.Join(o.dir, "qmp"))
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	lines, send := bufio.NewScanner(conn), json.NewEncoder(conn)
	lines.Scan() // its greeting
	for _, c := range []map[string]any{{"execute": "qmp_capabilities"}, {"execute": name, "arguments": arguments}} {
		if err := send.Encode(c); err != nil {
			return err
		}
		for lines.Scan() {
			var answer struct {
				Return json.RawMessage
				Error  *struct{ Desc string }
			}
			if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
				return err
			}
			if answer.Error != nil {
				return fmt.Errorf("the emulator, asked for %s: %s", name, answer.Error.Desc)
			}
			if answer.Return != nil {
				break
			}
		}
	}
	return lines.Err()
}

// pour sends frames to the machine's network, at the given rate a second, until stopped.
func (o *outside) pour(rate, size int) error {
	conn, err := net.Dial("udp", o.there)
	if err != nil {
		return err
	}
	o.flood = make(chan struct{})
	go func() {
		defer conn.Close()
		frame := datagram(size)
		const beat = 5 * time.Millisecond
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-o.flood:
				return
			case <-tick.C:
				for range rate * int(beat) / int(time.Second) {
					conn.Write(frame)
				}
			}
		}
	}()
	return nil
}

func (o *outside) stop() error {
	close(o.flood)
	return nil
}

// datagram returns an Ethernet frame with a UDP packet for 10.20.30.40.
func datagram(size int) []byte {
	f := make([]byte, 14+20+8+size)
	copy(f, []byte{0x52, 0x54, 0, 0x0a, 0x14, 0x1e, 0x52, 0x54, 0, 1, 2, 3, 8, 0})
	ip := f[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(ip[2:], uint16(28+size))
	copy(ip[12:], []byte{10, 20, 30, 1, 10, 20, 30, 40})
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	udp := ip[20:]
	binary.BigEndian.PutUint16(udp, 40000)
	binary.BigEndian.PutUint16(udp[2:], 8125)
	binary.BigEndian.PutUint16(udp[4:], uint16(8+size))
	return f
}
