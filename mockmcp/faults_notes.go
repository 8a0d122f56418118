// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// notifies reports whether a fault sends messages around a good reply.
func notifies(k fault.Kind) bool {
	switch k {
	case fault.ListChanged, fault.ListStorm, fault.NotificationBurst, fault.LateProgress, fault.UnknownProgress, fault.UnknownNotification, fault.CancelRace:
		return true
	}
	return false
}

// planNotes are notifications before or behind the reply.
func planNotes(f *fault.Fault, form string, s *situation, frame []byte) []op {
	reply := op{do: opReply, data: frame}
	changed := op{do: opTell, text: mcpwire.NoticeTools}
	switch f.Kind {
	case fault.ListChanged:
		switch form {
		case "after":
			return []op{reply, changed}
		case "during":
			return []op{reply} // it was told before
		}
		return []op{changed, reply}
	case fault.ListStorm:
		return []op{reply, changed}
	case fault.NotificationBurst:
		var ops []op
		for i := range cmp.Or(f.Count, 100) {
			switch {
			case form == "list_changed":
				ops = append(ops, changed)
			case form == "progress" && s.token != nil:
				ops = append(ops, op{do: opSend, data: progress(s.token, i+1, cmp.Or(f.Count, 100))})
			case form == "log":
				ops = append(ops, op{do: opSend, data: logMessage(i + 1)})
			}
		}
		return append(ops, reply)
	case fault.LateProgress:
		token := s.token
		if token == nil {
			token = mcpwire.Marshal("late")
		}
		var late []op
		for i := range cmp.Or(f.Count, 1) {
			late = append(late, op{do: opSend, data: progress(token, i+1, cmp.Or(f.Count, 1))})
		}
		return s.behind(frame, late...)
	case fault.UnknownProgress:
		token := json.RawMessage(mcpwire.Marshal("tool-call-" + mcpwire.Key(s.request.ID)))
		if form == "missing" {
			token = nil
		}
		return before(f, progress(token, 1, 2), reply)
	case fault.UnknownNotification:
		method := cmp.Or(f.Body, "notifications/rehearse/unknown")
		return before(f, mcpwire.Message{Method: method, Params: json.RawMessage(`{"value":1}`)}.Encode(), reply)
	}
	if form == "before" {
		return []op{{do: opSend, data: cancelled(s.request.ID)}, reply}
	}
	late := cancelled(json.RawMessage(otherID))
	if s.lines() { // in one write
		return []op{{do: opRaw, data: bytes.Join([][]byte{frame, late, nil}, []byte("\n"))}}
	}
	return s.behind(frame, op{do: opSend, data: late})
}

// before sends a message Count times, and then the reply.
func before(f *fault.Fault, message []byte, reply op) []op {
	var ops []op
	for range cmp.Or(f.Count, 1) {
		ops = append(ops, op{do: opSend, data: message})
	}
	return append(ops, reply)
}

// progress is a notification of progress.
func progress(token json.RawMessage, done, total int) []byte {
	return mcpwire.Message{Method: "notifications/progress", Params: mcpwire.Marshal(struct {
		Token    json.RawMessage `json:"progressToken,omitempty"`
		Progress int             `json:"progress"`
		Total    int             `json:"total"`
	}{token, done, total})}.Encode()
}

func logMessage(n int) []byte {
	params := fmt.Appendf(nil, `{"level":"info","logger":"rehearse","data":"message %d"}`, n)
	return mcpwire.Message{Method: "notifications/message", Params: params}.Encode()
}

func cancelled(id json.RawMessage) []byte {
	params := fmt.Appendf(nil, `{"requestId":%s,"reason":"withdrawn"}`, id)
	return mcpwire.Message{Method: "notifications/cancelled", Params: params}.Encode()
}
