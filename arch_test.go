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
	"spec":                   {nil, "the vocabulary is shared by all, so it may depend on none"},
	"internal/coverage":      {[]string{"spec", "spec/dialect", "github.com/goccy/go-yaml"}, "it accounts for lines of documents; what is asked and judged is not its business"},
	"internal/rules":         {[]string{"spec"}, "a rule that could ask for the dialect would be tuned to it"},
	"spec/dialect":           {[]string{"spec", "internal/near", "internal/yamltree", "internal/sse", "github.com/getkin/kin-openapi", "github.com/santhosh-tekuri/jsonschema", "github.com/goccy/go-yaml", "golang.org/x/text"}, "it reads documents; it neither judges nor talks"},
	"internal/diff":          {[]string{"internal/exitcode", "spec"}, "it compares what was told; which of the two is right is not its business"},
	"internal/exitcode":      {nil, "numbers that tell a shell how a command ended"},
	"internal/near":          {nil, "it compares words"},
	"internal/yamltree":      {[]string{"github.com/goccy/go-yaml"}, "where values stand in a file; what they mean is not its business"},
	"internal/mutation":      {[]string{"internal/sse", "mockserver", "internal/fault", "internal/script", "reference", "internal/identity", "spec", "spec/dialect", "internal/rules", "suites"}, "it makes servers that are wrong in one place, and lets the suite judge them"},
	"internal/printable":     {nil, "it shows texts, whatever they say"},
	"internal/redact":        {nil, "secrets and the texts that hold them; whose they are is not its business"},
	"internal/sse":           {nil, "bytes and frames; what they say is not its business"},
	"internal/transcript":    {[]string{"internal/redact", "spec", "golang.org/x/net", "golang.org/x/tools"}, "a recording names its dialect, it does not read it"},
	"internal/wire":          {[]string{"spec", "internal/sse", "golang.org/x/net"}, "a client that knew the protocol would forgive"},
	"reference":              {[]string{"spec", "spec/dialect", "internal/state", "internal/files", "internal/speech", "internal/identity", "internal/metrics", "github.com/google/uuid"}, "a server that could see the rules would be written to pass them"},
	"internal/state":         {nil, "it keeps what it is given; what that means is the server's business"},
	"internal/state/durable": {[]string{"internal/state", "modernc.org/sqlite", "modernc.org/sqlite/lib", "github.com/gomodule/redigo"}, "the only package that knows a database"},
	"internal/model":         {[]string{"spec", "internal/sse", "reference", "internal/state"}, "an agent like any other: it knows no dialect"},
	"internal/files":         {[]string{"internal/files/blob"}, "it keeps images; who may see them is the server's business"},
	"internal/files/blob":    {nil, "bytes with a type and metadata; what they mean is not its business"},
	"internal/files/s3":      {[]string{"internal/files/blob", "github.com/minio/minio-go"}, "the only package that knows an object store"},
	"internal/speech":        {nil, "bytes of a recording go in, a text comes out"},
	"internal/middleware":    {[]string{"internal/metrics"}, "it stands before all servers, and knows none of them"},
	"internal/identity":      {[]string{"github.com/go-jose/go-jose"}, "who asks does not depend on what is asked"},
	"internal/metrics":       {[]string{"github.com/VictoriaMetrics/metrics"}, "it counts what it is told to"},
	"mockserver":             {[]string{"internal/near", "internal/sse", "spec", "spec/dialect", "reference", "internal/middleware", "internal/state", "internal/fault", "internal/journal", "internal/pace", "internal/replay", "internal/script", "internal/vary", "github.com/goccy/go-yaml"}, "it is the reference with a hand on it; it does not judge"},
	"internal/replay":        {[]string{"spec", "spec/dialect", "internal/redact", "internal/sse", "internal/transcript", "internal/wire", "github.com/goccy/go-yaml"}, "recordings are played as wrong as they are: it does not judge"},
	"internal/control":       {[]string{"internal/printable", "internal/sse", "spec", "spec/dialect", "mockserver", "internal/fault", "internal/journal", "internal/pace", "internal/script", "github.com/goccy/go-yaml"}, "it shows and sets what the mock lets it; it serves no protocol"},
	"internal/fault":         {[]string{"spec", "internal/near", "internal/sse"}, "a fault spoils events and bytes; whose they are, and who asked for it, is not its business"},
	"internal/journal":       {[]string{"internal/redact", "internal/sse", "reports", "spec", "spec/dialect", "internal/rules", "github.com/goccy/go-yaml", "github.com/goccy/go-yaml/parser"}, "it keeps what went by and lets the rules judge it; scripts, and what frames mean, are not its business"},
	"internal/pace":          {nil, "when pieces are due does not depend on what they say"},
	"internal/vary":          {[]string{"internal/sse", "spec", "spec/dialect"}, "what a document leaves open stands in the document; it knows no server"},
	"reports":                {[]string{"internal/exitcode", "internal/printable", "internal/redact", "spec", "golang.org/x/term"}, "a report shows what was concluded"},
	"suites":                 {[]string{"spec", "spec/dialect", "internal/rules", "internal/redact", "internal/sse", "internal/wire", "github.com/onsi/ginkgo"}, "stimulus; the only package that sees ginkgo"},
	"internal/script":        {[]string{"internal/near", "internal/yamltree", "spec", "spec/dialect", "reference", "internal/fault", "internal/pace", "github.com/goccy/go-yaml", "github.com/google/uuid", "github.com/santhosh-tekuri/jsonschema", "golang.org/x/text"}, "it decides what is said; serving, judging and waiting are others' business"},
	"cmd/streamassay": {[]string{"internal/exitcode", "spec", "internal/coverage", "spec/dialect", "internal/rules", "suites", "reference", "reports", "internal/diff", "internal/mutation", "internal/near", "internal/yamltree", "internal/redact", "internal/transcript", "internal/wire",
		"github.com/onsi/ginkgo", "github.com/spf13/cobra", "github.com/goccy/go-yaml", "golang.org/x/term",
		"internal/middleware", "internal/identity", "internal/metrics", "internal/model", "internal/speech", "internal/state", "internal/state/durable", "internal/files", "internal/files/blob", "internal/files/s3", "golang.org/x/sync", "github.com/spf13/pflag",
		"mockserver", "internal/control", "internal/fault", "internal/journal", "internal/replay", "internal/script", "internal/vary", "github.com/fsnotify/fsnotify"}, "it wires the others together"},
}

// public lists the packages that users import. Everything else is internal, so that it can change.
var public = []string{"mockserver", "reference", "reports", "spec", "spec/dialect", "suites"}

// TestPublicPackages checks that no other package can be imported by users: every other one is
// below internal/, or a command.
func TestPublicPackages(t *testing.T) {
	var found []string
	for _, pkg := range goList(t, "{{if ne .Name \"main\"}}{{.ImportPath}}{{end}}", module+"/...") {
		name := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
		if name != "" && !strings.HasPrefix(name, "internal/") {
			found = append(found, name)
		}
	}
	if !slices.Equal(found, public) {
		t.Errorf("users can import %v, want %v", found, public)
	}
}

// goList returns the non-empty lines that "go list" prints for the given packages.
func goList(t *testing.T, format string, args ...string) (lines []string) {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-f", format}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestImports(t *testing.T) {
	packages := 0
	for _, line := range goList(t, `{{.ImportPath}} {{join .Imports " "}}`, module+"/...") {
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
		modules := goList(t, "{{with .Module}}{{.Path}}{{end}}", "-deps", module+"/"+pkg)
		for _, path := range heavy {
			if slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(m, path) }) {
				all = append(all, path)
			}
		}
		return all
	}
	for _, pkg := range public {
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
