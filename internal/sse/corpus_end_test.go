package sse_test

import "github.com/streamassay/streamassay/internal/sse"

// endStreams lists streams that end before an event is complete. The standard drops the rest of
// such a stream. The decoder returns it as an incomplete item, whose id does not become the last
// event ID. A last line without a line end is read as though it had one.
var endStreams = []stream{
	{name: "the end before the blank line", lines: []string{"data: a"},
		want: []want{{from: 1, to: 1, data: "a", fields: "data", incomplete: true}}},
	{name: "the end before the line end", tail: "data: a",
		want: []want{{from: 1, to: 1, data: "a", fields: "data", incomplete: true}}},
	{name: "the end in a second line", lines: []string{"event: e"}, tail: "data: a",
		want: []want{{from: 1, to: 2, event: "e", data: "a", fields: "event,data", incomplete: true}}},
	{name: "the end in a second data line", lines: []string{"data: a", "data: b"}, tail: "data: c",
		want: []want{{from: 1, to: 3, data: "a\nb\nc", fields: "data,data,data", incomplete: true}}},
	{name: "the end in a name", lines: []string{"data: a", "", "data: b"}, tail: "da",
		want: []want{
			{from: 1, to: 1, data: "a", fields: "data"},
			{from: 3, to: 4, data: "b", fields: "data,da", incomplete: true}}},
	{name: "the end in a name that would be all", lines: []string{"data: a", ""}, tail: "d",
		want: []want{
			{from: 1, to: 1, data: "a", fields: "data"},
			{kind: sse.Block, from: 3, to: 3, fields: "d", incomplete: true}}},
	{name: "the id of an incomplete event does not count", lines: []string{"id: 1", "data: a", "", "id: 2", "data: b"},
		want: []want{
			{from: 1, to: 2, id: "1", hasID: true, last: "1", data: "a", fields: "id,data"},
			{from: 4, to: 5, id: "2", hasID: true, last: "1", data: "b", fields: "id,data", incomplete: true}}},
	{name: "the end before data comes", lines: []string{"event: e", "id: 1", "retry: 5"},
		want: []want{{kind: sse.Block, from: 1, to: 3, event: "e", id: "1", hasID: true, retry: "5",
			fields: "event,id,retry", incomplete: true}}},
	{name: "the end in a comment", lines: []string{"data: a", ""}, tail: ": com",
		want: []want{
			{from: 1, to: 1, data: "a", fields: "data"},
			{kind: sse.Comment, from: 3, to: 3, text: " com", incomplete: true}}},
	{name: "the end after a comment inside a block", lines: []string{"data: a", ":c"},
		want: []want{
			{kind: sse.Comment, from: 2, to: 2, text: "c"},
			{from: 1, to: 2, data: "a", fields: "data", incomplete: true}}},
	{name: "the end in a comment inside a block", lines: []string{"data: a"}, tail: ":c",
		want: []want{{from: 1, to: 2, data: "a", fields: "data", incomplete: true}}},
	{name: "the end in a character is not the fault of who wrote it", tail: "data: a\xe2\x82",
		want: []want{{from: 1, to: 1, data: "a\xe2\x82", fields: "data", incomplete: true}}},
	{name: "the end after bytes that no character begins with", tail: "data: a\xff",
		want: []want{{from: 1, to: 1, data: "a\xff", fields: "data", incomplete: true, invalid: true}}},
	{name: "the end after invalid UTF-8 in a line before", lines: []string{"data: \xff"}, tail: "data: b",
		want: []want{{from: 1, to: 2, data: "\xff\nb", fields: "data,data", incomplete: true, invalid: true}}},
	{name: "the end in a comment with invalid UTF-8", tail: ":\xffa",
		want: []want{{kind: sse.Comment, from: 1, to: 1, text: "\xffa", incomplete: true, invalid: true}}},
	{name: "the end after blank lines", lines: []string{"data: a", "", ""},
		want: []want{{from: 1, to: 1, data: "a", fields: "data"}}},
}

// byteStreams lists streams with byte order marks and with bytes that are not UTF-8. One byte order
// mark at the start of the stream is ignored; any other is an ordinary character. Bytes that are
// not UTF-8 are kept.
var byteStreams = []stream{
	{name: "a second BOM belongs to the name", bom: onlyWith, lines: []string{mark + "data: a", "", "data: b", ""},
		want: []want{
			{kind: sse.Block, from: 1, to: 1, fields: mark + "data"},
			{from: 3, to: 3, data: "b", fields: "data"}}},
	{name: "a BOM after a blank line belongs to the name", lines: []string{"", mark + "data: a", ""},
		want: []want{{kind: sse.Block, from: 2, to: 2, fields: mark + "data"}}},
	{name: "a BOM before a later event belongs to the name", lines: []string{"data: a", "", mark + "data: b", "data: c", ""},
		want: []want{
			{from: 1, to: 1, data: "a", fields: "data"},
			{from: 3, to: 4, data: "c", fields: mark + "data,data"}}},
	{name: "a BOM in a value stays", lines: []string{"data: " + mark + "a", ""},
		want: []want{{from: 1, to: 1, data: mark + "a", fields: "data"}}},
	{name: "half a BOM is no BOM", bom: onlyWithout, lines: []string{"\xef\xbbdata: a", ""},
		want: []want{{kind: sse.Block, from: 1, to: 1, fields: "\xef\xbbdata", invalid: true}}},
	{name: "a BOM of UTF-16 is none", bom: onlyWithout, lines: []string{"\xff\xfedata: a", "data: b", ""},
		want: []want{{from: 1, to: 2, data: "b", fields: "\xff\xfedata,data", invalid: true}}},
	{name: "invalid UTF-8 in data", lines: []string{"data: a\xffb", "", "data: c", ""},
		want: []want{
			{from: 1, to: 1, data: "a\xffb", fields: "data", invalid: true},
			{from: 3, to: 3, data: "c", fields: "data"}}},
	{name: "invalid UTF-8 in the second line", lines: []string{"data: a", "data: \xc3\x28", ""},
		want: []want{{from: 1, to: 2, data: "a\n\xc3\x28", fields: "data,data", invalid: true}}},
	{name: "a surrogate and a form too long are not UTF-8", lines: []string{"data: \xed\xa0\x80", "", "data: \xc0\x80", ""},
		want: []want{
			{from: 1, to: 1, data: "\xed\xa0\x80", fields: "data", invalid: true},
			{from: 3, to: 3, data: "\xc0\x80", fields: "data", invalid: true}}},
	{name: "a character that is cut off by a line end", lines: []string{"data: \xe2\x82", "data: \xac", ""},
		want: []want{{from: 1, to: 2, data: "\xe2\x82\n\xac", fields: "data,data", invalid: true}}},
	{name: "invalid UTF-8 in id, event and an unknown name", lines: []string{"id: \xff", "event: \xfe", "\x80: x", "data: a", ""},
		want: []want{{from: 1, to: 4, id: "\xff", hasID: true, last: "\xff", event: "\xfe", data: "a",
			fields: "id,event,\x80,data", invalid: true}}},
	{name: "invalid UTF-8 in a comment", lines: []string{":\xff", "data: a", ""},
		want: []want{
			{kind: sse.Comment, from: 1, to: 1, text: "\xff", invalid: true},
			{from: 2, to: 2, data: "a", fields: "data"}}},
	{name: "invalid UTF-8 in a comment inside a block", lines: []string{"data: a", ":\xff", ""},
		want: []want{
			{kind: sse.Comment, from: 2, to: 2, text: "\xff", invalid: true},
			{from: 1, to: 2, data: "a", fields: "data"}}},
	{name: "U+FFFD that was written is valid", lines: []string{"data: \ufffd", ""},
		want: []want{{from: 1, to: 1, data: "\ufffd", fields: "data"}}},
	{name: "characters of two, three and four bytes", lines: []string{"data: é€😀", ""},
		want: []want{{from: 1, to: 1, data: "é€😀", fields: "data"}}},
}
