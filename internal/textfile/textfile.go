// Package textfile checks the encoding of input files, which must be UTF-8 text.
package textfile

import (
	"bytes"
	"unicode/utf8"
)

// A Problem states why data is not UTF-8 text. If all of the data is in another encoding or format,
// Line and Column are 1.
type Problem struct {
	Line    int // line of the first invalid byte, from 1
	Column  int // column of that byte in its line, in characters from 1
	Message string
}

// Decode returns data without the byte order mark at its beginning, if it has one. If data is in
// another encoding or format (see [CheckFormat]), or is not valid UTF-8, Decode returns a problem
// and no text. Otherwise, problem is nil.
func Decode(data []byte) (text []byte, problem *Problem) {
	if problem = CheckFormat(data); problem != nil {
		return nil, problem
	}
	if line, column := invalidByte(data); line > 0 {
		return nil, &Problem{line, column, "not valid UTF-8: save the file as UTF-8"}
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

// CheckFormat returns a problem if data looks like UTF-16 text or is compressed with gzip, and nil
// otherwise. It does not check whether data is valid UTF-8, so it also applies to recordings, which
// may contain other bytes.
func CheckFormat(data []byte) *Problem {
	format := ""
	switch {
	case isUTF16(data):
		format = "UTF-16 text: save it as UTF-8"
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		format = "compressed with gzip: decompress it"
	default:
		return nil
	}
	return &Problem{1, 1, "the file is " + format}
}

// isUTF16 reports whether data begins with the byte order mark of UTF-16, or with two ASCII
// characters in UTF-16.
func isUTF16(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return true
	}
	if len(data) < 4 {
		return false
	}
	isASCII := func(low, high byte) bool { return high == 0 && low > 0 && low < utf8.RuneSelf }
	return isASCII(data[0], data[1]) && isASCII(data[2], data[3]) ||
		isASCII(data[1], data[0]) && isASCII(data[3], data[2])
}

// invalidByte returns the line and the column, both from 1, of the first byte in data that is not
// valid UTF-8. Columns are counted in characters. If all bytes are valid, both results are 0.
func invalidByte(data []byte) (line, column int) {
	line, column = 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return line, column
		case r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		data = data[size:]
	}
	return 0, 0
}
