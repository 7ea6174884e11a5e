package streamassay_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/streamassay/streamassay"

// allowedImports maps each package to the packages of this module and the modules that it may
// import, and the reason why it may import no others. All packages depend on spec, which depends on
// the standard library only.
var allowedImports = map[string]struct {
	imports []string
	because string
}{
	"spec":                   {[]string{"internal/printable"}, "all packages share its types"},
	"internal/coverage":      {[]string{"spec", "spec/dialect", "github.com/goccy/go-yaml"}, "it reads the documents and catalogs, not the scenarios and checks"},
	"internal/rules":         {[]string{"spec", "internal/printable", "github.com/evanphx/json-patch"}, "a check must not depend on a dialect"},
	"spec/dialect":           {[]string{"internal/textfile", "spec", "internal/near", "internal/yamltree", "internal/sse", "github.com/getkin/kin-openapi", "github.com/santhosh-tekuri/jsonschema", "github.com/goccy/go-yaml", "golang.org/x/text"}, "it reads documents; it has no checks and no network connections"},
	"internal/diff":          {[]string{"internal/exitcode", "internal/printable", "spec"}, "it compares responses without judging them"},
	"internal/exitcode":      {nil, "it only declares exit codes"},
	"internal/near":          {nil, "it only compares words"},
	"internal/textfile":      {nil, "it checks the encoding of files, whatever they mean"},
	"internal/yamltree":      {[]string{"github.com/goccy/go-yaml"}, "it finds the positions of values in a file, whatever they mean"},
	"internal/mutation":      {[]string{"internal/sse", "mockserver", "internal/fault", "internal/script", "reference", "internal/identity", "spec", "spec/dialect", "internal/rules", "suites"}, "it makes servers with a defect and runs the suite against them"},
	"internal/printable":     {nil, "it escapes and shortens text, whatever it contains"},
	"internal/redact":        {nil, "it removes secrets from text of any origin"},
	"internal/sse":           {nil, "it encodes and decodes frames, whatever they contain"},
	"internal/transcript":    {[]string{"internal/textfile", "internal/redact", "spec", "golang.org/x/net", "golang.org/x/tools"}, "it reads and writes recordings without interpreting them"},
	"internal/wire":          {[]string{"spec", "internal/printable", "internal/sse", "golang.org/x/net"}, "a client that knew the protocol might tolerate violations"},
	"reference":              {[]string{"spec", "spec/dialect", "internal/state", "internal/files", "internal/speech", "internal/identity", "internal/metrics", "github.com/google/uuid"}, "a server must be written from the documents, not from the checks"},
	"internal/state":         {nil, "it stores events without interpreting them"},
	"internal/state/durable": {[]string{"internal/state", "modernc.org/sqlite", "modernc.org/sqlite/lib", "github.com/gomodule/redigo"}, "it is the only package that depends on databases"},
	"internal/model":         {[]string{"spec", "internal/sse", "reference", "internal/state"}, "an agent must not depend on a dialect"},
	"internal/files":         {[]string{"internal/files/blob"}, "it stores files; the server decides who may read them"},
	"internal/files/blob":    {nil, "it declares how files are stored, whatever they contain"},
	"internal/files/s3":      {[]string{"internal/files/blob", "github.com/minio/minio-go"}, "it is the only package that depends on an object store"},
	"internal/speech":        {nil, "it only converts audio to text"},
	"internal/middleware":    {[]string{"internal/metrics", "internal/printable"}, "it must work in front of any server"},
	"internal/identity":      {[]string{"github.com/go-jose/go-jose"}, "authentication does not depend on the request's content"},
	"internal/metrics":       {[]string{"github.com/VictoriaMetrics/metrics"}, "it only counts"},
	"mockserver":             {[]string{"internal/near", "internal/sse", "spec", "spec/dialect", "reference", "internal/middleware", "internal/state", "internal/fault", "internal/journal", "internal/pace", "internal/replay", "internal/script", "internal/vary", "github.com/goccy/go-yaml"}, "it is the reference server with configurable responses; it judges nothing"},
	"internal/replay":        {[]string{"spec", "spec/dialect", "internal/redact", "internal/sse", "internal/transcript", "internal/wire", "github.com/goccy/go-yaml"}, "it replays recordings without judging them"},
	"internal/control":       {[]string{"internal/printable", "internal/sse", "spec", "spec/dialect", "mockserver", "internal/fault", "internal/journal", "internal/pace", "internal/script", "github.com/goccy/go-yaml"}, "it uses only what the mock exports; it serves no protocol"},
	"internal/fault":         {[]string{"spec", "internal/near", "internal/sse"}, "a fault changes events and bytes of any server"},
	"internal/journal":       {[]string{"internal/textfile", "internal/near", "internal/printable", "internal/redact", "internal/sse", "internal/yamltree", "reports", "spec", "spec/dialect", "internal/rules", "github.com/goccy/go-yaml", "github.com/goccy/go-yaml/parser"}, "it records exchanges and runs the client checks on them; it knows nothing of scripts"},
	"internal/pace":          {nil, "the times of events do not depend on their content"},
	"internal/vary":          {[]string{"internal/sse", "spec", "spec/dialect"}, "variations come from the documents, not from a server"},
	"reports":                {[]string{"internal/exitcode", "internal/printable", "internal/redact", "spec", "golang.org/x/term"}, "a report shows results; it computes none"},
	"suites":                 {[]string{"spec", "spec/dialect", "internal/printable", "internal/rules", "internal/redact", "internal/sse", "internal/wire", "github.com/onsi/ginkgo"}, "it sends the requests; it is the only package for users that depends on ginkgo"},
	"internal/script":        {[]string{"internal/textfile", "internal/near", "internal/printable", "internal/yamltree", "spec", "spec/dialect", "reference", "internal/fault", "internal/pace", "github.com/goccy/go-yaml", "github.com/google/uuid", "github.com/santhosh-tekuri/jsonschema", "golang.org/x/text"}, "it chooses replies; it does not serve, judge or wait"},
	"cmd/streamassay": {[]string{"internal/textfile", "internal/exitcode", "spec", "spec/dialect", "internal/rules", "suites", "reference", "reports", "internal/diff", "internal/mutation", "internal/near", "internal/printable", "internal/yamltree", "internal/redact", "internal/transcript", "internal/wire",
		"github.com/onsi/ginkgo", "github.com/spf13/cobra", "github.com/goccy/go-yaml", "golang.org/x/term",
		"internal/middleware", "internal/identity", "internal/metrics", "internal/model", "internal/speech", "internal/state", "internal/state/durable", "internal/files", "internal/files/blob", "internal/files/s3", "golang.org/x/sync", "github.com/spf13/pflag",
		"mockserver", "internal/control", "internal/fault", "internal/journal", "internal/replay", "internal/script", "internal/vary", "github.com/fsnotify/fsnotify"}, "it connects all other packages"},
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
	cmd := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=") // which may have -json, for example
	out, err := cmd.Output()
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
		rule, known := allowedImports[pkg]
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
		t.Errorf("only %d packages were checked", packages)
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
	dependenciesOf := func(pkg string) (all []string) {
		modules := goList(t, "{{with .Module}}{{.Path}}{{end}}", "-deps", module+"/"+pkg)
		for _, path := range heavy {
			if slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(m, path) }) {
				all = append(all, path)
			}
		}
		return all
	}
	for _, pkg := range public {
		if all := dependenciesOf(pkg); len(all) > 0 {
			t.Errorf("%s depends on %v", pkg, all)
		}
	}
	if all := dependenciesOf("cmd/streamassay"); len(all) != 3 {
		t.Errorf("the program depends on %v, want a database in a file, one on a server, and an object store", all)
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
