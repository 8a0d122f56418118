// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire_test

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

func TestPipeCarriesBothWaysAtOnce(t *testing.T) {
	a, b := mcpwire.Pipe()
	sent := bytes.Repeat([]byte("0123456789"), 50_000) // far more than is buffered
	var wg sync.WaitGroup
	for _, end := range []io.ReadWriteCloser{a, b} {
		wg.Go(func() {
			if _, err := end.Write(sent); err != nil {
				t.Errorf("Write: %v", err)
			}
		})
		wg.Go(func() {
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(end, got); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("read something else than was sent (%v)", err)
			}
		})
	}
	wg.Wait()
}

func TestPipeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := mcpwire.Pipe()
		if _, err := a.Write([]byte("last")); err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := a.Read(make([]byte, 1))
			waiting <- err
		}()
		synctest.Wait()
		a.Close()
		if err := <-waiting; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a read under way at our own Close ended with %v", err)
		}
		if got, err := io.ReadAll(b); string(got) != "last" || err != nil {
			t.Errorf("the other end read %q, %v", got, err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the other end's write ended with %v", err)
		}
	})
}

func TestPipeCloseEndsWaitingWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := mcpwire.Pipe()
		waiting := make(chan error, 1)
		go func() {
			_, err := a.Write(make([]byte, 1<<20))
			waiting <- err
		}()
		synctest.Wait()
		b.Close()
		if err := <-waiting; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the write ended with %v", err)
		}
	})
}

func TestWriterDoesNotInterleave(t *testing.T) {
	var out bytes.Buffer
	w := mcpwire.NewWriter(&out)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { _ = w.Write([]byte(`{"method":"n"}`)) })
	}
	wg.Wait()
	if want := bytes.Repeat([]byte("{\"method\":\"n\"}\n"), 50); !bytes.Equal(out.Bytes(), want) {
		t.Errorf("wrote %q", out.Bytes())
	}
}

// TestPipeRoom: what there is room for is written without a reader.
func TestPipeRoom(t *testing.T) {
	a, b := mcpwire.Pipe()
	room := a.Room
	const size = 64 << 10
	if !room(size) || room(size+1) {
		t.Errorf("an empty pipe has room for %d bytes: %t, for one more: %t", size, room(size), room(size+1))
	}
	if _, err := a.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if room(size-999) || !room(size-1000) {
		t.Error("what was written takes no room")
	}
	if _, err := io.ReadFull(b, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if !room(size) {
		t.Error("what was read takes room")
	}
}
