package sse_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// FuzzDecoder decodes any bytes with any cuts and limits. It checks that the decoder does not
// panic, that cuts do not change the items, and that the items cover all bytes and agree with the
// standard.
func FuzzDecoder(f *testing.F) {
	for _, s := range corpus() {
		for i, r := range s.renderings() {
			if len(r.body) < 200 {
				f.Add(r.body, uint(i), uint(len(r.body)/2), uint(i%3*10))
			}
		}
	}
	f.Add([]byte("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), uint(8), uint(10), uint(0))
	f.Add([]byte(mark+mark+"id\x00\r"), uint(1), uint(2), uint(3))
	f.Fuzz(func(t *testing.T, body []byte, one, two, limit uint) {
		i, j := int(one%uint(len(body)+1)), int(two%uint(len(body)+1))
		i, j = min(i, j), max(i, j)
		most := int(limit % 64) // 0 is the default
		untouched := bytes.Clone(body)
		whole, err := decode(most, body)
		for _, pieces := range [][][]byte{{body[:i], body[i:j], body[j:]}, bytewise(body)} {
			items, again := decode(most, pieces...)
			if !slices.EqualFunc(items, whole, same) || fmt.Sprint(err) != fmt.Sprint(again) {
				t.Fatalf("limit %d, cut into %q\n got %+v, %v\nwant %+v, %v", most, pieces, items, again, whole, err)
			}
		}
		if !bytes.Equal(body, untouched) {
			t.Fatalf("Feed wrote to its input %q", untouched)
		}
		if err == nil {
			agree(t, body, whole)
		}
	})
}
