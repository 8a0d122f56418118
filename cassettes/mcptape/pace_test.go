// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
)

func TestPace(t *testing.T) {
	for _, test := range []struct {
		speed float64
		want  []time.Duration
	}{
		{0, []time.Duration{0, 0, 0}},
		{1, []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 450 * time.Millisecond}},
		{2, []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 225 * time.Millisecond}},
	} {
		t.Run(fmt.Sprint(test.speed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tape := play(t, `
	1000 > {"id":1,"method":"slow"}
	1100 < {"method":"notifications/message","params":{}}
	1400 < {"id":1,"result":{}}
	1450 < {"method":"notifications/message","params":{}}
	`, &mcptape.Options{Speed: test.speed})
				c := dial(t, tape)
				start := time.Now()
				c.say(`{"jsonrpc":"2.0","id":8,"method":"slow"}`)
				var got []time.Duration
				for range 3 {
					c.next()
					got = append(got, time.Since(start))
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if err := tape.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCancelled cancels a call while it takes its time: it is never answered.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tape := play(t, `
	0 > {"id":1,"method":"slow"}
	60000 < {"id":1,"result":{}}
	`, &mcptape.Options{Speed: 1})
		c := dial(t, tape)
		c.say(`{"jsonrpc":"2.0","id":8,"method":"slow"}`)
		c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
		c.say(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
		if got := c.next(); !strings.Contains(got, `"id":9`) {
			t.Errorf("got %s", got)
		}
		time.Sleep(2 * time.Minute)
		if err := tape.Close(); err != nil {
			t.Error(err)
		}
		if got := c.next(); got != "EOF" {
			t.Errorf("got %s", got)
		}
	})
}

// A server that was slow to start answered server/discover when the client had
// gone on with initialize. At once, that answer would make it another
// conversation; a client that waits longer gets it in the end.
func TestLateDiscovery(t *testing.T) {
	for _, speed := range []float64{0, 1} {
		for _, patient := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				tape := play(t, `
	0 > {"id":1,"method":"server/discover"}
	1000 > {"id":2,"method":"initialize","params":{}}
	1400 < {"id":1,"result":{"late":true}}
	1400 < {"id":2,"result":{"protocolVersion":"2025-11-25"}}
	`, &mcptape.Options{Speed: speed})
				c := dial(t, tape)
				start := time.Now()
				c.say(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)
				if patient {
					if got := c.next(); !strings.Contains(got, `"late"`) || time.Since(start) < 10*time.Second {
						t.Errorf("speed %v: got %s after %v", speed, got, time.Since(start))
					}
				} else {
					time.Sleep(3 * time.Second)
				}
				initialized := time.Now()
				c.say(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}`)
				got := c.next()
				if !patient {
					got += c.next()
				}
				if !strings.Contains(got, "2025-11-25") || strings.Contains(got, `"late"`) == patient || time.Since(initialized) > time.Second {
					t.Errorf("speed %v: got %s after %v", speed, got, time.Since(initialized))
				}
				if err := tape.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
