package service

import (
	"fmt"
	"time"

	"tachograph/cmd/recorder/trigger"
	"tachograph/config"
)

// Reload is the result of the last request to read the configuration again.
type Reload struct {
	// At is when the reading began: it includes what was written to the file before that.
	At time.Time `json:"at"`
	// Error is why the configuration was refused; empty if it is in force.
	Error string `json:"error,omitempty"`
}

// Reload reads the configuration again and applies it. If the new one is bad, the old one stays
// in force, and the status says so until a good one is read.
func (s *Service) Reload() error {
	done := Reload{At: s.opt.Machine.Now().Time()}
	err := s.reload()
	if err != nil {
		done.Error = err.Error()
	}
	s.mu.Lock()
	s.reloaded = done
	s.mu.Unlock()
	// The command that asked for it waits for the status file.
	if err := s.writeStatus(false); err != nil {
		s.log.Debug("the status file cannot be written", "error", err)
	}
	return err
}

func (s *Service) reload() error {
	cfg, err := s.opt.Load()
	var set *trigger.Set
	if err == nil {
		set, err = s.check(cfg)
	}
	if err != nil {
		return fmt.Errorf("the old configuration stays in force: %w", err)
	}
	s.mu.Lock()
	old := s.cfg
	s.cfg = cfg
	onBattery := s.onBattery
	s.mu.Unlock()
	s.setLevel(cfg)
	s.watcher.Apply(set)
	if old.Archive.Dir != cfg.Archive.Dir || old.Archive.Group != cfg.Archive.Group || old.Log.Format != cfg.Log.Format || old.Budget.Nice != cfg.Budget.Nice {
		s.log.Warn("archive.dir, archive.group, log.format and budget.nice take effect when the recorder is started again")
	}
	if s.opt.Reconfigure != nil {
		if err := s.opt.Reconfigure(PlatformOptions(cfg)); err != nil {
			return err
		}
	}
	why := cfg.File
	if why == "" {
		why = "the defaults"
	}
	if err := s.archive.Reconfigure(settings(cfg, onBattery)); err != nil {
		return err
	}
	if err := s.engine.Apply(plan(cfg)); err != nil {
		return err
	}
	s.rotator.wake()
	s.log.Info("the configuration was read again", "file", why)
	if e, ok := configChanged(config.Changes(old, cfg)); ok {
		s.log.Info(e.Text)
		s.engine.Event(e)
	}
	return nil
}
