// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package timeline_test

import (
	"fmt"
	"os"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/timeline"
)

func Example() {
	rec, err := mcptape.Parse("weather.tape", []byte(`{"rehearse_tape":1,"server":"weather","recorded":"2026-11-28T07:00:00Z"}
{"dir":"in","at_ms":900,"frame":{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_weather","arguments":{"city":"Paris"}}}}
{"dir":"out","at_ms":980,"frame":{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"sunny"}]}}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	events := timeline.Of(timeline.Tape("weather", "weather.tape", rec))
	if err := timeline.Write(os.Stdout, events); err != nil {
		fmt.Println(err)
	}
	// Output:
	//      0.000 s  weather -> tools/call get_weather {"city":"Paris"}
	//      0.080 s  weather <- tools/call get_weather: sunny
}
