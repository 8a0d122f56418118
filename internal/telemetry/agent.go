// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
)

// named is the name of a span: of an operation and, where it has one, its target.
func named(operation, target string) string {
	if target == "" {
		return operation
	}
	return operation + " " + target
}

// Turn begins a turn of the agent, which asks this model.
func (r *Recorder) Turn(ctx context.Context, model string) (context.Context, *Operation) {
	if r == nil {
		return ctx, nil
	}
	attrs := append(r.of(semconv.GenAIOperationNameInvokeAgent), semconv.GenAIRequestModel(model))
	if r.agent != "" {
		attrs = append(attrs, semconv.GenAIAgentName(r.agent))
	}
	return r.begin(ctx, named("invoke_agent", r.agent), trace.SpanKindInternal, nil, attrs)
}

// of are the attributes of every operation with the model.
func (r *Recorder) of(operation attribute.KeyValue) []attribute.KeyValue {
	return []attribute.KeyValue{operation, semconv.GenAIProviderNameKey.String(cmp.Or(r.provider, "_OTHER"))}
}

// Spent says what the model calls of a turn have cost.
func (o *Operation) Spent(u harness.Usage) {
	if o != nil && u.TotalTokens > 0 {
		o.span.SetAttributes(semconv.GenAIUsageInputTokens(u.PromptTokens), semconv.GenAIUsageOutputTokens(u.CompletionTokens))
	}
}

// Chat begins a model call, with all its attempts.
func (r *Recorder) Chat(ctx context.Context, req *model.Request) (context.Context, *Operation) {
	if r == nil {
		return ctx, nil
	}
	var more []attribute.KeyValue
	if req.MaxTokens > 0 {
		more = append(more, semconv.GenAIRequestMaxTokens(req.MaxTokens))
	}
	if req.Temperature != nil {
		more = append(more, semconv.GenAIRequestTemperature(*req.Temperature))
	}
	if req.TopP != nil {
		more = append(more, semconv.GenAIRequestTopP(*req.TopP))
	}
	if req.Seed != nil {
		more = append(more, semconv.GenAIRequestSeed(int(*req.Seed)))
	}
	if req.Stream {
		more = append(more, semconv.GenAIRequestStream(true))
	}
	ctx, o := r.begin(ctx, named("chat", req.Model), trace.SpanKindClient, r.asked, append(r.of(semconv.GenAIOperationNameChat), semconv.GenAIRequestModel(req.Model)), more...)
	if r.contents && o.span.IsRecording() {
		o.span.SetAttributes(semconv.GenAIInputMessagesKey.String(written(req.Messages, "")))
	}
	return ctx, o
}

// Retried says that an attempt of a model call failed, and that there is another
// after a wait. The conventions have no name for it.
func (o *Operation) Retried(failure string, wait time.Duration) {
	if o != nil {
		o.span.AddEvent("retry", trace.WithTimestamp(o.recorder.now()), trace.WithAttributes(semconv.ErrorTypeKey.String(failure), attribute.Float64("rehearse.retry.wait", wait.Seconds())))
	}
}

// Answered says what a model call came to.
func (o *Operation) Answered(done *model.Done) {
	if o == nil || done == nil {
		return
	}
	if done.Model != "" {
		o.label(semconv.GenAIResponseModel(done.Model))
	}
	if done.ID != "" {
		o.span.SetAttributes(semconv.GenAIResponseID(done.ID))
	}
	if done.FinishReason != "" {
		o.span.SetAttributes(semconv.GenAIResponseFinishReasons(done.FinishReason))
	}
	u := done.Usage.Counted()
	o.Spent(u)
	if u.TotalTokens > 0 { // else the endpoint did not say
		for kind, n := range map[string]int{"input": u.PromptTokens, "output": u.CompletionTokens} {
			o.recorder.tokens.Record(o.ctx, int64(n), metric.WithAttributes(append(o.labels[:len(o.labels):len(o.labels)], semconv.GenAITokenTypeKey.String(kind))...))
		}
	}
	if o.recorder.contents && o.span.IsRecording() {
		o.span.SetAttributes(semconv.GenAIOutputMessagesKey.String(written([]harness.Message{done.Message}, done.FinishReason)))
	}
}

// within marks the context of a tool's execution.
type within struct{}

// Tool begins the execution of a tool by the agent.
func (r *Recorder) Tool(ctx context.Context, call harness.ToolCall) (context.Context, *Operation) {
	if r == nil {
		return ctx, nil
	}
	attrs := []attribute.KeyValue{semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(call.Name), semconv.GenAIToolType("function")}
	if call.ID != "" {
		attrs = append(attrs, semconv.GenAIToolCallID(call.ID))
	}
	if r.contents {
		attrs = append(attrs, semconv.GenAIToolCallArgumentsKey.String(call.Arguments))
	}
	ctx, o := r.begin(ctx, named("execute_tool", call.Name), trace.SpanKindInternal, nil, attrs)
	return context.WithValue(ctx, within{}, true), o
}

// Executed ends the execution of a tool, which returned this result. failure and
// why say what went wrong.
func (o *Operation) Executed(result, failure, why string) {
	if o == nil {
		return
	}
	o.returned(result)
	if !o.recorder.contents {
		why = ""
	}
	o.end(failure, why)
}

// returned says what a tool returned.
func (o *Operation) returned(result string) {
	if o.recorder.contents && !o.nested {
		o.span.SetAttributes(semconv.GenAIToolCallResultKey.String(result))
	}
}

// part is a part of a message, as the schemas of the conventions have it.
type part struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments any    `json:"arguments,omitempty"`
	Response  string `json:"response,omitempty"`
}

type message struct {
	Role   harness.Role `json:"role"`
	Parts  []part       `json:"parts"`
	Finish string       `json:"finish_reason,omitempty"`
}

// written are messages as an attribute has them.
func written(messages []harness.Message, finish string) string {
	out := make([]message, 0, len(messages))
	for _, m := range messages {
		w := message{Role: m.Role, Parts: []part{}, Finish: finish}
		switch {
		case m.Role == harness.RoleTool:
			w.Parts = append(w.Parts, part{Type: "tool_call_response", ID: m.CallID, Response: m.Text})
		case m.Text != "" || m.Refusal != "":
			w.Parts = append(w.Parts, part{Type: "text", Content: cmp.Or(m.Text, m.Refusal)})
		}
		for _, c := range m.Calls {
			var arguments any = c.Arguments
			if raw := json.RawMessage(c.Arguments); json.Valid(raw) {
				arguments = raw
			}
			w.Parts = append(w.Parts, part{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: arguments})
		}
		out = append(out, w)
	}
	text, _ := json.Marshal(out) // it can be
	return string(text)
}
