package speech

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A WAVInfo is what the header of a WAV file says of it.
type WAVInfo struct {
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

// extensibleGUID is how the sub-format of an extensible one ends, behind its code.
const extensibleGUID = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// maxComment bounds what is taken over from a file.
const maxComment = 4 << 10

// ParseWAV reads the header of a WAV file. What it says about sizes is held against
// the bytes that are there: recorders that cannot go back leave them 0 or as large
// as they get, and of a file that was cut, what is there counts.
func ParseWAV(data []byte) (WAVInfo, error) {
	switch {
	case len(data) == 0:
		return WAVInfo{}, ErrEmpty
	case len(data) > MaxBytes:
		return WAVInfo{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxBytes)
	case len(data) < 12 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WAVE":
		return WAVInfo{}, fmt.Errorf("%w: it does not begin with RIFF and WAVE", ErrNotWAV)
	}
	c, err := readChunks(data)
	if err != nil {
		return WAVInfo{}, err
	}
	info, frame, err := parseFormat(c.fmt)
	if err != nil {
		return WAVInfo{}, err
	}
	frames := int64(len(c.data) / frame)
	if frames == 0 {
		return WAVInfo{}, fmt.Errorf("%w: there are no samples", ErrEmpty)
	}
	rate := int64(info.Rate)
	info.Duration = time.Duration(frames/rate)*time.Second + time.Duration(frames%rate)*time.Second/time.Duration(rate)
	info.Comment = c.comment
	return info, nil
}

// wavChunks are the parts of a WAV file that matter, as slices of it.
type wavChunks struct {
	fmt, data []byte
	hasData   bool // there is a data chunk
	comment   string
}

// readChunks walks the chunks. They may come in any order, with others between.
func readChunks(data []byte) (c wavChunks, err error) {
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
		case id == "data" && !c.hasData:
			c.data, c.hasData = body, true
		case cut && id == "fmt ":
			return c, fmt.Errorf("%w: it ends within its header", ErrNotWAV)
		case id == "fmt " && c.fmt == nil:
			c.fmt = body
		case id == "LIST" && len(body) >= 4 && string(body[:4]) == "INFO" && c.comment == "":
			c.comment = readComment(body[4:])
		}
		at += 8 + int(size) + int(size&1)
	}
	switch {
	case c.fmt == nil:
		return c, fmt.Errorf("%w: there is no fmt chunk", ErrNotWAV)
	case !c.hasData:
		return c, fmt.Errorf("%w: there is no data chunk", ErrNotWAV)
	}
	return c, nil
}

// parseFormat reads a fmt chunk; frame is how many bytes one sample of all channels has.
func parseFormat(b []byte) (s WAVInfo, frame int, err error) {
	if len(b) < 16 {
		return s, 0, fmt.Errorf("%w: the fmt chunk has %d bytes", ErrNotWAV, len(b))
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	code := u16(0)
	if code == 0xfffe {
		if len(b) < 40 || string(b[26:40]) != extensibleGUID {
			return s, 0, fmt.Errorf("%w: the extensible format is none that is known", ErrNotWAV)
		}
		code = u16(24)
	}
	s = WAVInfo{Channels: u16(2), Rate: int(binary.LittleEndian.Uint32(b[4:])), Bits: u16(14)}
	known, ok := formats[uint16(code)]
	switch {
	case !ok:
		return s, 0, fmt.Errorf("%w: format %d is not known", ErrNotWAV, code)
	case s.Channels == 0 || s.Rate == 0 || s.Bits == 0:
		return s, 0, fmt.Errorf("%w: %d channels, %d frames a second, %d bits", ErrNotWAV, s.Channels, s.Rate, s.Bits)
	case !slices.Contains(known.bits, s.Bits):
		return s, 0, fmt.Errorf("%w: %s of %d bits", ErrNotWAV, known.name, s.Bits)
	}
	s.Format = known.name
	if frame = s.Channels * ((s.Bits + 7) / 8); u16(12) != frame {
		return s, 0, fmt.Errorf("%w: a frame of %d bytes is told as %d", ErrNotWAV, frame, u16(12))
	}
	return s, frame, nil
}

// readComment is the text of the first ICMT in an INFO list.
func readComment(list []byte) string {
	for len(list) >= 8 {
		id, size := string(list[:4]), uint64(binary.LittleEndian.Uint32(list[4:]))
		list = list[8:]
		if size > uint64(len(list)) {
			return ""
		}
		if id == "ICMT" {
			text, _, _ := strings.Cut(string(list[:min(size, maxComment)]), "\x00")
			for len(text) > 0 && !utf8.ValidString(text) && size > maxComment && len(text) > maxComment-utf8.UTFMax {
				text = text[:len(text)-1] // the cut may have hit a character
			}
			return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
		}
		list = list[min(size+size&1, uint64(len(list))):]
	}
	return ""
}
