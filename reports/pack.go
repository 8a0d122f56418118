// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"html/template"
	"runtime"
	"sync"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// A page with the transcripts of ten thousand trials would take a browser
// minutes to open. So the details of a trial are compressed, some trials
// together, and the script of the page expands them when one is opened. The
// first trials, those that failed before all others, stand in the page as they
// are: they are read where no script runs.

const (
	// plainTrials is how many trials stand uncompressed.
	plainTrials = 10
	// chunkTrials is how many trials are compressed together, and expanded.
	chunkTrials = 16
)

// chunkView is the details of some trials, as gzip in base64.
type chunkView struct {
	ID   string
	Data string
}

// seen is what a page keeps of the details of a trial, once they are rendered.
type seen struct {
	course string // equal for trials that made the same calls
	tools  []toolPair
	wrong  []wrongArg
	doubt  string // why there is no transcript, where there was to be one
}

// toolPair is a tool that was expected, and the one that was called; either is
// empty where there is none.
type toolPair struct{ expected, called string }

// wrongArg is an argument that was not as expected.
type wrongArg struct{ tool, path, rule string }

// job is one trial to be rendered.
type job struct {
	place
	view  *trialView
	plain bool
}

// batch is a number of trials that are rendered by one goroutine and, unless
// they stay as they are, compressed together.
type batch struct {
	jobs   []job
	plain  bool
	bodies []template.HTML
	seen   []seen
	packed []byte
}

// renderTrials renders the details of every trial: failing trials first, so
// that what the budget leaves out are the others.
func (b *pageBuilder) renderTrials(p *pageView, budget int) {
	batches := batchesOf(b.rows(p))
	spent := 0
	for done := range inOrder(batches, b.render) {
		for i, j := range done.jobs {
			b.seen[j.id] = done.seen[i]
			if doubt := done.seen[i].doubt; doubt != "" {
				p.Warnings = append(p.Warnings, b.text(doubt))
			}
		}
		if done.plain {
			for i, j := range done.jobs {
				j.view.Body = done.bodies[i]
				spent += len(done.bodies[i])
			}
			continue
		}
		if budget > 0 && spent+len(done.packed) > budget {
			p.Left += len(done.jobs)
			for _, j := range done.jobs {
				j.view.LeftOut = true
			}
			continue
		}
		spent += len(done.packed)
		c := chunkView{ID: fmt.Sprintf("chunk-%d", len(p.Chunks)+1), Data: string(done.packed)}
		for _, j := range done.jobs {
			j.view.Chunk = c.ID
		}
		p.Chunks = append(p.Chunks, c)
	}
}

// rows are the trials as lines of the page, failing ones first.
func (b *pageBuilder) rows(p *pageView) []job {
	var jobs, later []job
	opened := map[string]bool{}
	for t := range b.tab.trials() {
		v := b.trialRow(t)
		// Of trials of a scenario that fail alike one is open.
		like := scenarioID(t.row) + v.Short
		j := job{place: t, view: v}
		v.Open = !v.OK && len(jobs) < plainTrials && !opened[like]
		opened[like] = true
		b.views[t.id] = v
		if v.OK {
			later = append(later, j)
		} else {
			jobs = append(jobs, j)
		}
	}
	jobs = append(jobs, later...)
	for i := range min(plainTrials, len(jobs)) {
		jobs[i].plain = true
	}
	return jobs
}

func batchesOf(jobs []job) []*batch {
	var out []*batch
	for i, j := range jobs {
		if i == 0 || j.plain != jobs[i-1].plain || len(out[len(out)-1].jobs) == chunkTrials {
			out = append(out, &batch{plain: j.plain})
		}
		last := out[len(out)-1]
		last.jobs = append(last.jobs, j)
	}
	return out
}

// inOrder does work on batches by several goroutines and gives them out in their
// order. No more than a few are under way, so that memory does not grow with
// their number.
func inOrder(list []*batch, work func(*batch)) func(yield func(*batch) bool) {
	return func(yield func(*batch) bool) {
		n := runtime.GOMAXPROCS(0)
		type ticket struct {
			*batch
			done chan struct{}
		}
		queue, order := make(chan ticket), make(chan ticket, 2*n)
		stop := make(chan struct{})
		var wait sync.WaitGroup
		for range n {
			wait.Go(func() {
				for t := range queue {
					work(t.batch)
					close(t.done)
				}
			})
		}
		wait.Go(func() {
			defer close(queue)
			defer close(order)
			for _, x := range list {
				t := ticket{x, make(chan struct{})}
				select {
				case order <- t:
				case <-stop:
					return
				}
				queue <- t
			}
		})
		for t := range order {
			<-t.done
			if !yield(t.batch) {
				close(stop)
				for range order { // what is under way ends
				}
				break
			}
			t.bodies, t.packed = nil, nil
		}
		wait.Wait()
	}
}

// render renders the details of a batch and packs them.
func (b *pageBuilder) render(x *batch) {
	p := b.packers.Get().(*packer) //nolint:forcetypeassert // newPacker makes nothing else
	defer b.packers.Put(p)
	for _, j := range x.jobs {
		t, err := j.whole()
		var s seen
		if err != nil {
			s.doubt = err.Error()
		}
		body := b.body(t, j)
		if err != nil && body.Script == nil {
			body.LeftOut = oneLine(err.Error(), 400)
		}
		s.note(t)
		x.seen = append(x.seen, s)
		if x.plain {
			x.bodies = append(x.bodies, made(func(m *markup) { m.body(body) }))
			continue
		}
		p.put(`<div class="body" data-trial="{}">`, j.id)
		p.body(body)
		p.put("</div>\n")
	}
	if !x.plain {
		x.packed = p.pack()
	}
}

// packer compresses the details of trials that are written into it. It is used
// again: what it needs is more than a megabyte.
type packer struct {
	markup
	z *gzip.Writer
}

func newPacker() any {
	z, _ := gzip.NewWriterLevel(nil, 5) // cannot err: the level is one
	return &packer{z: z}
}

// pack is what was written, as gzip in base64: the same bytes give the same
// bytes. It leaves the packer empty.
func (p *packer) pack() []byte {
	var b bytes.Buffer
	enc := base64.NewEncoder(base64.StdEncoding, &b)
	p.z.Reset(enc)
	// Cannot err: b takes everything.
	_, _ = p.WriteTo(p.z)
	_ = p.z.Close()
	_ = enc.Close()
	return b.Bytes()
}

// note keeps what the views over all trials need of one.
func (s *seen) note(t *Trial) {
	h := fnv.New64a()
	for _, c := range t.Trajectory {
		fmt.Fprintf(h, "%s %s\n", c.Name(), callArgs(c))
	}
	s.course = fmt.Sprintf("%x", h.Sum64())
	for _, v := range t.Verdicts {
		if v.Alignment != nil && v.Check == "calls" {
			s.align(v.Alignment.Rows)
		}
	}
}

// align notes expected tools beside those that were called. A call that is
// missing and one that is extra are taken as one for the other, in their order.
func (s *seen) align(rows []trials.AlignmentRow) {
	var missing, extra []string
	for _, r := range rows {
		want, got := toolOf(r.Expected), toolOf(r.Actual)
		switch r.Status {
		case trials.AlignMissing:
			missing = append(missing, want)
		case trials.AlignExtra:
			extra = append(extra, got)
		case trials.AlignForbidden:
			s.tools = append(s.tools, toolPair{"", got})
		default:
			s.tools = append(s.tools, toolPair{want, got})
		}
		for _, m := range r.Mismatches {
			s.wrong = append(s.wrong, wrongArg{got, m.Path, m.Rule})
		}
	}
	for i := range max(len(missing), len(extra)) {
		var p toolPair
		if i < len(missing) {
			p.expected = missing[i]
		}
		if i < len(extra) {
			p.called = extra[i]
		}
		s.tools = append(s.tools, p)
	}
}
