// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// Set is what [Load] found.
type Set struct {
	// Scenarios, one for each case, sorted by file and place.
	Scenarios []*Scenario
	LLMs      []*LLM
	// Servers are the server files, whether or not a scenario uses them.
	Servers []*Server
	// Suites are the suite files that were named or stand in a folder that was.
	Suites []string
	// Files are all files that were read, sorted, and suite.yaml where there
	// could be one: the set is another when one of them changes.
	Files []string
	// Notes are about the files in folders that were left alone.
	Notes []Note
	// AnyClient says that somebody's own client plays the scenarios: whether it
	// asks for streams is its own affair, and [Set.Check] does not know.
	AnyClient bool

	broken []Problem // what Load found wrong
}

// Note says of a file of rehearse, or of a link, in a folder that it was left alone.
type Note struct{ Path, Why string }

func (n Note) String() string { return n.Path + ": left alone: " + n.Why }

// Scenario is one scenario, or one case of it, ready to be played. It is to
// be read only: several trials share it.
type Scenario struct {
	// Name of the scenario, with the case after a slash: "look-up/atp".
	Name string
	Case string // the case's name; empty without cases
	// Suite is the name in the suite.yaml of its folder; without one that of the
	// folder.
	Suite       string
	Description string
	Pos         harness.Position // of the key scenario
	Tags        []string
	// Critical marks the scenario in reports.
	Critical bool
	// Pass is the rule by which it passes; nil for none.
	Pass *trials.Pass
	// Thresholds are those of its suite, the same for all scenarios of a folder.
	Thresholds []trials.Threshold
	// LiveTrials is how many trials live mode plays; 0 leaves it to the
	// command line.
	LiveTrials int
	Limits     Limits
	Settings   harness.Settings
	// Subject is the subject that the scenario, its suite or the rehearse.yaml of
	// its project names; nil where none does.
	Subject *Subject
	// Profile of the mock model, such as "openai".
	Profile string
	// ProfilePos is where the profile is named; zero when it is not.
	ProfilePos harness.Position
	// Files are put into the working folder before the trial: texts by their paths.
	Files map[string]string
	// Dialect is the API that the subject is to speak, as in [harness.Endpoint];
	// empty leaves it to the subject.
	Dialect string
	// Servers in the order of the file, those of suite.yaml first.
	Servers []*Server
	Turns   []Turn
	// Expect is over the whole conversation.
	Expect []score.Scorer
	// Names maps server.tool to the name under which the subject offers it.
	Names map[string]string
	// Conduct maps the name of a check to on, off or a setting.
	Conduct map[string]string
	// ConductOnly says that the scenario needs no expectation.
	ConductOnly bool
	// Grants are the servers that each agent may use, by the agent's name; nil
	// means that everyone may use all.
	Grants map[string][]string
	// Approvals say what is decided about the tool calls of all turns, after those
	// of the turn. Nil, there as well, means that no call is asked about.
	Approvals []Approval
	// MCPConfig is the path of the mcp.json that the subject is to be given;
	// empty means none.
	MCPConfig string
	// Fragments cut the mock model's streamed replies; nil leaves it to the
	// profile.
	Fragments *dialect.Fragments
	// Habits are odd ways to spell the mock model's replies; nil leaves it to
	// the profile.
	Habits *dialect.Habits
	// Cassette are settings of recordings.
	Cassette Cassette
	// Cues are what lets held replies of the mock model go.
	Cues []Cue
	// Vars are the case's row; an empty object without cases.
	Vars value.Value
	// Hash is of all that is asked, and ScorersHash of how it is judged: see
	// [trials.Hashes]. Neither depends on where the files lie.
	Hash, ScorersHash string
	// Parts are short hashes of the parts that Hash is of, by name.
	Parts map[string]string
	// Variant is the variant of the suite in which it is played, see
	// [Scenario.In], and VariantHash of what that changes. Empty for the scenario
	// as it stands.
	Variant, VariantHash string

	variants []variant
	judges   map[harness.Position][]replyScript // of scripted judges, by their place
	model    modelScript
	lint     lintFacts
}

// Bare is the name without the case.
func (s *Scenario) Bare() string {
	if s.Case == "" {
		return s.Name
	}
	return strings.TrimSuffix(s.Name, "/"+s.Case)
}

// ModelScript returns the script of the mock model. Its Results are left to
// the runner.
func (s *Scenario) ModelScript() mockllm.Script {
	script := s.model.bind(s.Vars)
	script.Profile, script.Names, script.Fragments, script.Habits = s.Profile, s.Names, s.Fragments, s.Habits
	script.Servers = map[string][]harness.Tool{}
	for _, server := range s.Servers {
		if server.Mock != nil {
			script.Servers[server.Name] = server.tools()
		}
	}
	return script
}

// HasExpectations reports whether anything is expected, over a turn or over
// the whole conversation.
func (s *Scenario) HasExpectations() bool {
	return len(s.Expect) > 0 || slices.ContainsFunc(s.Turns, func(t Turn) bool { return len(t.Expect) > 0 })
}

// Interrupted reports whether a turn is to be interrupted.
func (s *Scenario) Interrupted() bool {
	return slices.ContainsFunc(s.Turns, func(t Turn) bool { return t.Interruption != nil })
}

// Turn is one user message with what is expected of its answer.
type Turn struct {
	User string
	// SingleCall ends the turn with its first reply, whose calls are not run.
	SingleCall bool
	// Interruption ends the turn while a tool runs; nil lets it end by itself.
	Interruption *Interruption
	// Pause is how long the user waits before the message.
	Pause     time.Duration
	Approvals []Approval
	Expect    []score.Scorer
	Pos       harness.Position
}

// Limits are the runner's: a trial that passes one has failed. Zero means
// none.
type Limits struct {
	ToolCalls  int
	ModelCalls int
	Time       time.Duration // of the whole trial
	Tokens     int
	// Pos is where each limit that is set stands, by its key.
	Pos map[string]harness.Position
}

// Server is an MCP server that a scenario names, or a server file.
type Server struct {
	Name string
	Pos  harness.Position
	// Mock is the script of a mock server, nil for a real one. The runner
	// gives each trial a server of its own.
	Mock *mockmcp.Script
	// Transport is how the subject reaches it: stdio, http, sse; empty leaves
	// a mock server to the runner.
	Transport string
	// Required servers must list a tool before the first model call.
	Required bool
	// RealWaits says that the waits of a mock server take their time, which a
	// run skips otherwise.
	RealWaits bool
	// FailedWhen judges the results of a real server; nil when only MCP says.
	FailedWhen mockmcp.FailedWhen

	real   harness.Server
	script *serverScript // of a mock
}

// TellsProgress reports whether a result of a tool of a mock server reports
// progress before it comes.
func (s *Server) TellsProgress(tool string) bool {
	if s.script == nil {
		return false
	}
	tells := func(r resultScript) bool {
		return slices.ContainsFunc(r.before, func(s stepScript) bool { return s.tells })
	}
	return slices.ContainsFunc(s.script.tools, func(t toolScript) bool { return t.tool.Name == tool && slices.ContainsFunc(t.results, tells) })
}

// Real returns how to reach a real server, with ${rehearse.workdir} replaced
// by the trial's own folder.
func (s *Server) Real(workdir string) harness.Server { return expandWorkdir(s.real, workdir) }

func (s *Server) tools() []harness.Tool {
	tools := make([]harness.Tool, 0, len(s.Mock.Tools))
	for _, t := range s.Mock.Tools {
		tools = append(tools, harness.Tool{Name: t.Name, Description: t.Description, Schema: t.Input})
	}
	return tools
}

// LLM is an llm file: a mock model that stands alone.
type LLM struct {
	Name string
	Pos  harness.Position
	// Script answers without a tool side: results are read from the request.
	Script mockllm.Script

	root  *strictyaml.Node // for check
	exprs []placed
}

// Problem is something wrong in a file, or doubtful.
type Problem struct {
	Pos harness.Position
	Msg string
}

func (p Problem) String() string { return p.Pos.String() + ": " + p.Msg }

// Errors are all mistakes of all files, sorted by place. It is the error of
// [Load]. As a text it has the first 200.
type Errors []Problem

func (e Errors) Error() string {
	const most = 200
	var b []byte
	for i, p := range e {
		if i > 0 {
			b = append(b, '\n')
		}
		if i == most {
			b = fmt.Appendf(b, "and %d more mistakes", len(e)-most)
			break
		}
		b = append(b, p.String()...)
	}
	return string(b)
}

// Options are settings of [Load]. nil means all defaults.
type Options struct {
	// LookupEnv finds the environment variables of ${NAME}. nil means
	// [os.LookupEnv].
	LookupEnv func(name string) (string, bool)
	// Offline says that real servers will not be reached, as in mode replay:
	// of their settings, a variable that is not set is empty. Default: that is
	// an error.
	Offline bool
	// Settings are names of subject settings, beside those with a meaning of
	// their own, that those who will play may know. With them a setting of a
	// scenario that neither they nor a subject of rehearse.yaml know is a
	// mistake. nil takes any: a subject in Go may have settings of its own.
	Settings []string
	// Root is a folder: files that lie elsewhere are not read, nor links to
	// such. It is for text from a stranger. Empty means that all are read.
	Root string
}

// Check returns what is doubtful in a set, sorted by place: literal arguments
// that break the tool's schema, keys that no result has, expectations that
// cannot fail. None of it is an error. Of a set with mistakes in it, doubts
// that may come of one are left out.
func (s *Set) Check() []Problem {
	return slices.DeleteFunc(check(s).problems.sorted(), func(doubt Problem) bool {
		return slices.ContainsFunc(s.broken, func(mistake Problem) bool {
			return mistake.Pos.File == doubt.Pos.File && (mistake.Pos.Line == doubt.Pos.Line || strings.HasPrefix(mistake.Msg, unknownKey))
		})
	})
}

// Unfailing are those problems of [Set.Check] that say of an expectation that it
// cannot fail, sorted by place.
func (s *Set) Unfailing() []Problem { return check(s).holding.sorted() }

// unknownKey begins what is said of a key that is not known: it may be what is
// missed elsewhere.
const unknownKey = "unknown key"

func fromYAML(problems []strictyaml.Problem) []Problem {
	out := make([]Problem, len(problems))
	for i, p := range problems {
		out[i] = Problem(p)
	}
	return out
}
