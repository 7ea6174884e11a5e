package speech

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A WAVInfo describes a WAV file.
type WAVInfo struct {
	Format   string // pcm, float, alaw or ulaw
	Channels int
	Rate     int // frames per second
	Bits     int // bits per sample
	Duration time.Duration
	Comment  string // text of the ICMT chunk in a LIST chunk of type INFO; "" if there is none
}

// formats lists the sample formats of WAV files that this package supports. The key is the format
// code in the fmt chunk. The value holds the name of the format, as in the field Format of
// [WAVInfo], and the supported sizes of a sample in bits.
var formats = map[uint16]struct {
	name string
	bits []int
}{
	1: {"pcm", []int{8, 12, 16, 20, 24, 32}},
	3: {"float", []int{32, 64}},
	6: {"alaw", []int{8}},
	7: {"ulaw", []int{8}},
}

// extensibleGUID is the end of the sub-format GUID in the fmt chunk of a WAVE_FORMAT_EXTENSIBLE
// file. The first two bytes of the GUID, which precede it, are the format code.
const extensibleGUID = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// maxComment is the maximum number of bytes that are read from a comment. The rest is ignored.
const maxComment = 4 << 10

// ParseWAV returns the description of a WAV file. The error wraps ErrEmpty if there are no samples,
// ErrTooLarge if the file exceeds MaxBytes, and otherwise ErrNotWAV.
//
// The data extends to the end of the file if the header of the data chunk states a size that is too
// large, or the size 0 in a file that is longer than the RIFF header states. Recorders that cannot
// seek write such sizes, and a file may be truncated.
func ParseWAV(data []byte) (WAVInfo, error) {
	switch {
	case len(data) == 0:
		return WAVInfo{}, ErrEmpty
	case len(data) > MaxBytes:
		return WAVInfo{}, fmt.Errorf("%w: want at most %d bytes", ErrTooLarge, MaxBytes)
	case len(data) < 12 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WAVE":
		return WAVInfo{}, fmt.Errorf("%w: it does not begin with RIFF and WAVE", ErrNotWAV)
	}
	format, samples, comment, err := readChunks(data)
	if err != nil {
		return WAVInfo{}, err
	}
	info, frame, err := parseFormat(format)
	if err != nil {
		return WAVInfo{}, err
	}
	frames := int64(len(samples) / frame)
	if frames == 0 {
		return WAVInfo{}, fmt.Errorf("%w: it has no samples", ErrEmpty)
	}
	rate := int64(info.Rate)
	info.Duration = time.Duration(frames/rate)*time.Second + time.Duration(frames%rate)*time.Second/time.Duration(rate)
	info.Comment = comment
	return info, nil
}

// readChunks returns the content of the fmt and data chunks of a WAV file, and the comment. The
// chunks may come in any order and with other chunks between them. The error wraps ErrNotWAV if the
// fmt or the data chunk is missing, or if the fmt chunk is incomplete.
func readChunks(data []byte) (format, samples []byte, comment string, err error) {
	end := uint64(binary.LittleEndian.Uint32(data[4:])) + 8 // size of the file according to its header
	for at := 12; len(data)-at >= 8; {
		id, size := string(data[at:at+4]), uint64(binary.LittleEndian.Uint32(data[at+4:]))
		body := data[at+8:]
		if id == "data" && size == 0 && uint64(at+8+len(body)) > end {
			size = uint64(len(body)) // not filled in: the samples extend to the end of the file
		}
		cut := size > uint64(len(body))
		if cut {
			size = uint64(len(body))
		}
		body = body[:size]
		switch {
		case id == "data" && samples == nil:
			samples = body
		case cut && id == "fmt ":
			return nil, nil, "", fmt.Errorf("%w: it ends within the fmt chunk", ErrNotWAV)
		case id == "fmt " && format == nil:
			format = body
		case id == "LIST" && len(body) >= 4 && string(body[:4]) == "INFO" && comment == "":
			comment = readComment(body[4:])
		}
		at += 8 + int(size) + int(size&1)
	}
	switch {
	case format == nil:
		err = fmt.Errorf("%w: it has no fmt chunk", ErrNotWAV)
	case samples == nil:
		err = fmt.Errorf("%w: it has no data chunk", ErrNotWAV)
	}
	return format, samples, comment, err
}

// parseFormat parses b, the fmt chunk of a WAV file without the chunk header. It sets all fields of
// s but the duration and the comment, which other chunks determine. The result frameSize is the
// number of bytes of one frame, that is, of one sample of each channel. If the format is invalid or
// not supported, the error wraps ErrNotWAV.
func parseFormat(b []byte) (s WAVInfo, frameSize int, err error) {
	if len(b) < 16 {
		return s, 0, fmt.Errorf("%w: the fmt chunk has %d bytes, want at least 16", ErrNotWAV, len(b))
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	code := u16(0)
	if code == 0xfffe {
		if len(b) < 40 || string(b[26:40]) != extensibleGUID {
			return s, 0, fmt.Errorf("%w: unknown extensible format", ErrNotWAV)
		}
		code = u16(24)
	}
	s = WAVInfo{Channels: u16(2), Rate: int(binary.LittleEndian.Uint32(b[4:])), Bits: u16(14)}
	known, ok := formats[uint16(code)]
	switch {
	case !ok:
		return s, 0, fmt.Errorf("%w: unknown format %d", ErrNotWAV, code)
	case s.Channels == 0 || s.Rate == 0 || s.Bits == 0:
		return s, 0, fmt.Errorf("%w: got %d channels, %d frames per second, %d bits; want more than 0",
			ErrNotWAV, s.Channels, s.Rate, s.Bits)
	case !slices.Contains(known.bits, s.Bits):
		return s, 0, fmt.Errorf("%w: got %s with %d bits, want one of %v", ErrNotWAV, known.name, s.Bits, known.bits)
	}
	s.Format = known.name
	if frameSize = s.Channels * ((s.Bits + 7) / 8); u16(12) != frameSize {
		return s, 0, fmt.Errorf("%w: got frame size %d, want %d", ErrNotWAV, u16(12), frameSize)
	}
	return s, frameSize, nil
}

// readComment returns the text of the first ICMT chunk in list, without surrounding white space.
// The parameter list is the content of a LIST chunk of type INFO, after the type. If there is no
// ICMT chunk, the result is "". If the text has more than maxComment bytes, the rest is cut off.
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
				text = text[:len(text)-1] // the limit may split a character
			}
			return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
		}
		list = list[min(size+size&1, uint64(len(list))):]
	}
	return ""
}
