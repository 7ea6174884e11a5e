package suites

import (
	"fmt"
	"strings"
)

// A textGenerator makes texts of one class, such as texts of emoji only. A server must store them
// and send them unchanged.
type textGenerator struct {
	doc  string                   // description of a text of the class, such as "a plain text"
	make func(word string) string // returns a text of the class; in most classes, it contains word
}

// textSamples are classes of texts. The first class contains words without special characters. The
// others contain texts that an incorrect server may change. No text contains a lone surrogate,
// which UTF-8 cannot represent, or NUL, which some databases cannot store.
var textSamples = []textGenerator{
	{"a plain text", func(w string) string { return w }},
	{"a text with a space at its beginning", func(w string) string { return " " + w }},
	{"a text with a space at its end", func(w string) string { return w + " " }},
	{"a text with a line feed at its end", func(w string) string { return w + "\n" }},
	{"a text with two line feeds at its beginning", func(w string) string { return "\n\n" + w }},
	{"a text with repeated spaces", func(w string) string { return w + "  and   " + w }},
	{"a text with repeated words", func(w string) string { return w + " " + w + " that that " + w }},
	{"a text with tabs", func(w string) string { return w + "\t\tand\t" + w }},
	{"a text with line feeds", func(w string) string { return w + "\nand\n\n" + w }},
	{"a text with carriage returns and line feeds", func(w string) string { return w + "\r\nand\r\n\r\n" + w }},
	{"a text with a carriage return", func(w string) string { return w + "\rand " + w }},
	{"a text with line separators (U+2028, U+2029, U+0085)", func(w string) string { return w + "\u2028and\u2029" + w + "\u0085." }},
	{"a text with no-break and zero-width spaces and a soft hyphen", func(w string) string {
		return "\u00a0" + w + "\u202f\u200b\u2060" + w + "\u00ad" + w + "\u3000"
	}},
	{"a text that begins with a byte order mark", func(w string) string { return "\ufeff" + w }},
	{"a text with control characters (U+0001, U+0008, U+000C, U+001B, U+001F, U+007F)", func(w string) string {
		return w + "\u0001\b\f\u001b[1m\u001f\u007f" + w
	}},
	{"a text with accented letters, composed and decomposed", func(w string) string { return w + " \u00e9 e\u0301 \u212b " + w }},
	{"a text in Chinese, Arabic and Hebrew", func(w string) string {
		return "世界 " + w + " مرحبا \u200fשלום \u202b" + w + "\u202c \u2067" + w + "\u2069"
	}},
	{"a text with emoji of several code points", func(w string) string {
		return "👩‍👩‍👧‍👦 " + w + " 🇩🇪👍🏽\u2764\ufe0f\u2764\ufe0e"
	}},
	// A text that is cut by UTF-16 code units is cut inside a surrogate pair in one of these two.
	{"a text of 15 emoji", func(string) string { return strings.Repeat("😀🚀🎉", 5) }},
	{"a text of a letter and 16 emoji", func(w string) string { return w[len(w)-1:] + strings.Repeat("🚀🎉", 8) }},
	{"a text with private characters, noncharacters, and characters of other planes", func(w string) string {
		return "\U00020000" + w + "\U0001d11e\U000e0041\U0010fffd\ue000\ufffe\uffff" + w + "\uf8ff"
	}},
	{"a text that looks like an event stream", func(w string) string { return "data: " + w + "\n\nevent: end\nid: 9\n: comment\n\n" }},
	{"a text that looks like the end of a stream", func(w string) string { return w + " [DONE]\n\ndata: [DONE]" }},
	{"a text that looks like JSON", func(w string) string { return `{"type": "error",  "text" :"` + w + `" }` }},
	{"a text that looks like a JSON string", func(w string) string { return `"` + w + `\n"` }},
	{"a text that looks like a number", func(w string) string { return fmt.Sprint(len(w)) + ".50" }},
	{"a text that looks like a large number", func(w string) string { return fmt.Sprint(len(w)) + "2345678901234567890" }},
	{"a text of digits that begins with zeros", func(w string) string { return "00" + fmt.Sprint(len(w)) }},
	{"a text that looks like a date", func(string) string { return "2024-01-31" }},
	{"a text that looks like null", func(string) string { return "null" }},
	{"a text that looks like a boolean", func(string) string { return "false" }},
	{"a text that looks like HTML", func(w string) string {
		return "<b>" + w + "</b> &amp; <script>" + w + "</script><think>" + w + "</think>"
	}},
	{"a text that looks like Markdown", func(w string) string { return "# **" + w + "** _" + w + "_\n\n```\n" + w + "\n```\n* [" + w + "](x)" }},
	{"a text with backslashes", func(w string) string { return `C:\new\table\u0041 ` + w + `\` }},
	{"a text with quotation marks", func(w string) string { return `'` + w + `' "` + w + "\" `" + w + "`" }},
	{"a text with percent signs and plus signs", func(w string) string { return "100%25%20%s %d 5%% a+b " + w }},
	{"a text with placeholders", func(w string) string { return "${HOME} {name} {{" + w + "}} {0} $1 %(a)s" }},
	{"a text that looks like SQL", func(w string) string { return w + "'); DROP TABLE messages; --" }},
	{"a text that looks like a path and a URL", func(w string) string { return "../../" + w + "/%2e%2e/ https://example.org/" + w + "?a=b&c=d#" + w }},
	{"a text that looks like a test prompt", func(w string) string { return "conformance:text " + w }},
	{"a text of one character", func(w string) string { return w[len(w)-1:] }},
	{"a text of 100 bytes", func(w string) string { return longText(w, 100) }},
	{"a text of 256 bytes", func(w string) string { return longText(w, 256) }},
	{"a text of 1,025 bytes", func(w string) string { return longText(w, 1025) }},
	{"a text of 4,096 bytes", func(w string) string { return longText(w, 4096) }},
	{"a text of 4,097 bytes between line feeds", func(w string) string { return "\n" + longText(w, 4095) + "\n" }},
	{"a text of 65,537 bytes between spaces", func(w string) string { return " " + longText(w, 65535) + " " }},
	{"a text of 65,536 bytes of three-byte characters", func(w string) string { return w + strings.Repeat("世", 65536/3) }},
}

// longText returns a text of n bytes that consists of word and a sequence of ascending numbers, in
// which a missing or duplicated part can be detected. n must be greater than the length of word.
func longText(word string, n int) string {
	var b strings.Builder
	b.WriteString(word)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, " %3d", i)
	}
	return b.String()[:n-1] + "."
}

// A jsonGenerator makes JSON objects of one class, such as those with null members. A server must
// store an object and send it back with the same JSON value.
type jsonGenerator struct {
	doc  string                   // description of an object of the class, such as "a plain object"
	make func(word string) string // returns the JSON text of an object; in most classes, it contains word
}

// jsonSamples are classes of JSON objects. The first class contains plain objects, and the others
// contain objects that an incorrect server may change. All numbers are exact in IEEE 754 double
// precision, and all integers are in the interoperable range of RFC 8259, section 6.
var jsonSamples = []jsonGenerator{
	{"a plain object", func(w string) string { return `{"city":` + jsonText(w) + `}` }},
	{"an empty object", func(string) string { return `{}` }},
	{"an object with null members", func(w string) string { return `{"a":null,"b":[null],"word":` + jsonText(w) + `}` }},
	{"an object with false, zero and empty members", func(w string) string {
		return `{"a":false,"b":0,"c":"","d":[],"e":{},"word":` + jsonText(w) + `}`
	}},
	{"an object with large and small numbers", func(w string) string {
		return `{"a":9007199254740991,"b":-9007199254740991,"c":0.5,"d":-1.25,"e":1048576.0625,"f":9.5367431640625e-07,"word":` + jsonText(w) + `}`
	}},
	{"an object of twenty levels", func(w string) string {
		return strings.Repeat(`{"a":[`, 10) + jsonText(w) + strings.Repeat(`]}`, 10)
	}},
	{"an object with unusual member names", func(w string) string {
		return `{"":1,"a b":2," c ":0,"é世👍":3,"a.b/c~d":4,"__proto__":5,"snake_case":7,"camelCase":8,"type":"x","id":"y","` +
			strings.Repeat("long", 25) + `":6,"word":` + jsonText(w) + `}`
	}},
	{"an object with a text of several lines", func(w string) string {
		return `{"html":"<b>&amp;</b>","text":` + jsonText("  "+w+"\r\n\tdata: x\n\n\u2028 \"quoted\" \\ <b>&amp;</b> 👩‍👧 ") + `}`
	}},
	{"an object with arrays of objects and of arrays", func(w string) string {
		return `{"days":[{"a":1},{"a":true},{"b":` + jsonText(w) + `,"c":[true,false]}],"rows":[[1],[2,[3]],[]]}`
	}},
	{"an object with texts that look like dates and times", func(w string) string {
		return `{"day":"2024-01-31","time":"2024-01-31T10:00:00","zone":"2024-01-31T10:00:00.000+00:00","word":` + jsonText(w) + `}`
	}},
	{"an object with texts that need care", func(w string) string {
		return `{"it's":"it's a 'test'","brackets":"a}b]c{d[","format":"%20%s {name} ${x}","letters":"` + "e\u0301 \u00e9" + `","fraction":0.12345678,"word":` + jsonText(w) + `}`
	}},
	{"an object with a JSON text in a string", func(w string) string { return `{"raw":` + jsonText(`{"a":`+jsonText(w)+`}`) + `}` }},
	{"an object of 300 members", func(w string) string {
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, `"m%d":%d,`, i, i)
		}
		return "{" + b.String() + `"word":` + jsonText(w) + "}"
	}},
	{"an object of 4,200 bytes", func(w string) string { return `{"text":` + jsonText(longText(w, 4189)) + `}` }},
}
