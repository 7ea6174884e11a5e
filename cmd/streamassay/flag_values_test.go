package main

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestValues(t *testing.T) {
	newSize := func() pflag.Value { return sizeValue(new(int64)) }
	newCount := func() pflag.Value { return countValue(new(int)) }
	newSpan := func() pflag.Value { return durationValue(new(time.Duration), 0) }
	for _, c := range []struct {
		of         func() pflag.Value
		text, want string // want is "" if the text is refused
	}{
		{newSize, "1", "1B"}, {newSize, "65536", "64KiB"}, {newSize, "64KiB", "64KiB"}, {newSize, "1 MiB", "1MiB"}, {newSize, "3GiB", "3GiB"},
		{newSize, "1kB", "1000B"}, {newSize, "1KB", "1000B"}, {newSize, "2MB", "2000000B"}, {newSize, "1GB", "1000000000B"}, {newSize, "7B", "7B"}, {newSize, "1536KiB", "1536KiB"},
		{newSize, "", ""}, {newSize, "0", ""}, {newSize, "-1", ""}, {newSize, "KiB", ""}, {newSize, "1.5MiB", ""}, {newSize, "1TiB", ""}, {newSize, "64kib", ""},
		{newSize, "9223372036854775807", ""}, {newSize, "99999999999GiB", ""}, {newSize, "1e6", ""}, {newSize, "0x10", ""},
		{newCount, "1", "1"}, {newCount, "4096", "4096"}, {newCount, "0", ""}, {newCount, "-1", ""}, {newCount, "many", ""}, {newCount, "99999999999", ""},
		{newSpan, "10m", "10m"}, {newSpan, "2h", "2h"}, {newSpan, "1h30m", "1h30m"}, {newSpan, "500ms", "500ms"}, {newSpan, "90s", "1m30s"},
		{newSpan, "0", ""}, {newSpan, "-1s", ""}, {newSpan, "10", ""}, {newSpan, "soon", ""},
	} {
		v := c.of()
		err := v.Set(c.text)
		if (err == nil) != (c.want != "") || err == nil && v.String() != c.want {
			t.Errorf("%s %q: %s, %v; want %q", v.Type(), c.text, v, err, c.want)
		}
		if err == nil {
			again := c.of()
			if again.Set(v.String()) != nil || again.String() != v.String() {
				t.Errorf("%s %q is shown as %s, which is another", v.Type(), c.text, v)
			}
		}
	}
	if s := formatDuration(10 * time.Second); s != "10s" {
		t.Errorf("ten seconds are shown as %s", s)
	}
}
