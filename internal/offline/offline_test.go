// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHosts(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := serve(conn)
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	for _, name := range []string{"api.example.com.", "API.example.com.", "other.example.org."} {
		var none *net.DNSError
		if _, err := r.LookupHost(t.Context(), name); !errors.As(err, &none) || !none.IsNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"api.example.com (2 times)", "other.example.org"}, h.Asked()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzAnswer(f *testing.F) {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: 7, RecursionDesired: true})
	err := errors.Join(b.StartQuestions(), b.Question(dnsmessage.Question{
		Name: dnsmessage.MustNewName("api.example.com."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET,
	}))
	if err != nil {
		f.Fatal(err)
	}
	query, err := b.Finish()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(query)
	f.Add(query[:len(query)-3])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, query []byte) {
		h := &Hosts{asked: map[string]int{}}
		answer := h.answer(query)
		if answer == nil {
			return
		}
		var p dnsmessage.Parser
		head, err := p.Start(answer)
		if err != nil || !head.Response || head.RCode != dnsmessage.RCodeNameError || answer[0] != query[0] || answer[1] != query[1] {
			t.Errorf("the answer is %+v, %v", head, err)
		}
	})
}
