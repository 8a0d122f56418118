// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package vcr reads and writes files of recorded HTTP traffic. It writes what
// go-vcr/v2 v2.0.1 writes, so that a plain recorder of that version replays
// our files, and reads the files of many recorders:
//
//	file, err := vcr.Read("testdata/weather.yaml")
//	if err != nil {
//		return err
//	}
//	for _, i := range file.Interactions {
//		fmt.Println(i.Request.Method, i.Request.URL, i.Response.Code)
//	}
//
// # Our additions
//
// The format has no room for what a faithful replay needs: when the parts of
// a body came, how the exchange ended, and so on. All of that is [Meta]; it
// stands in one response header, X-Rehearse-Meta, so that it cannot part from
// its interaction, and its value has no blanks, at which go-vcr folds lines.
// Readers of ours take it out again.
//
//	X-Rehearse-Meta: v1;at=2026-11-28T02:00:00Z;outcome=complete;chunks=120@0s,98@60ms
//
// # Reading
//
// Reading is lenient where recorders differ (an empty duration, numbers, fields
// of later versions) and refuses what cannot be meant: a document of nothing, a
// null interaction, a duplicate key, an unknown version, the marks of a merge
// conflict, an unknown key where the headers or the body are missing. The merge
// keys of YAML are resolved.
package vcr

import (
	"net/http"
	"time"
)

// Format is the format that a file was read from.
type Format string

// The formats.
const (
	GoVCR1 Format = "go-vcr version 1" // go-vcr v1 and v2; the one that is written
	GoVCR2 Format = "go-vcr version 2" // go-vcr v3 and v4
	VCRPy  Format = "vcrpy"
	HAR    Format = "HAR"
	Argo   Format = "Argo capture"
)

// File is a file of recorded traffic.
type File struct {
	Path         string // as it was given; for messages
	Format       Format
	Interactions []*Interaction
}

// Interaction is one request with its answer.
type Interaction struct {
	Request  Request
	Response Response
	Meta     Meta
	// Line is where it begins in its file, from 1; 0 when there are no lines.
	Line int
}

// Request is a recorded request.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
}

// Response is a recorded answer. Its header has no X-Rehearse-Meta.
type Response struct {
	Status  string // such as "200 OK"
	Code    int    // 0 when there was no answer
	Header  http.Header
	Body    []byte // decoded, unless Meta.Coding says otherwise
	Trailer http.Header
	// Duration is the time from the request to the header of the answer.
	Duration time.Duration
}

// Outcome says how an exchange ended.
type Outcome string

// The outcomes.
const (
	Complete      Outcome = "complete"       // the body ended
	UpstreamError Outcome = "upstream_error" // there was no answer; Meta.Error says why
	Aborted       Outcome = "aborted"        // the body broke off; Meta.Error says how
	ClientClosed  Outcome = "client_closed"  // the client did not read on
	Open          Outcome = "open"           // the recording stopped before the body ended
)

// Chunk is a part of a body as it was read, which need not be a chunk of the
// wire.
type Chunk struct {
	Size int           // bytes
	Gap  time.Duration // since the part before, or since the header
}

// Meta is what go-vcr's format has no field for. The zero Meta is that of a
// file that we did not write.
type Meta struct {
	Recorded time.Time // to the microsecond; zero when unknown
	// Outcome is [Complete] when a file does not say.
	Outcome Outcome
	Error   string // of the outcomes upstream_error and aborted
	// Attempt counts equal requests that were sent again after a failure,
	// from 1.
	Attempt int
	Chunks  []Chunk
	// Coding is the Content-Encoding that the body still has; empty for none.
	Coding string
	// Base is the path of the endpoint's address, when a proxy has put it
	// before the path that its client asked for.
	Base string
	// Subject, Model and Label are remarks of whoever recorded: the client, or
	// the release of the proxy that stood between; the model that was asked
	// for.
	Subject, Model, Label string

	requestBody, responseBody string // the files of bodies that stand beside
}
