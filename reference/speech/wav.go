package speech

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Sound is what the header of a WAV file says of it.
type Sound struct {
	Format   string // pcm, float, alaw or ulaw
	Channels int
	Rate     int // frames in a second
	Bits     int // of one sample
	Duration time.Duration
	Comment  string // ICMT in a LIST of type INFO
}

// formats are the codes of what is accepted, and how many bits a sample may have.
var formats = map[uint16]struct {
	name string
	bits []int
}{
	1: {"pcm", []int{8, 12, 16, 20, 24, 32}},
	3: {"float", []int{32, 64}},
	6: {"alaw", []int{8}},
	7: {"ulaw", []int{8}},
}

// guid is how the sub-format of an extensible one ends, behind its code.
const guid = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// mostComment bounds what is taken over from a file.
const mostComment = 4 << 10

// Check reads the header of a WAV file. What it says about sizes is held against
// the bytes that are there: recorders that cannot go back leave them 0 or as large
// as they get, and of a file that was cut, what is there counts.
func Check(data []byte) (Sound, error) {
	switch {
	case len(data) == 0:
		return Sound{}, ErrEmpty
	case len(data) > Most:
		return Sound{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, Most)
	case len(data) < 12 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WAVE":
		return Sound{}, fmt.Errorf("%w: it does not begin with RIFF and WAVE", ErrFormat)
	}
	c, err := parts(data)
	if err != nil {
		return Sound{}, err
	}
	sound, frame, err := format(c.fmt)
	if err != nil {
		return Sound{}, err
	}
	frames := int64(len(c.data) / frame)
	if frames == 0 {
		return Sound{}, fmt.Errorf("%w: there are no samples", ErrEmpty)
	}
	rate := int64(sound.Rate)
	sound.Duration = time.Duration(frames/rate)*time.Second + time.Duration(frames%rate)*time.Second/time.Duration(rate)
	sound.Comment = c.comment
	return sound, nil
}

// chunks are the parts of a WAV file that matter, as slices of it.
type chunks struct {
	fmt, data []byte
	found     bool // there is a data chunk
	comment   string
}

// parts walks the chunks. They may come in any order, with others between.
func parts(data []byte) (c chunks, err error) {
	end := uint64(binary.LittleEndian.Uint32(data[4:])) + 8 // where the file says that it ends
	for at := 12; len(data)-at >= 8; {
		id, size := string(data[at:at+4]), uint64(binary.LittleEndian.Uint32(data[at+4:]))
		body := data[at+8:]
		if id == "data" && size == 0 && uint64(at+8+len(body)) > end {
			size = uint64(len(body)) // never filled in: the samples go on to the end
		}
		cut := size > uint64(len(body))
		if cut {
			size = uint64(len(body))
		}
		body = body[:size]
		switch {
		case id == "data" && !c.found:
			c.data, c.found = body, true
		case cut && id == "fmt ":
			return c, fmt.Errorf("%w: it ends within its header", ErrFormat)
		case id == "fmt " && c.fmt == nil:
			c.fmt = body
		case id == "LIST" && len(body) >= 4 && string(body[:4]) == "INFO" && c.comment == "":
			c.comment = comment(body[4:])
		}
		at += 8 + int(size) + int(size&1)
	}
	switch {
	case c.fmt == nil:
		return c, fmt.Errorf("%w: there is no fmt chunk", ErrFormat)
	case !c.found:
		return c, fmt.Errorf("%w: there is no data chunk", ErrFormat)
	}
	return c, nil
}

// format reads a fmt chunk; frame is how many bytes one sample of all channels has.
func format(b []byte) (s Sound, frame int, err error) {
	if len(b) < 16 {
		return s, 0, fmt.Errorf("%w: the fmt chunk has %d bytes", ErrFormat, len(b))
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	code := u16(0)
	if code == 0xfffe {
		if len(b) < 40 || string(b[26:40]) != guid {
			return s, 0, fmt.Errorf("%w: the extensible format is none that is known", ErrFormat)
		}
		code = u16(24)
	}
	s = Sound{Channels: u16(2), Rate: int(binary.LittleEndian.Uint32(b[4:])), Bits: u16(14)}
	known, ok := formats[uint16(code)]
	switch {
	case !ok:
		return s, 0, fmt.Errorf("%w: format %d is not known", ErrFormat, code)
	case s.Channels == 0 || s.Rate == 0 || s.Bits == 0:
		return s, 0, fmt.Errorf("%w: %d channels, %d frames a second, %d bits", ErrFormat, s.Channels, s.Rate, s.Bits)
	case !slices.Contains(known.bits, s.Bits):
		return s, 0, fmt.Errorf("%w: %s of %d bits", ErrFormat, known.name, s.Bits)
	}
	s.Format = known.name
	if frame = s.Channels * ((s.Bits + 7) / 8); u16(12) != frame {
		return s, 0, fmt.Errorf("%w: a frame of %d bytes is told as %d", ErrFormat, frame, u16(12))
	}
	return s, frame, nil
}

// comment is the text of the first ICMT in an INFO list.
func comment(list []byte) string {
	for len(list) >= 8 {
		id, size := string(list[:4]), uint64(binary.LittleEndian.Uint32(list[4:]))
		list = list[8:]
		if size > uint64(len(list)) {
			return ""
		}
		if id == "ICMT" {
			text, _, _ := strings.Cut(string(list[:min(size, mostComment)]), "\x00")
			for len(text) > 0 && !utf8.ValidString(text) && size > mostComment && len(text) > mostComment-utf8.UTFMax {
				text = text[:len(text)-1] // the cut may have hit a character
			}
			return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
		}
		list = list[min(size+size&1, uint64(len(list))):]
	}
	return ""
}
