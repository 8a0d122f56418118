// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/retry"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// judgesOf are the LLM judges among the expectations of a scenario.
func judgesOf(s *scenarios.Scenario) []score.Judge {
	var out []score.Judge
	add := func(list []score.Scorer) {
		for _, scorer := range list {
			if judge, ok := scorer.(score.Judge); ok {
				out = append(out, judge)
			}
		}
	}
	for _, turn := range s.Turns {
		add(turn.Expect)
	}
	add(s.Expect)
	return out
}

// findJudges makes sure that every judge has a model to ask, before anything is
// played.
func (r *runner) findJudges(list []*scenarios.Scenario) error {
	if !r.opts.Mode.Real() {
		return nil
	}
	for _, s := range list {
		for _, judge := range judgesOf(s) {
			e, err := r.judgeEntry(s, judge.Model)
			if err != nil {
				return fmt.Errorf("%s: %w", judge.Pos, err)
			}
			if !slices.ContainsFunc(r.judges, func(have *entry) bool { return have.Label == e.Label && have.hash == e.hash }) {
				r.judges = append(r.judges, e)
			}
		}
	}
	return nil
}

// judgeEntry is the model entry that a judge of a scenario asks: that of the
// options, of the expectation or its settings, or of the project.
func (r *runner) judgeEntry(s *scenarios.Scenario, label string) (*entry, error) {
	if r.opts.Judge != nil {
		return r.judgeOf(*r.opts.Judge)
	}
	p := r.project(s)
	if label = cmp.Or(label, p.Judge); label == "" {
		return nil, errors.New("the judge needs a model: name it with --judge, with `model` of the judge, or with `judge: {model: LABEL}` in suite.yaml or rehearse.yaml")
	}
	known := slices.Clone(p.Models)
	for _, e := range r.entries {
		known = append(known, e.Model)
	}
	var labels []string
	for _, m := range known {
		if m.Label == label {
			return r.judgeOf(m)
		}
		labels = append(labels, m.Label)
	}
	return nil, fmt.Errorf("the judge asks model %q, and neither rehearse.yaml nor --model has an entry of that label%s", label, prose.DidYouMean(label, labels))
}

func (r *runner) judgeOf(m trials.Model) (*entry, error) {
	m.Label = cmp.Or(m.Label, m.Name)
	if m.Dialect != "" && m.Dialect != "chat" {
		return nil, fmt.Errorf("the judge asks model %q by the dialect %s, and judges speak chat alone", m.Label, m.Dialect)
	}
	m.Dialect = "" // that of the subject is another matter
	return r.opts.entry(m)
}

// judgeHash is of the entries that the judges of a scenario ask; empty where
// there are none.
func (r *runner) judgeHash(s *scenarios.Scenario) string {
	var hashes []string
	for _, judge := range judgesOf(s) {
		if e, err := r.judgeEntry(s, judge.Model); err == nil && r.opts.Mode.Real() {
			hashes = append(hashes, e.hash)
		}
	}
	if hashes == nil {
		return ""
	}
	slices.Sort(hashes)
	return hashOf(slices.Compact(hashes))
}

// jury asks the judges of one trial, and keeps what was said.
type jury struct {
	*trial
	ctx       context.Context
	exchanges []harness.Exchange
	use       trials.JudgeUse
	unpriced  bool // a judge without a price was asked

	// Of modes record and replay; opened with the first question.
	path     string
	recorder *cassettes.Recorder
}

func (t *trial) newJury(ctx context.Context) *jury {
	j := &jury{trial: t, ctx: ctx}
	if t.cassette != "" {
		j.path = scenarios.JudgePath(t.cassette)
	}
	return j
}

// ask puts a question, once a vote.
func (j *jury) ask(q *score.Question) score.Asked {
	ctx, cancel := context.WithTimeout(j.ctx, j.opts.Timeout)
	defer cancel()
	if j.opts.Mode == harness.ModeMock {
		out, exchanges := askScripted(ctx, j.scenario, q)
		j.keep(exchanges, nil)
		return out
	}
	e, client, err := j.client(q)
	if err != nil {
		return unasked(q, err.Error())
	}
	if j.recorder != nil {
		ctx = cassettes.WithBase(ctx, basePath(e.BaseURL))
	}
	out, exchanges := put(ctx, client, &e.Model, q)
	j.keep(exchanges, e.Price)
	return out
}

// client is what asks the judge of a question.
func (j *jury) client(q *score.Question) (*entry, model.Model, error) {
	if j.opts.Mode == harness.ModeReplay {
		e, err := j.recordedJudge(q)
		if err != nil {
			return nil, nil, err
		}
		if err := j.open(cassettes.Replay, e.Label); err != nil {
			return nil, nil, err
		}
		return e, model.NewOpenAI(model.Config{BaseURL: replayBase, Transport: j.recorder, Retry: retry.Policy{MaxAttempts: 1}}), nil
	}
	e, err := j.judgeEntry(j.scenario, q.Model)
	if err != nil {
		return nil, nil, err
	}
	transport := j.opts.Transport
	if j.opts.Mode == harness.ModeRecord {
		if err := j.open(cassettes.Record, e.Label); err != nil {
			return nil, nil, err
		}
		transport = j.recorder
	}
	return e, model.NewOpenAI(model.Config{BaseURL: e.BaseURL, APIKey: e.keys.openai, Transport: transport}), nil
}

// recordedJudge is the entry whose replies are recorded: its name stands in the
// requests, so that no file and no flag needs to name it again.
func (j *jury) recordedJudge(q *score.Question) (*entry, error) {
	if _, err := os.Stat(j.path); err != nil {
		return nil, fmt.Errorf("its replies are not recorded (%s); record the trial again with %s and --judge", j.path, j.howToRecord(j.scenario, j.key))
	}
	was, err := modelOf(j.path)
	if err != nil {
		return nil, err
	}
	if e, err := j.judgeEntry(j.scenario, q.Model); err == nil {
		return &entry{Model: trials.Model{Label: e.Label, Name: e.Name, Settings: e.Settings}}, nil
	}
	return &entry{Model: trials.Model{Label: was.label, Name: was.name}}, nil
}

func (j *jury) open(mode cassettes.Mode, label string) (err error) {
	if j.recorder != nil {
		return nil
	}
	opts := &cassettes.Options{
		Mode: mode, Upstream: readable{j.opts.Transport}, Secrets: j.secretRules(), AllowUnused: true, Whole: true, Force: true, Asides: true,
		Subject: "judge", Model: label, Label: j.key.Name(), LookupEnv: j.opts.LookupEnv, Logf: j.logf, Start: j.start,
	}
	j.recorder, err = cassettes.Open(j.path, opts)
	return err
}

// close ends the recording: it is kept where the conversation is, and where it
// says anything new.
func (j *jury) close(keep bool) error {
	if j.recorder == nil {
		return nil
	}
	if keep && j.opts.Mode == harness.ModeRecord {
		before, err := vcr.Read(j.path)
		if err != nil || !cassettes.Same(before.Interactions, j.recorder.Recorded()) {
			return j.recorder.Close()
		}
	}
	return j.recorder.Discard()
}

// keep takes note of what was said and of what it took.
func (j *jury) keep(exchanges []harness.Exchange, price *trials.Price) {
	for _, x := range exchanges {
		x.Seq = len(j.exchanges) + 1
		j.exchanges = append(j.exchanges, x)
		j.use.Calls++
		tokens := trials.TokensOf(x.Usage)
		j.use.Tokens = j.use.Tokens.Add(tokens)
		cost := price.Cost(tokens)
		if tokens.Total() == 0 && x.Error == "" {
			cost = nil // it answered, and did not say
		}
		if j.unpriced = j.unpriced || cost == nil; cost != nil {
			sum := *cost
			if j.use.Cost != nil {
				sum += *j.use.Cost
			}
			j.use.Cost = &sum
		}
	}
}

// used is what the judges took; nil where none was asked.
func (j *jury) used() *trials.JudgeUse {
	if j.use.Calls == 0 {
		return nil
	}
	if j.unpriced {
		j.use.Cost = nil
	}
	return &j.use
}

// unasked is a question that nobody could be asked.
func unasked(q *score.Question, why string) score.Asked {
	return score.Asked{Replies: slices.Repeat([]score.JudgeReply{{Error: why}}, len(q.Prompts))}
}

// askScripted asks the judge that a scenario scripts for mode mock.
func askScripted(ctx context.Context, s *scenarios.Scenario, q *score.Question) (score.Asked, []harness.Exchange) {
	script := s.JudgeScript(q.Pos)
	scripted := 0
	for _, r := range script.Replies {
		scripted += max(r.Repeat, 1)
	}
	if scripted == 0 {
		return unasked(q, "nobody scripted a reply of the judge for mode mock: write replies under judge, one a vote"), nil
	}
	mock, err := mockllm.New(script, nil)
	if err != nil {
		return unasked(q, err.Error()), nil
	}
	defer mock.Close()
	ask := *q
	ask.Prompts = q.Prompts[:min(scripted, len(q.Prompts))]
	client := model.NewOpenAI(model.Config{BaseURL: "http://judge/v1", Transport: mock.Transport(), Retry: retry.Policy{MaxAttempts: 1}})
	out, exchanges := put(ctx, client, &trials.Model{Name: MockModel}, &ask)
	for len(out.Replies) < len(q.Prompts) {
		out.Replies = append(out.Replies, score.JudgeReply{Error: fmt.Sprintf("nobody scripted this reply: judge has %s and asks for %s", prose.CountOf(scripted, "reply", "replies"), prose.Count(len(q.Prompts), "vote"))})
	}
	return out, exchanges
}

// put asks a model, at temperature 0 unless its entry says otherwise, and with a
// seed that is another for each vote, but the same in every run.
func put(ctx context.Context, client model.Model, m *trials.Model, q *score.Question) (score.Asked, []harness.Exchange) {
	out := score.Asked{Judge: m.Label}
	var exchanges []harness.Exchange
	zero := 0.0
	for i, prompt := range q.Prompts {
		req := &model.Request{
			Model: m.Name, Temperature: cmp.Or(m.Settings.Temperature, &zero), TopP: m.Settings.TopP,
			MaxTokens: m.Settings.MaxTokens, Reasoning: m.Settings.Reasoning,
			Messages: []harness.Message{{Role: harness.RoleSystem, Text: q.System}, {Role: harness.RoleUser, Text: prompt}},
		}
		if seed := int64(i + 1); !m.Settings.NoSeed {
			if m.Settings.Seed != nil {
				seed += *m.Settings.Seed
			}
			req.Seed = &seed
		}
		x := harness.Exchange{
			Kind: harness.KindLive, Turn: q.Turn, Pos: q.Pos, Attempt: 1, Dialect: "chat", Start: time.Now().UTC(),
			Request: harness.Request{Model: req.Model, Messages: req.Messages, Temperature: req.Temperature, MaxTokens: req.MaxTokens},
		}
		done, err := generate(ctx, client, req)
		x.Duration = time.Since(x.Start)
		x.Answer, x.FinishReason, x.Usage, x.Model = done.Message, done.FinishReason, done.Usage, done.Model
		reply := score.JudgeReply{Text: done.Message.Text}
		if why := noVerdict(&done, err); why != "" {
			reply = score.JudgeReply{Error: why}
			x.Error = why
		}
		if x.Delivered = err == nil; x.Delivered {
			x.Status = http.StatusOK
		}
		if failed := (*model.Error)(nil); errors.As(err, &failed) {
			x.Status = failed.Status
		}
		out.Replies, exchanges = append(out.Replies, reply), append(exchanges, x)
	}
	return out, exchanges
}

// generate asks once and waits for the whole reply.
func generate(ctx context.Context, client model.Model, req *model.Request) (done model.Done, err error) {
	for event, err := range client.Generate(ctx, req) {
		if err != nil {
			return done, err
		}
		if d, ok := event.(model.Done); ok {
			done = d
		}
	}
	return done, nil
}

// noVerdict says why a reply cannot be one; empty when it may be.
func noVerdict(done *model.Done, err error) string {
	switch {
	case err != nil:
		return "no reply: " + err.Error()
	case done.Message.Refusal != "":
		return "the judge refused: " + done.Message.Refusal
	case done.FinishReason == "length":
		return "the reply was cut off at its limit of tokens"
	case done.FinishReason == "content_filter":
		return "the endpoint withheld the reply (content_filter)"
	case strings.TrimSpace(done.Message.Text) == "":
		return "the reply is empty"
	}
	return ""
}

// keptVotes answers questions by what judges said when the trial was played.
func keptVotes(verdicts []trials.Verdict) func(*score.Question) score.Asked {
	return func(q *score.Question) score.Asked {
		for _, v := range verdicts {
			if v.Judgement == nil || v.Judgement.Question != q.Hash {
				continue
			}
			out := score.Asked{Judge: v.Judgement.Judge}
			for _, vote := range v.Judgement.Votes {
				reply := score.JudgeReply{Text: vote.Reply}
				if vote.Reply == "" {
					reply.Error = vote.Error
				}
				out.Replies = append(out.Replies, reply)
			}
			return out
		}
		return unasked(q, "the judge was not asked this when the trial was played, and score asks nobody")
	}
}
