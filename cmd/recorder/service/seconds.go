package service

import (
	"encoding/json"
	"time"
)

// Seconds is a duration that files and JSON hold in seconds.
type Seconds time.Duration

// MarshalJSON writes s as a number.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*s = Seconds(v * float64(time.Second))
	return nil
}
