package sse_test

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/sse"
)

// dataStreams lists streams with various data fields. The standard removes one space after the
// colon and nothing else. It appends LF to the value of each data field, and removes the last LF
// when it dispatches the event.
var dataStreams = []stream{
	{name: "one data line", lines: []string{"data: a", ""},
		want: []want{{from: 1, to: 1, data: "a", fields: "data"}}},
	{name: "several data lines are joined by LF", lines: []string{"data: a", "data: b", "data: c", ""},
		want: []want{{from: 1, to: 3, data: "a\nb\nc", fields: "data,data,data"}}},
	{name: "a TAB after the colon belongs to the value", lines: []string{"data:\ta", ""},
		want: []want{{from: 1, to: 1, data: "\ta", fields: "data"}}},
	{name: "no space after the colon", lines: []string{"data:a", ""},
		want: []want{{from: 1, to: 1, data: "a", fields: "data"}}},
	{name: "of two spaces one stays", lines: []string{"data:  a", ""},
		want: []want{{from: 1, to: 1, data: " a", fields: "data"}}},
	{name: "a space at the end stays", lines: []string{"data: a ", ""},
		want: []want{{from: 1, to: 1, data: "a ", fields: "data"}}},
	{name: "only the first colon separates", lines: []string{"data: a: b:c", ""},
		want: []want{{from: 1, to: 1, data: "a: b:c", fields: "data"}}},
	{name: "a value that begins with a colon", lines: []string{"data::a", ""},
		want: []want{{from: 1, to: 1, data: ":a", fields: "data"}}},
	{name: "U+2028, U+2029, NEL, FF and VT end no line", lines: []string{"data: a\u2028b\u2029c\u0085d\fe\vf", ""},
		want: []want{{from: 1, to: 1, data: "a\u2028b\u2029c\u0085d\fe\vf", fields: "data"}}},
	{name: "a no-break space is not a space", lines: []string{"data:\u00a0a", ""},
		want: []want{{from: 1, to: 1, data: "\u00a0a", fields: "data"}}},
	{name: "data without a colon is dispatched", lines: []string{"data", ""},
		want: []want{{from: 1, to: 1, data: "", fields: "data"}}},
	{name: "data with an empty value is dispatched", lines: []string{"data:", ""},
		want: []want{{from: 1, to: 1, data: "", fields: "data"}}},
	{name: "data with only a space is dispatched", lines: []string{"data: ", ""},
		want: []want{{from: 1, to: 1, data: "", fields: "data"}}},
	{name: "two empty data fields are one LF", lines: []string{"data", "data:", ""},
		want: []want{{from: 1, to: 2, data: "\n", fields: "data,data"}}},
	{name: "empty data fields before and after", lines: []string{"data", "data: a", "data: ", ""},
		want: []want{{from: 1, to: 3, data: "\na\n", fields: "data,data,data"}}},
	{name: "data fields apart from each other", lines: []string{"data: a", "event: e", "data: b", ""},
		want: []want{{from: 1, to: 3, event: "e", data: "a\nb", fields: "data,event,data"}}},
	{name: "NUL in data stays", lines: []string{"data: a\x00b", ""},
		want: []want{{from: 1, to: 1, data: "a\x00b", fields: "data"}}},
	{name: "JSON in data", lines: []string{`data: {"type":"text","delta":"ä \n"}`, ""},
		want: []want{{from: 1, to: 1, data: `{"type":"text","delta":"ä \n"}`, fields: "data"}}},
	{name: "a very long line", lines: []string{"data: " + strings.Repeat("x", 4500), "", "data: b", ""},
		want: []want{
			{from: 1, to: 1, data: strings.Repeat("x", 4500), fields: "data"},
			{from: 3, to: 3, data: "b", fields: "data"}}},
	{name: "many short lines", lines: append(slices.Repeat([]string{"data: y"}, 120), ""),
		want: []want{{from: 1, to: 120, data: strings.Repeat("y\n", 119) + "y", fields: strings.Repeat("data,", 119) + "data"}}},
}

// fieldStreams lists streams with various names of fields. Names are compared byte for byte. Fields
// that the standard does not name are ignored, so that a block of such fields is not dispatched.
var fieldStreams = []stream{
	{name: "an event name", lines: []string{"event: add", "data: a", ""},
		want: []want{{from: 1, to: 2, event: "add", data: "a", fields: "event,data"}}},
	{name: "an event name after the data", lines: []string{"data: a", "event: add", ""},
		want: []want{{from: 1, to: 2, event: "add", data: "a", fields: "data,event"}}},
	{name: "the last event name counts", lines: []string{"event: a", "event: b", "data: x", ""},
		want: []want{{from: 1, to: 3, event: "b", data: "x", fields: "event,event,data"}}},
	{name: "an empty event name takes the name back", lines: []string{"event: a", "event", "data: x", ""},
		want: []want{{from: 1, to: 3, event: "", data: "x", fields: "event,event,data"}}},
	{name: "an event name does not stay", lines: []string{"event: a", "data: x", "", "data: y", ""},
		want: []want{
			{from: 1, to: 2, event: "a", data: "x", fields: "event,data"},
			{from: 4, to: 4, data: "y", fields: "data"}}},
	{name: "an event name without data goes with its block", lines: []string{"event: a", "", "data: y", ""},
		want: []want{
			{kind: sse.Block, from: 1, to: 1, event: "a", fields: "event"},
			{from: 3, to: 3, data: "y", fields: "data"}}},
	{name: "an event name with spaces", lines: []string{"event:  a b ", "data: x", ""},
		want: []want{{from: 1, to: 2, event: " a b ", data: "x", fields: "event,data"}}},
	{name: "unknown fields", lines: []string{"foo: 1", "data: x", "bar", ""},
		want: []want{{from: 1, to: 3, data: "x", fields: "foo,data,bar"}}},
	{name: "only unknown fields", lines: []string{"foo: 1", "bar", "", "data: x", ""},
		want: []want{
			{kind: sse.Block, from: 1, to: 2, fields: "foo,bar"},
			{from: 4, to: 4, data: "x", fields: "data"}}},
	{name: "blocks that differ only in names and values", lines: []string{"foo: 1", "event: x", "data: a", "", "bar: 1", "event: y", "data: b", ""},
		want: []want{
			{from: 1, to: 3, event: "x", data: "a", fields: "foo,event,data"},
			{from: 5, to: 7, event: "y", data: "b", fields: "bar,event,data"}}},
	{name: "blocks of which one begins like the other", lines: []string{"data: a", "foo", "", "data: b", "", "data: c", "foo", "bar", ""},
		want: []want{
			{from: 1, to: 2, data: "a", fields: "data,foo"},
			{from: 4, to: 4, data: "b", fields: "data"},
			{from: 6, to: 8, data: "c", fields: "data,foo,bar"}}},
	{name: "names have a case", lines: []string{"Data: a", "DATA: b", "Event: e", "ID: 1", "Retry: 5", ""},
		want: []want{{kind: sse.Block, from: 1, to: 5, fields: "Data,DATA,Event,ID,Retry"}}},
	{name: "a space before the colon belongs to the name", lines: []string{"data : a", ""},
		want: []want{{kind: sse.Block, from: 1, to: 1, fields: "data "}}},
	{name: "a space before the name belongs to it", lines: []string{" data: a", ""},
		want: []want{{kind: sse.Block, from: 1, to: 1, fields: " data"}}},
	{name: "names that begin like others", lines: []string{"dat: a", "dataa: b", "eventt: c", "idd: 1", ""},
		want: []want{{kind: sse.Block, from: 1, to: 4, fields: "dat,dataa,eventt,idd"}}},
	{name: "a line with only a space is not blank", lines: []string{"data: a", " ", "data: b", ""},
		want: []want{{from: 1, to: 3, data: "a\nb", fields: "data, ,data"}}},
	{name: "JSON without a field name", lines: []string{`{"a":1}`, ""},
		want: []want{{kind: sse.Block, from: 1, to: 1, fields: `{"a"`}}},
}
