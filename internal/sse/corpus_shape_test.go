package sse_test

import "github.com/streamassay/streamassay/internal/sse"

// idStreams lists streams with id and retry fields. An id becomes the last event ID when its block
// ends, with or without data, and stays until another one comes. An empty id resets it; an id with
// NUL is ignored. The standard takes a retry only if it consists of ASCII digits.
var idStreams = []stream{
	{name: "an id", lines: []string{"id: 1", "data: a", ""},
		want: []want{{from: 1, to: 2, id: "1", hasID: true, last: "1", data: "a", fields: "id,data"}}},
	{name: "an id is kept across events", lines: []string{"id: 1", "data: a", "", "data: b", "", ": c"},
		want: []want{
			{from: 1, to: 2, id: "1", hasID: true, last: "1", data: "a", fields: "id,data"},
			{from: 4, to: 4, last: "1", data: "b", fields: "data"},
			{kind: sse.Comment, from: 6, to: 6, last: "1", text: " c"}}},
	{name: "an empty id resets", lines: []string{"id: 1", "data: a", "", "id", "data: b", "", "data: c", ""},
		want: []want{
			{from: 1, to: 2, id: "1", hasID: true, last: "1", data: "a", fields: "id,data"},
			{from: 4, to: 5, hasID: true, data: "b", fields: "id,data"},
			{from: 7, to: 7, data: "c", fields: "data"}}},
	{name: "an id without a value but with a colon resets", lines: []string{"id: 1", "data: a", "", "id: ", "data: b", ""},
		want: []want{
			{from: 1, to: 2, id: "1", hasID: true, last: "1", data: "a", fields: "id,data"},
			{from: 4, to: 5, hasID: true, data: "b", fields: "id,data"}}},
	{name: "an id with NUL is ignored", lines: []string{"id: 1\x002", "data: a", ""},
		want: []want{{from: 1, to: 2, data: "a", fields: "id,data"}}},
	{name: "an id with NUL leaves the one before", lines: []string{"id: 1", "data: a", "", "id: \x00", "data: b", ""},
		want: []want{
			{from: 1, to: 2, id: "1", hasID: true, last: "1", data: "a", fields: "id,data"},
			{from: 4, to: 5, last: "1", data: "b", fields: "id,data"}}},
	{name: "an id with NUL leaves the one in its block", lines: []string{"id: 1", "id: 2\x00", "data: a", ""},
		want: []want{{from: 1, to: 3, id: "1", hasID: true, last: "1", data: "a", fields: "id,id,data"}}},
	{name: "the last id counts", lines: []string{"id: 1", "data: a", "id: 2", ""},
		want: []want{{from: 1, to: 3, id: "2", hasID: true, last: "2", data: "a", fields: "id,data,id"}}},
	{name: "an id counts without data", lines: []string{"id: 7", "", "data: a", ""},
		want: []want{
			{kind: sse.Block, from: 1, to: 1, id: "7", hasID: true, last: "7", fields: "id"},
			{from: 3, to: 3, last: "7", data: "a", fields: "data"}}},
	{name: "an id does not count before its block ends", lines: []string{"id: 7", ": c", "data: a", ""},
		want: []want{
			{kind: sse.Comment, from: 2, to: 2, text: " c"},
			{from: 1, to: 3, id: "7", hasID: true, last: "7", data: "a", fields: "id,data"}}},
	{name: "an id need not be a number", lines: []string{"id:  é/α ", "data: a", ""},
		want: []want{{from: 1, to: 2, id: " é/α ", hasID: true, last: " é/α ", data: "a", fields: "id,data"}}},
	{name: "retry", lines: []string{"retry: 1500", "data: a", ""},
		want: []want{{from: 1, to: 2, retry: "1500", data: "a", fields: "retry,data"}}},
	{name: "retry alone", lines: []string{"retry:1500", ""},
		want: []want{{kind: sse.Block, from: 1, to: 1, retry: "1500", fields: "retry"}}},
	{name: "retry with leading zeros, as spelled", lines: []string{"retry: 007", "data: a", ""},
		want: []want{{from: 1, to: 2, retry: "007", data: "a", fields: "retry,data"}}},
	{name: "retry that is not a number", lines: []string{"retry: 5s", "retry: -1", "retry: +1", "retry: 1.5", "retry:  1", "retry: 1 ", "data: a", ""},
		want: []want{{from: 1, to: 7, data: "a", fields: "retry,retry,retry,retry,retry,retry,data"}}},
	{name: "retry with digits of another script", lines: []string{"retry: ١٢", "data: a", ""},
		want: []want{{from: 1, to: 2, data: "a", fields: "retry,data"}}},
	{name: "retry without a value", lines: []string{"retry", "retry:", "retry: ", "data: a", ""},
		want: []want{{from: 1, to: 4, data: "a", fields: "retry,retry,retry,data"}}},
	{name: "a bad retry leaves the good one", lines: []string{"retry: 10", "retry: x", "data: a", ""},
		want: []want{{from: 1, to: 3, retry: "10", data: "a", fields: "retry,retry,data"}}},
	{name: "an empty retry leaves the good one", lines: []string{"retry: 10", "retry:", "retry", "data: a", ""},
		want: []want{{from: 1, to: 4, retry: "10", data: "a", fields: "retry,retry,retry,data"}}},
	{name: "the last good retry counts", lines: []string{"retry: 10", "retry: 20", "data: a", ""},
		want: []want{{from: 1, to: 3, retry: "20", data: "a", fields: "retry,retry,data"}}},
	{name: "retry of more digits than an integer has", lines: []string{"retry: 99999999999999999999", "data: a", ""},
		want: []want{{from: 1, to: 2, retry: "99999999999999999999", data: "a", fields: "retry,data"}}},
}

// shapeStreams lists streams with blank lines and comments in various places. A comment does not
// end a block, wherever it stands.
var shapeStreams = []stream{
	{name: "two events", lines: []string{"data: a", "", "data: b", ""},
		want: []want{{from: 1, to: 1, data: "a", fields: "data"}, {from: 3, to: 3, data: "b", fields: "data"}}},
	{name: "runs of blank lines", lines: []string{"", "", "data: a", "", "", "", "data: b", "", ""},
		want: []want{{from: 3, to: 3, data: "a", fields: "data"}, {from: 7, to: 7, data: "b", fields: "data"}}},
	{name: "only blank lines", lines: []string{"", "", ""}},
	{name: "nothing"},
	{name: "a comment alone", lines: []string{": hi"},
		want: []want{{kind: sse.Comment, from: 1, to: 1, text: " hi"}}},
	{name: "an empty comment, a heartbeat", lines: []string{":", "", ":", ""},
		want: []want{{kind: sse.Comment, from: 1, to: 1}, {kind: sse.Comment, from: 3, to: 3}}},
	{name: "comments before, between and after fields", lines: []string{":a", "data: x", ": b", "data: y", ":c", ""},
		want: []want{
			{kind: sse.Comment, from: 1, to: 1, text: "a"},
			{kind: sse.Comment, from: 3, to: 3, text: " b"},
			{kind: sse.Comment, from: 5, to: 5, text: "c"},
			{from: 2, to: 5, data: "x\ny", fields: "data,data"}}},
	{name: "comments between events", lines: []string{"data: x", "", ":a", "", ":b", "data: y", ""},
		want: []want{
			{from: 1, to: 1, data: "x", fields: "data"},
			{kind: sse.Comment, from: 3, to: 3, text: "a"},
			{kind: sse.Comment, from: 5, to: 5, text: "b"},
			{from: 6, to: 6, data: "y", fields: "data"}}},
	{name: "a comment that looks like a field", lines: []string{":data: x", "", "::", ""},
		want: []want{
			{kind: sse.Comment, from: 1, to: 1, text: "data: x"},
			{kind: sse.Comment, from: 3, to: 3, text: ":"}}},
	{name: "a comment in a block without data", lines: []string{"event: e", ":c", "", "data: x", ""},
		want: []want{
			{kind: sse.Comment, from: 2, to: 2, text: "c"},
			{kind: sse.Block, from: 1, to: 2, event: "e", fields: "event"},
			{from: 4, to: 4, data: "x", fields: "data"}}},
	{name: "the example of the standard with YHOO", lines: []string{"data: YHOO", "data: +2", "data: 10", ""},
		want: []want{{from: 1, to: 3, data: "YHOO\n+2\n10", fields: "data,data,data"}}},
	{name: "the example of the standard with four blocks",
		lines: []string{": test stream", "", "data: first event", "id: 1", "", "data:second event", "id", "", "data:  third event"},
		want: []want{
			{kind: sse.Comment, from: 1, to: 1, text: " test stream"},
			{from: 3, to: 4, data: "first event", id: "1", hasID: true, last: "1", fields: "data,id"},
			{from: 6, to: 7, data: "second event", hasID: true, fields: "data,id"},
			{from: 9, to: 9, data: " third event", fields: "data", incomplete: true}}},
	{name: "the example of the standard with empty data", lines: []string{"data", "", "data", "data", "", "data:"},
		want: []want{
			{from: 1, to: 1, data: "", fields: "data"},
			{from: 3, to: 4, data: "\n", fields: "data,data"},
			{from: 6, to: 6, data: "", fields: "data", incomplete: true}}},
	{name: "the example of the standard with and without a space", lines: []string{"data:test", "", "data: test", ""},
		want: []want{{from: 1, to: 1, data: "test", fields: "data"}, {from: 3, to: 3, data: "test", fields: "data"}}},
}
