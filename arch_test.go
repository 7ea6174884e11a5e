package streamassay_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/streamassay/streamassay"

// Who may import whom, our own and others', and why not more. Everything points at
// spec; spec and its rules point at nothing but the standard library.
var may = map[string]struct {
	imports []string
	because string
}{
	"spec":                    {nil, "the vocabulary is shared by all, so it may depend on none"},
	"spec/coverage":           {[]string{"spec", "spec/dialect", "github.com/goccy/go-yaml"}, "it accounts for lines of documents; what is asked and judged is not its business"},
	"spec/rules":              {[]string{"spec"}, "a rule that could ask for the dialect would be tuned to it"},
	"spec/dialect":            {[]string{"spec", "internal/near", "internal/sse", "github.com/getkin/kin-openapi", "github.com/santhosh-tekuri/jsonschema", "github.com/goccy/go-yaml", "golang.org/x/text"}, "it reads documents; it neither judges nor talks"},
	"internal/diff":           {[]string{"internal/exitcode", "spec"}, "it compares what was told; which of the two is right is not its business"},
	"internal/exitcode":       {nil, "numbers that tell a shell how a command ended"},
	"internal/near":           {nil, "it compares words"},
	"internal/mutation":       {[]string{"internal/sse", "mockserver", "mockserver/fault", "mockserver/script", "reference", "reference/identity", "spec", "spec/dialect", "spec/rules", "suites"}, "it makes servers that are wrong in one place, and lets the suite judge them"},
	"internal/printable":      {nil, "it shows texts, whatever they say"},
	"internal/redact":         {nil, "secrets and the texts that hold them; whose they are is not its business"},
	"internal/sse":            {nil, "bytes and frames; what they say is not its business"},
	"internal/transcript":     {[]string{"internal/redact", "spec", "golang.org/x/tools"}, "a recording names its dialect, it does not read it"},
	"internal/wire":           {[]string{"spec", "internal/sse", "golang.org/x/net"}, "a client that knew the protocol would forgive"},
	"reference":               {[]string{"spec", "spec/dialect", "reference/state", "reference/files", "reference/speech", "reference/identity", "reference/metrics"}, "a server that could see the rules would be written to pass them"},
	"reference/state":         {nil, "it keeps what it is given; what that means is the server's business"},
	"reference/state/durable": {[]string{"reference/state", "modernc.org/sqlite", "modernc.org/sqlite/lib", "github.com/gomodule/redigo"}, "the only package that knows a database"},
	"reference/model":         {[]string{"spec", "internal/sse", "reference", "reference/state"}, "an agent like any other: it knows no dialect"},
	"reference/files":         {[]string{"reference/files/blob"}, "it keeps images; who may see them is the server's business"},
	"reference/files/blob":    {nil, "bytes with a type and metadata; what they mean is not its business"},
	"reference/files/s3":      {[]string{"reference/files/blob", "github.com/minio/minio-go"}, "the only package that knows an object store"},
	"reference/speech":        {nil, "bytes of a recording go in, a text comes out"},
	"reference/middleware":    {[]string{"reference/metrics"}, "it stands before all servers, and knows none of them"},
	"reference/identity":      {[]string{"github.com/go-jose/go-jose"}, "who asks does not depend on what is asked"},
	"reference/metrics":       {[]string{"github.com/VictoriaMetrics/metrics"}, "it counts what it is told to"},
	"mockserver":              {[]string{"internal/near", "internal/sse", "spec", "spec/dialect", "reference", "reference/middleware", "reference/state", "mockserver/fault", "mockserver/journal", "mockserver/pace", "mockserver/replay", "mockserver/script", "mockserver/vary", "github.com/goccy/go-yaml"}, "it is the reference with a hand on it; it does not judge"},
	"mockserver/replay":       {[]string{"spec", "spec/dialect", "internal/redact", "internal/sse", "internal/transcript", "internal/wire", "github.com/goccy/go-yaml"}, "recordings are played as wrong as they are: it does not judge"},
	"mockserver/control":      {[]string{"internal/printable", "internal/sse", "spec", "spec/dialect", "mockserver", "mockserver/fault", "mockserver/journal", "mockserver/pace", "mockserver/script", "github.com/goccy/go-yaml"}, "it shows and sets what the mock lets it; it serves no protocol"},
	"mockserver/fault":        {[]string{"spec", "internal/near", "internal/sse"}, "a fault spoils events and bytes; whose they are, and who asked for it, is not its business"},
	"mockserver/journal":      {[]string{"internal/redact", "reports", "spec", "spec/dialect", "spec/rules", "github.com/goccy/go-yaml", "github.com/goccy/go-yaml/parser"}, "it keeps what went by and lets the rules judge it; scripts, and what frames mean, are not its business"},
	"mockserver/pace":         {nil, "when pieces are due does not depend on what they say"},
	"mockserver/vary":         {[]string{"internal/sse", "spec", "spec/dialect"}, "what a document leaves open stands in the document; it knows no server"},
	"reports":                 {[]string{"internal/exitcode", "internal/printable", "internal/redact", "spec", "golang.org/x/term"}, "a report shows what was concluded"},
	"suites":                  {[]string{"spec", "spec/dialect", "spec/rules", "internal/redact", "internal/sse", "internal/wire", "github.com/onsi/ginkgo"}, "stimulus; the only package that sees ginkgo"},
	"mockserver/script":       {[]string{"internal/near", "spec", "spec/dialect", "reference", "mockserver/fault", "mockserver/pace", "github.com/goccy/go-yaml", "github.com/santhosh-tekuri/jsonschema", "golang.org/x/text"}, "it decides what is said; serving, judging and waiting are others' business"},
	"cmd/streamassay": {[]string{"internal/exitcode", "spec", "spec/coverage", "spec/dialect", "spec/rules", "suites", "reference", "reports", "internal/diff", "internal/mutation", "internal/near", "internal/redact", "internal/transcript", "internal/wire",
		"github.com/onsi/ginkgo", "github.com/spf13/cobra", "github.com/goccy/go-yaml", "golang.org/x/term",
		"reference/middleware", "reference/identity", "reference/metrics", "reference/model", "reference/speech", "reference/state", "reference/state/durable", "reference/files", "reference/files/blob", "reference/files/s3", "github.com/spf13/pflag",
		"mockserver", "mockserver/control", "mockserver/fault", "mockserver/journal", "mockserver/replay", "mockserver/script", "mockserver/vary", "github.com/fsnotify/fsnotify"}, "it wires the others together"},
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		pkg := strings.TrimPrefix(strings.TrimPrefix(f[0], module), "/")
		if pkg == "" {
			continue
		}
		packages++
		rule, known := may[pkg]
		if !known {
			t.Errorf("%s is not in the table: say what it may import, and why", pkg)
			continue
		}
		for _, imp := range f[1:] {
			if dep, standard := dependency(imp); !standard && !slices.Contains(rule.imports, dep) {
				t.Errorf("%s may not import %s: %s", pkg, dep, rule.because)
			}
		}
	}
	if packages < 8 {
		t.Errorf("only %d packages were looked at", packages)
	}
}

// heavy lists the modules on which packages for users must not depend, because they would enlarge a
// user's program: databases, cloud services and models.
var heavy = []string{
	"modernc.org/sqlite", "github.com/redis/go-redis", "github.com/gomodule/redigo", "github.com/minio/minio-go",
	"gocloud.dev", "github.com/aws", "google.golang.org/api", "google.golang.org/grpc", "github.com/openai/openai-go",
}

// TestLightLibrary checks that users who import the packages for tests, or the server, depend on
// none of the heavy modules: only the program does.
func TestLightLibrary(t *testing.T) {
	drawsIn := func(pkg string) (all []string) {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", module+"/"+pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range heavy {
			if strings.Contains("\n"+string(out), "\n"+path) {
				all = append(all, path)
			}
		}
		return all
	}
	for _, pkg := range []string{"spec", "spec/rules", "suites", "mockserver", "reference", "reference/model", "reports"} {
		if all := drawsIn(pkg); len(all) > 0 {
			t.Errorf("%s draws in %v", pkg, all)
		}
	}
	if all := drawsIn("cmd/streamassay"); len(all) != 3 {
		t.Errorf("the program draws in %v, want a database in a file, one on a server, and an object store", all)
	}
}

// dependency returns the name under which the table lists the import with the given path: a package
// of this module without the name of the module, and the first three elements of any other path.
// standard reports whether the package belongs to the standard library.
func dependency(path string) (name string, standard bool) {
	if ours, ok := strings.CutPrefix(path, module+"/"); ok {
		return ours, false
	}
	parts := strings.Split(path, "/")
	if !strings.Contains(parts[0], ".") {
		return path, true
	}
	return strings.Join(parts[:min(3, len(parts))], "/"), false
}
