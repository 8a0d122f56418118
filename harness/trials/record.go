// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// Schema is the version of records, manifests and details that this package
// writes. Older ones are read as if they were of this schema.
const Schema = 2

// Key identifies a trial. Two records with one key are the same trial, run
// twice. No part of it depends on the machine.
type Key struct {
	// Suite is what suite.yaml calls itself; without the file, the name of the
	// folder. Empty where schema 1 did not say.
	Suite string `json:"suite,omitempty"`
	// Scenario is the name of the scenario, without its case.
	Scenario string `json:"scenario"`
	// Case is the name of the case; empty for a scenario without cases.
	Case string `json:"case,omitempty"`
	// Subject is the name of the client under test.
	Subject string `json:"subject,omitempty"`
	// Model is the label of the model entry.
	Model string `json:"model,omitempty"`
	// Variant is the name of the suite's variant; empty for a suite without.
	Variant string `json:"variant,omitempty"`
	// Mode says who answered: a script, a recording or a real endpoint.
	Mode harness.Mode `json:"mode"`
	// Attempt counts the trials of all the rest of the key, from 1.
	Attempt int `json:"attempt"`
}

// Name is the scenario with its case: look-up/atp.
func (k Key) Name() string { return nameOf(k.Scenario, k.Case) }

func nameOf(scenario, c string) string {
	if c == "" {
		return scenario
	}
	return scenario + "/" + c
}

func (k Key) String() string {
	with := k.Model
	if k.Variant != "" {
		with += ", variant " + k.Variant
	}
	return fmt.Sprintf("%s (%s, %s, attempt %d)", k.Name(), with, k.Mode, k.Attempt)
}

// Hashes name what a trial rests on: two trials of one key can be joined and
// compared as far as their hashes are equal. An empty hash is not known and
// differs from none.
type Hashes struct {
	// Scenario is of all that is asked: the scenario with its case, its servers
	// and the defaults of its suite, but for what Scorers covers and for
	// descriptions, tags and comments.
	Scenario string `json:"scenario,omitempty"`
	// Scorers is of the expectations and the settings of conduct.
	Scorers string `json:"scorers,omitempty"`
	// Tools is of the tools that the servers listed: names, descriptions and
	// schemas.
	Tools string `json:"tools,omitempty"`
	// Entry is of the model entry, but for its label, key and price.
	Entry string `json:"entry,omitempty"`
	// Judge is of the model entries of the LLM judges.
	Judge string `json:"judge,omitempty"`
	// Variant is of what the variant changes; in [Source] of all variants that were
	// played.
	Variant string `json:"variant,omitempty"`
	// Subject is of how a file or a command line describes the subject.
	Subject string `json:"subject,omitempty"`
}

// Differences names the hashes that are known on both sides and not equal:
// scenario, scorers, tools, entry, judge, variant, subject.
func (h Hashes) Differences(o Hashes) []string {
	var out []string
	for _, pair := range []struct{ name, a, b string }{
		{"scenario", h.Scenario, o.Scenario},
		{"scorers", h.Scorers, o.Scorers},
		{"tools", h.Tools, o.Tools},
		{"entry", h.Entry, o.Entry},
		{"judge", h.Judge, o.Judge},
		{"variant", h.Variant, o.Variant},
		{"subject", h.Subject, o.Subject},
	} {
		if pair.a != "" && pair.b != "" && pair.a != pair.b {
			out = append(out, pair.name)
		}
	}
	return out
}

// Tokens are tokens by the classes that have prices of their own.
type Tokens struct {
	// Input are those of the prompts that were neither read from a cache nor
	// written to one.
	Input int `json:"input"`
	// Cached are those of the prompts that were read from a cache.
	Cached int `json:"cached,omitempty"`
	// CacheWrite are those of the prompts that were written to a cache.
	CacheWrite int `json:"cache_write,omitempty"`
	// Output are those of the answers, with Reasoning among them.
	Output int `json:"output"`
	// Reasoning are those of the answers that were spent on reasoning.
	Reasoning int `json:"reasoning,omitempty"`
}

// TokensOf sorts a usage into classes. What an endpoint counts in the total
// alone is output.
func TokensOf(u harness.Usage) Tokens {
	u = u.Counted()
	t := Tokens{Cached: min(u.CachedTokens, u.PromptTokens)}
	t.CacheWrite = min(u.CacheWriteTokens, u.PromptTokens-t.Cached)
	t.Input = u.PromptTokens - t.Cached - t.CacheWrite
	t.Output = u.TotalTokens - u.PromptTokens
	t.Reasoning = min(u.ReasoningTokens, t.Output)
	return t
}

// Prompt are the tokens of the prompts, wherever they were read from.
func (t Tokens) Prompt() int { return t.Input + t.Cached + t.CacheWrite }

// Total are all tokens.
func (t Tokens) Total() int { return t.Prompt() + t.Output }

// Add returns the sum of two.
func (t Tokens) Add(o Tokens) Tokens {
	return Tokens{
		Input: t.Input + o.Input, Cached: t.Cached + o.Cached, CacheWrite: t.CacheWrite + o.CacheWrite,
		Output: t.Output + o.Output, Reasoning: t.Reasoning + o.Reasoning,
	}
}

// Record is one line of trials.jsonl: one trial and how it was judged.
type Record struct {
	// Schema is the version of the format, 2.
	Schema int `json:"schema"`
	Key
	// File is the scenario's file as it was named to the run.
	File string `json:"file,omitempty"`
	// Tags of the scenario.
	Tags []string `json:"tags,omitempty"`
	// Critical is set where the scenario says that it is.
	Critical bool `json:"critical,omitempty"`
	// Pos is where the scenario stands in its file.
	Pos harness.Position `json:"pos,omitzero"`
	// Hashes of what the trial rests on.
	Hashes Hashes `json:"hashes,omitzero"`
	// Seed of the trial, which a subject may send to its endpoint.
	Seed int64 `json:"seed"`
	// Answered are the models that answered, as they call themselves.
	Answered []string `json:"answered,omitempty"`
	// Outcome of the trial. Only passed and failed are in a pass rate.
	Outcome harness.Outcome `json:"outcome"`
	// Cause is why the trial did not pass; nil where it did.
	Cause *Cause `json:"cause,omitempty"`
	// Verdicts are the expectations in the order of the file, then the
	// conduct checks in the order of the documentation.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Trajectory is the list of tool calls in the model's order.
	Trajectory []harness.Call `json:"trajectory,omitempty"`
	// Struck are the faults that struck, each with what and how often.
	Struck []string `json:"struck,omitempty"`
	// Answers are the subject's answers, one a turn, where it reported any.
	Answers []string `json:"answers,omitempty"`
	// Counts are how much was done.
	Counts Counts `json:"counts"`
	// Tokens of the model calls, as the endpoint reports them. All are 0 where
	// there were model calls and the endpoint said nothing: then they are unknown,
	// see [Record.Uncounted].
	Tokens Tokens `json:"tokens"`
	// Cost in dollars, by the price of the model entry; nil where there is none, and
	// where the tokens are unknown.
	Cost *float64 `json:"cost,omitempty"`
	// Judges is what LLM judges took, which is in none of the other counts; nil
	// where none was asked.
	Judges *JudgeUse `json:"judges,omitempty"`
	// TTFT are the times from a request to the first token of its answer, one
	// for each model call that had one, in the order of the calls. They are of
	// real time, and measured in modes live and record.
	TTFT []time.Duration `json:"ttft_ns,omitempty"`
	// Latency are the times from a request to the end of its answer, as TTFT.
	Latency []time.Duration `json:"latency_ns,omitempty"`
	// Start is when the trial began.
	Start time.Time `json:"start"`
	// Duration is real time.
	Duration time.Duration `json:"duration_ns"`
	// Skipped is the scripted waiting that a virtual clock spared the run.
	Skipped time.Duration `json:"skipped_ns,omitempty"`
	// Detail is the path of the transcript, a file with a [Detail], below the run
	// folder and with forward slashes. Empty when there is none.
	Detail string `json:"detail,omitempty"`
	// Cassette is the path of the recording that was replayed, or made.
	Cassette string `json:"cassette,omitempty"`
	// Recorded is the number of exchanges in the recording, where one was made.
	Recorded int `json:"recorded,omitempty"`
	// Written says that the file of the recording was written: one of the same
	// content was left alone.
	Written bool `json:"written,omitempty"`
	// Tapes are the paths of the recordings of servers beside one that was made.
	Tapes []string `json:"tapes,omitempty"`
	// Drift are the differences in shape between a recording that was made
	// and the one before.
	Drift []string `json:"drift,omitempty"`
	// Warnings are doubts about the trial that decided nothing.
	Warnings []string `json:"warnings,omitempty"`
}

// Uncounted reports whether the endpoint said nothing of the tokens of a trial,
// so that neither these nor what they cost are known.
func (r *Record) Uncounted() bool { return r.Counts.ModelCalls > 0 && r.Tokens.Total() == 0 }

// Counts are the sums of one trial.
type Counts struct {
	// ModelCalls are the attempts that reached the endpoint, faulted ones
	// too, without asides.
	ModelCalls int `json:"model_calls"`
	// Retries are the model calls that repeated an earlier one.
	Retries int `json:"retries,omitempty"`
	// ToolCalls are the calls that reached a server.
	ToolCalls int `json:"tool_calls"`
	// Checks are the expectations that came to a verdict; a conduct check is
	// none.
	Checks int `json:"checks"`
}

// JudgeUse is what the LLM judges of one trial took.
type JudgeUse struct {
	// Calls are the requests, one a vote, repeated ones counted once.
	Calls int `json:"calls"`
	// Tokens of these requests, by class.
	Tokens Tokens `json:"tokens"`
	// Cost in dollars, by the prices of the model entries; nil where one is not
	// known.
	Cost *float64 `json:"cost,omitempty"`
}

// Detail is what the two witnesses of one trial said, whole: the file behind
// a transcript in a report.
type Detail struct {
	Schema int `json:"schema"`
	Key
	// System is the system prompt of the scenario.
	System string `json:"system,omitempty"`
	// Transcript is null when the subject reported nothing.
	Transcript *harness.Transcript    `json:"transcript,omitempty"`
	Exchanges  []harness.Exchange     `json:"exchanges,omitempty"`
	Tools      []harness.ToolExchange `json:"tools,omitempty"`
	// Wire are the requests to the endpoint with their answers as they were on the
	// wire, and Frames the messages of MCP servers, where the run kept them.
	Wire   []RawExchange   `json:"wire,omitempty"`
	Frames []jsonrpc.Frame `json:"frames,omitempty"`
	// States are the states of the mock servers at the end, by server.
	States map[string]json.RawMessage `json:"states,omitempty"`
	// Judges are the requests to LLM judges, with their replies, in order.
	Judges []harness.Exchange `json:"judges,omitempty"`
	// Played is nil in the files of versions that did not write it: their trials
	// cannot be judged again.
	Played *Played `json:"played,omitempty"`
	// Log are the lines that the subject and the runner logged.
	Log []string `json:"log,omitempty"`
}

// RawExchange is a request to a model endpoint and its answer, as they were on
// the wire between the subject and rehearse.
type RawExchange struct {
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns"` // up to the last byte
	Method   string        `json:"method"`
	Path     string        `json:"path"`
	// Headers of the request, names in lower case; values that may be secret are
	// left out. AnswerHeaders are those of the answer.
	Headers       map[string]string `json:"headers,omitempty"`
	AnswerHeaders map[string]string `json:"answer_headers,omitempty"`
	// Body is the beginning of the request, BodySize its length in bytes.
	Body     string `json:"body,omitempty"`
	BodySize int    `json:"body_size,omitempty"`
	// Status of the answer; 0 where none came, or where a fault wrote to the
	// connection itself.
	Status int `json:"status,omitempty"`
	// Answer is the beginning of the answer, AnswerSize its length in bytes.
	Answer     string `json:"answer,omitempty"`
	AnswerSize int    `json:"answer_size,omitempty"`
}

// Manifest is run.json: what a run was to do, and with what.
type Manifest struct {
	Schema int    `json:"schema"`
	Name   string `json:"name"`
	// Rehearse and Go are the versions of the program.
	Rehearse string       `json:"rehearse,omitempty"`
	Go       string       `json:"go,omitempty"`
	Mode     harness.Mode `json:"mode"`
	Subject  string       `json:"subject,omitempty"`
	Seed     int64        `json:"seed"`
	Started  time.Time    `json:"started"`
	// Finished is zero while the run goes on, and stays so when it was killed.
	Finished time.Time `json:"finished,omitzero"`
	// Interrupted says that the run was stopped before its last trial.
	Interrupted bool `json:"interrupted,omitempty"`
	// Budget of the run; the zero Budget has no bounds.
	Budget Budget `json:"budget,omitzero"`
	// Planned is the number of trials the run was to do: those of its shard,
	// where it has one.
	Planned int `json:"planned"`
	// Shard is the part of the trials that the run was to do. The zero shard is
	// all of them.
	Shard Shard `json:"shard,omitzero"`
	// Whole is the number of trials of all shards together; 0 without a shard.
	Whole int `json:"whole,omitempty"`
	// Continued counts how often the run was taken up again.
	Continued int     `json:"continued,omitempty"`
	Models    []Model `json:"models,omitempty"`
	// Judges are the model entries of the LLM judges.
	Judges []Model `json:"judges,omitempty"`
	// Variants of the suites that were played, in their order.
	Variants  []string `json:"variants,omitempty"`
	Scenarios []Source `json:"scenarios,omitempty"`
	// ScoredFrom is the run folder whose trials were judged again for this run;
	// empty for a run that was played.
	ScoredFrom string `json:"scored_from,omitempty"`
	// Thresholds are pass rates that the run must reach.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Rules are what became of the thresholds and of the rules of scenarios;
	// filled in at the end. [JudgeRules] makes them.
	Rules []RuleResult `json:"rules,omitempty"`
	// Warnings are doubts about the run as a whole.
	Warnings []string `json:"warnings,omitempty"`
}

// Model is a model entry: a model at an endpoint with its settings, and what
// they are called together.
type Model struct {
	// Label is the entry's name in keys and reports. Default: Name.
	Label string `json:"label"`
	// Name is the model as it is asked for.
	Name string `json:"name"`
	// Answered are the names that answered, sorted; filled in at the end.
	Answered []string `json:"answered,omitempty"`
	// BaseURL of the endpoint in live mode; in files without user and query.
	BaseURL string `json:"base_url,omitempty"`
	// Dialect is the API that the subject is to speak: chat, responses, messages
	// or gemini. Empty leaves it to the subject.
	Dialect string `json:"dialect,omitempty"`
	// Key names the environment variable with the key of the endpoint. Empty
	// leaves it to the run.
	Key      string   `json:"key,omitempty"`
	Settings Settings `json:"settings,omitzero"`
	// Price is nil where it is not known.
	Price *Price `json:"price,omitempty"`
	// Rate bounds the requests to the endpoint; the zero Rate leaves it to the run.
	Rate Rate `json:"rate,omitzero"`
}

// Settings are those of a model entry for the requests to its model. They come
// before those of a scenario.
type Settings struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	// MaxTokens of one reply; 0 leaves it to the scenario.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Seed replaces the seed of each trial; nil leaves that. NoSeed sends none,
	// to an endpoint that refuses it.
	Seed   *int64 `json:"seed,omitempty"`
	NoSeed bool   `json:"no_seed,omitempty"`
	// Reasoning is the effort that is asked for: none, minimal, low, medium or
	// high. Empty asks for none in particular.
	Reasoning string `json:"reasoning,omitempty"`
}

// Price is what tokens cost, in dollars per million.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Cached and CacheWrite are nil where such tokens cost what Input does.
	Cached     *float64 `json:"cached,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
	// Date is the day of the price, as 2026-01-31; may be empty.
	Date string `json:"date,omitempty"`
}

// Cost of tokens in dollars; nil where p is.
func (p *Price) Cost(t Tokens) *float64 {
	if p == nil {
		return nil
	}
	at := func(price *float64, n int) float64 {
		if price == nil {
			return float64(n) * p.Input
		}
		return float64(n) * *price
	}
	cost := (at(nil, t.Input) + at(p.Cached, t.Cached) + at(p.CacheWrite, t.CacheWrite) + float64(t.Output)*p.Output) / 1e6
	return &cost
}

// Source is a scenario of a run, or one case of it.
type Source struct {
	Suite string `json:"suite,omitempty"`
	// Scenario and Case are as in [Key].
	Scenario    string   `json:"scenario"`
	Case        string   `json:"case,omitempty"`
	File        string   `json:"file,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// Hashes of its scenario and scorers.
	Hashes Hashes `json:"hashes,omitzero"`
	// Parts are short hashes of the parts of what is asked, by name ("servers",
	// "turn 1 replies"): they tell what changed where the hash of the scenario
	// did.
	Parts map[string]string `json:"parts,omitempty"`
	// Trials planned per model and variant.
	Trials int `json:"trials"`
	// Pass is the rule by which it passes; nil for none.
	Pass *Pass `json:"pass,omitempty"`
}

// Name is the scenario with its case, as [Key.Name].
func (s Source) Name() string { return nameOf(s.Scenario, s.Case) }
