package reports

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares the output of all formats with golden files. A difference is either a mistake
// or an intended change; the flag -update writes the files again.
func TestGolden(t *testing.T) {
	for _, f := range Formats {
		golden(t, "sample"+f.Suffix, f.Write)
	}
	golden(t, "verbose.txt", func(w io.Writer, r *Report) error { return WriteText(w, r, TextStyle{Verbose: true}) })
	golden(t, "color.txt", func(w io.Writer, r *Report) error { return WriteText(w, r, TextStyle{Color: true}) })
}

func golden(t *testing.T, name string, write func(io.Writer, *Report) error) {
	t.Run(name, func(t *testing.T) {
		var b bytes.Buffer
		if err := write(&b, sample()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("it is not what %s says (go test -update writes it anew):\n%s", path, firstDifference(b.String(), string(want)))
		}
	})
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return "got:  " + g[i] + "\nwant: " + strings.Join(w[min(i, len(w)):min(i+1, len(w))], "")
		}
	}
	return "it ends too early"
}

func TestNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Formats {
		got, err := FormatByName(f.Name)
		if err != nil || got.Suffix != f.Suffix || !strings.HasPrefix(f.Suffix, ".") || f.Doc == "" {
			t.Errorf("%s: %+v, %v", f.Name, got, err)
		}
		if seen[f.Name] || seen[f.Suffix] {
			t.Errorf("%s: there are two of it", f.Name)
		}
		seen[f.Name], seen[f.Suffix] = true, true
	}
	for _, name := range []string{"json", "junit", "html", "markdown", "text"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
	_, err := FormatByName("pdf")
	if err == nil || !strings.Contains(err.Error(), `"pdf"`) || !strings.Contains(err.Error(), "want one of json, junit, html") {
		t.Errorf("the error does not say what would be right: %v", err)
	}
}

// TestEveryFormatAtTheEdges checks that every format can write an empty report, and returns the
// error of a writer that fails.
func TestEveryFormatAtTheEdges(t *testing.T) {
	for _, f := range Formats {
		var b bytes.Buffer
		if err := f.Write(&b, &Report{}); err != nil || b.Len() == 0 {
			t.Errorf("%s of nothing: %d bytes, %v", f.Name, b.Len(), err)
		}
		if err := f.Write(broken{}, sample()); !errors.Is(err, errBroken) {
			t.Errorf("%s to a full disk: %v", f.Name, err)
		}
	}
}

type broken struct{}

var errBroken = errors.New("no space left")

func (broken) Write([]byte) (int, error) { return 0, errBroken }
