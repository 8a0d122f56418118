// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// interleaved orders the trials of several subjects, models or variants at a real endpoint
// by chance: what changes there while the run goes on meets all of them alike.
// Trials that differ in subject, model and variant alone, which are compared with each
// other, stand together, in an order of their own; such blocks follow in any
// order, so that a run that is cut short has played a sample of all. The place of
// a trial follows from its key and the seed of the run, so that a part of the
// trials, of a shard or of a run that is resumed, keeps the order of the whole.
func interleaved(jobs []job, seed int64) []job {
	type place struct{ block, trial string }
	places := make(map[trials.Key]place, len(jobs))
	columns := map[trials.Column]bool{}
	for _, j := range jobs {
		block := j.key
		block.Subject, block.Model, block.Variant = "", "", ""
		places[j.key] = place{drawn(seed, block), drawn(seed, j.key)}
		columns[j.key.Column()] = true
	}
	if len(columns) < 2 {
		return jobs
	}
	out := slices.Clone(jobs)
	slices.SortFunc(out, func(a, b job) int {
		p, q := places[a.key], places[b.key]
		return cmp.Or(cmp.Compare(p.block, q.block), cmp.Compare(p.trial, q.trial))
	})
	return out
}

// drawn is a number drawn for a key, as bytes.
func drawn(seed int64, k trials.Key) string {
	text, _ := json.Marshal(struct { // texts and numbers can be encoded
		Seed int64
		Key  trials.Key
	}{seed, k})
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// queue hands out the trials of a run.
type queue struct {
	*throttles
	parallel int
	ledger   *ledger
	// Guarded by the mutex of throttles.
	jobs    []job
	running int
}

// next waits until another trial may begin and returns it. There is none when
// all were begun, when ctx has ended, or when the budget is used up.
func (q *queue) next(ctx context.Context) (job, bool) {
	for {
		q.mu.Lock()
		if len(q.jobs) == 0 || ctx.Err() != nil || q.ledger.usedUp() {
			q.mu.Unlock()
			return job{}, false
		}
		if q.running < q.parallel {
			i := slices.IndexFunc(q.jobs, func(j job) bool { return j.entry.throttle.begin() })
			if i >= 0 {
				j := q.jobs[i]
				q.jobs = slices.Delete(q.jobs, i, i+1)
				q.running++
				q.mu.Unlock()
				return j, true
			}
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// ended takes note of the end of a trial.
func (q *queue) ended(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	j.entry.throttle.end()
	q.wake()
}

// play runs the jobs, some at a time, and hands each finished one to done,
// one at a time. The first error of done stops it.
func (r *runner) play(ctx context.Context, jobs []job, done func(trials.Record, trials.Detail) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex // guards calls of done, and first
		first error
	)
	q := &queue{throttles: r.opts.throttles, parallel: max(r.opts.Parallel, 1), ledger: r.ledger, jobs: slices.Clone(jobs)}
	for {
		j, ok := q.next(ctx)
		if !ok {
			break
		}
		wg.Go(func() {
			defer q.ended(j)
			rec, detail, complete := r.trial(ctx, j)
			mu.Lock()
			defer mu.Unlock()
			if !complete || first != nil {
				return // cut short, it says nothing about the subject
			}
			if first = done(rec, detail); first != nil {
				stop()
			}
		})
	}
	wg.Wait()
	return first
}
