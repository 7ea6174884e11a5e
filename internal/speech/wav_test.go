package speech

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"
)

func u16(n int) string { return string(binary.LittleEndian.AppendUint16(nil, uint16(n))) }
func u32(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

// chunk returns a chunk of a WAV file with the correct size and padding.
func chunk(id, body string) string {
	pad := ""
	if len(body)%2 == 1 {
		pad = "\x00"
	}
	return id + u32(len(body)) + body + pad
}

// riff returns a WAV file that consists of the given chunks.
func riff(parts ...string) []byte {
	body := "WAVE" + strings.Join(parts, "")
	return []byte("RIFF" + u32(len(body)) + body)
}

// header returns a fmt chunk for the given format code.
func header(code, channels, rate, bits int) string {
	return chunk("fmt ", form(code, channels, rate, bits))
}

func form(code, channels, rate, bits int) string {
	frame := channels * ((bits + 7) / 8)
	return u16(code) + u16(channels) + u32(rate) + u32(rate*frame) + u16(frame) + u16(bits)
}

// second is a data chunk with one second of sound at 16,000 frames per second, mono, with 16 bits
// per sample.
var second = chunk("data", strings.Repeat("\x01\x02", 16000))

var mono = header(1, 1, 16000, 16)

func extensible(sub string) string {
	return chunk("fmt ", form(0xfffe, 1, 16000, 16)+u16(22)+u16(16)+u32(4)+sub)
}

func said(text string) string {
	return chunk("LIST", "INFO"+chunk("ISFT", "odd")+chunk("ICMT", text+"\x00"))
}

func TestCheck(t *testing.T) {
	samples := strings.Repeat("\x00", 16000)
	for name, test := range map[string]struct {
		data []byte
		want WAVInfo
	}{
		"plain":             {riff(mono, second), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"stereo":            {riff(header(1, 2, 8000, 24), chunk("data", samples)), WAVInfo{"pcm", 2, 8000, 24, 2666 * time.Second / 8000, ""}},
		"float":             {riff(header(3, 1, 4000, 32), chunk("data", samples)), WAVInfo{"float", 1, 4000, 32, time.Second, ""}},
		"a-law":             {riff(header(6, 1, 8000, 8), chunk("data", samples)), WAVInfo{"alaw", 1, 8000, 8, 2 * time.Second, ""}},
		"mu-law":            {riff(header(7, 1, 8000, 8), chunk("data", samples)), WAVInfo{"ulaw", 1, 8000, 8, 2 * time.Second, ""}},
		"extensible":        {riff(extensible("\x01\x00"+extensibleGUID), second), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"data first":        {riff(second, mono), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"odd chunk between": {riff(chunk("junk", "odd"), mono, chunk("bext", "x"), second), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"comment":           {riff(mono, said("hello there"), second), WAVInfo{"pcm", 1, 16000, 16, time.Second, "hello there"}},
		"comment last":      {riff(mono, second, said("你好")), WAVInfo{"pcm", 1, 16000, 16, time.Second, "你好"}},
		"half a sample":     {riff(mono, chunk("data", samples+"x")), WAVInfo{"pcm", 1, 16000, 16, time.Second / 2, ""}},
		"two data chunks":   {riff(mono, second, chunk("data", "xx")), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"something behind":  {append(riff(mono, second), "trailing"...), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"size -1":           {resized(0xffffffff, 0xffffffff), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"size 0":            {resized(0, 0), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"never filled in":   {resized(36, 0), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"as espeak-ng says": {resized(0x7ffff024, 0x7ffff000), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"riff size lies":    {resized(17, 32000), WAVInfo{"pcm", 1, 16000, 16, time.Second, ""}},
		"cut":               {riff(mono, second)[:44+16000], WAVInfo{"pcm", 1, 16000, 16, time.Second / 2, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseWAV(test.data); err != nil || got != test.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, test.want)
			}
		})
	}
}

// resized returns a WAV file of one second whose header has the given sizes, in bytes, instead of
// the correct ones.
func resized(file, data int) []byte {
	b := riff(mono, second)
	copy(b[4:], u32(file))
	copy(b[40:], u32(data))
	return b
}

func TestCheckRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"nothing":           {nil, ErrEmpty, ""},
		"no samples":        {riff(mono, chunk("data", "")), ErrEmpty, "no samples"},
		"no samples, more":  {riff(mono, chunk("data", ""), chunk("junk", "12345678")), ErrEmpty, "no samples"},
		"streamed nothing":  {resized(0xffffffff, 0xffffffff)[:44], ErrEmpty, "no samples"},
		"less than a frame": {riff(mono, chunk("data", "x")), ErrEmpty, "no samples"},
		"too large":         {riff(mono, chunk("data", strings.Repeat("x", MaxBytes))), ErrTooLarge, "10485760"},
		"text":              {[]byte("this is a text and no recording at all"), ErrNotWAV, "RIFF"},
		"mp3":               {[]byte("ID3\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), ErrNotWAV, "RIFF"},
		"one byte":          {[]byte("R"), ErrNotWAV, "RIFF"},
		"webp":              {[]byte("RIFF\x10\x00\x00\x00WEBPVP8 "), ErrNotWAV, "WAVE"},
		"big endian":        {append([]byte("RIFX"), riff(mono, second)[4:]...), ErrNotWAV, "RIFF"},
		"head alone":        {riff(), ErrNotWAV, "no fmt"},
		"no fmt":            {riff(second), ErrNotWAV, "no fmt"},
		"no data":           {riff(mono), ErrNotWAV, "no data"},
		"fmt cut":           {riff(mono, second)[:30], ErrNotWAV, "within the fmt chunk"},
		"short fmt":         {riff(chunk("fmt ", "12345678"), second), ErrNotWAV, "8 bytes"},
		"no channels":       {riff(header(1, 0, 16000, 16), second), ErrNotWAV, "0 channels"},
		"no rate":           {riff(header(1, 1, 0, 16), second), ErrNotWAV, "0 frames"},
		"no bits":           {riff(header(1, 1, 16000, 0), second), ErrNotWAV, "0 bits"},
		"odd bits":          {riff(header(1, 1, 16000, 17), second), ErrNotWAV, "17 bits"},
		"float of 16":       {riff(header(3, 1, 16000, 16), second), ErrNotWAV, "16 bits"},
		"mp3 inside":        {riff(header(0x55, 1, 16000, 16), second), ErrNotWAV, "85"},
		"frame lies":        {riff(chunk("fmt ", form(1, 1, 16000, 16)[:12]+u16(99)+u16(16)), second), ErrNotWAV, "99"},
		"extensible, short": {riff(header(0xfffe, 1, 16000, 16), second), ErrNotWAV, "extensible"},
		"extensible, other": {riff(extensible("\x01\x00"+strings.Repeat("x", 14)), second), ErrNotWAV, "extensible"},
		"extensible twice":  {riff(extensible("\xfe\xff"+extensibleGUID), second), ErrNotWAV, "65534"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseWAV(test.data)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %+v, %v; want %v with %q", got, err, test.want, test.text)
			}
		})
	}
}

func TestCommentIsBounded(t *testing.T) {
	long := strings.Repeat("é", 5000)
	got, err := ParseWAV(riff(mono, said(long), second))
	if err != nil || !strings.HasPrefix(long, got.Comment) || len(got.Comment) != maxComment {
		t.Errorf("%d bytes of a comment, %v", len(got.Comment), err)
	}
	got, err = ParseWAV(riff(mono, said("x"+long), second))
	if err != nil || got.Comment != "x"+long[:maxComment-2] {
		t.Errorf("%d bytes of a comment, %v", len(got.Comment), err)
	}
	got, _ = ParseWAV(riff(mono, said("a\xffb"), second))
	if got.Comment != "a\uFFFDb" {
		t.Errorf("comment %q", got.Comment)
	}
}

// TestCheckAllocatesNothing checks that ParseWAV does not allocate memory for the sizes in a
// header.
func TestCheckAllocatesNothing(t *testing.T) {
	data := resized(0xffffffff, 0xfffffff0)
	if n := testing.AllocsPerRun(10, func() { _, _ = ParseWAV(data) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(riff(mono, second)[:60])
	f.Add(riff(mono, said("hello"), chunk("data", "1234")))
	f.Add(resized(0, 0)[:50])
	f.Add(riff(extensible("\x01\x00"+extensibleGUID), chunk("junk", "x"), chunk("data", "1234")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseWAV(data)
		if err != nil {
			if !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrNotWAV) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("unknown error %v", err)
			}
			return
		}
		frame := s.Channels * ((s.Bits + 7) / 8)
		most := time.Duration(float64(len(data)) / float64(frame*s.Rate) * 1e9)
		if s.Channels < 1 || s.Rate < 1 || s.Bits < 1 || s.Duration < 0 || s.Duration > most+time.Microsecond || len(s.Comment) > maxComment*3 {
			t.Fatalf("%d bytes are %+v", len(data), s)
		}
	})
}
