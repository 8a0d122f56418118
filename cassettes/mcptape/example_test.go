// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"bufio"
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
)

func Example() {
	rec, err := mcptape.Parse("weather.tape", []byte(`{"rehearse_tape":1,"server":"weather"}
{"dir":"in","at_ms":0,"frame":{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_weather","arguments":{"city":"Paris"}}}}
{"dir":"out","at_ms":80,"frame":{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"sunny"}]}}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	tape, err := mcptape.New("weather.tape", rec, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, err := tape.Dial(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	answers := bufio.NewScanner(conn)
	for _, city := range []string{"Paris", "Rome"} {
		fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":"call-%s","method":"tools/call","params":{"name":"get_weather","arguments":{"city":%q}}}`+"\n", city, city)
		answers.Scan()
		fmt.Println(answers.Text())
	}
	conn.Close()
	if err := tape.Close(); err != nil {
		fmt.Println("a miss fails the replay")
	}
	// Output:
	// {"jsonrpc":"2.0","id":"call-Paris","result":{"content":[{"type":"text","text":"sunny"}]}}
	// {"jsonrpc":"2.0","id":"call-Rome","error":{"code":-32000,"message":"rehearse_miss: tools/call get_weather: nearest on the tape is tools/call get_weather of line 2, which was already used: params.arguments.city: recorded \"Paris\", now \"Rome\""}}
	// a miss fails the replay
}
