package dialect

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/streamassay/streamassay/spec"
)

// TestEveryFileIsEmbedded checks that no YAML file of a family is left out of the program, whatever
// its name, and that every version has a document and a catalogue.
func TestEveryFileIsEmbedded(t *testing.T) {
	root := os.DirFS("..")
	var onDisk []string
	families, err := fs.ReadDir(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		files, _ := fs.ReadDir(root, family.Name())
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".yaml") || strings.HasSuffix(f.Name(), ".yml") {
				onDisk = append(onDisk, family.Name()+"/"+f.Name())
			}
		}
	}
	embedded, _ := fs.Glob(spec.Documents, "*/*")
	if len(embedded) < 14 || !slices.Equal(onDisk, embedded) {
		t.Errorf("embedded are %v, the directories have %v", embedded, onDisk)
	}
	each(t, func(*testing.T, *Dialect) {})
}

// TestRegistry checks how versions are found: by any file name, with a default that the document
// states as YAML, however it is written.
func TestRegistry(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const document = "openapi: 3.2.0\ninfo: {title: some, version: '1'}\npaths: {}\n"
	r := newRegistry(fstest.MapFS{
		"one/1.yaml": file("{\"x-default\": true, openapi: 3.2.0, paths: {}}"), "one/1.requirements.yaml": file("[]"),
		"one/2.yaml": file("description: |\n  not the default:\nx-default: false\n" + document), "one/2.requirements.yaml": file("[]"),
		"two/a b.yaml": file(document + "x-default:   true # the newest\n"), "two/a b.requirements.yaml": file("[]"),
		"two/next.yaml": file("x-extends: a b\ninfo: {title: next}\n"), "two/next.requirements.yaml": file("[]"),
		"document/1.yaml":               file("x-default: true\n" + document),
		"catalogue/1.requirements.yaml": file("[]"), "broken/1.yaml": file("x-default: true\n  y: [\n"),
	})
	want := "broken@1 catalogue@1 document@1 one@1 one@2 two@a b two@next"
	if got := strings.Join(r.names, " "); got != want {
		t.Errorf("got the dialects %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"one": "one@1", "one@2": "one@2", "two": "two@a b", "two@next": "two@next",
		"three": `unknown dialect "three"`, "one@3": `unknown dialect "one@3"`,
		"document": "document/1.requirements.yaml: file does not exist", "catalogue": "catalogue/1.yaml: file does not exist",
		"catalogue@1": "catalogue/1.yaml: file does not exist", "broken": "broken/1.yaml: ", "broken@1": "broken/1.yaml:",
	} {
		d, err := r.open(name)
		if err == nil && d.Name != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, error %v; want %s", name, d, err, want)
		}
	}
	next, _ := r.open("two@next")
	if text, err := next.Document(); err != nil || next.Title != "next" || strings.Contains(string(text), "x-") {
		t.Errorf("the extended document has the title %q and is %s (error %v)", next.Title, text, err)
	}
}
