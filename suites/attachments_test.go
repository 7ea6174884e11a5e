package suites_test

import (
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// hand tests the server d with the scenarios about files. found lists the violated requirements on
// uploads, those below MUST with a question mark; silent lists the requirements on uploads that
// were not judged. lacks are capabilities that the target is declared to lack, besides history.
func hand(t *testing.T, d *uploadServer, name string, lacks ...string) (found, silent []string) {
	t.Helper()
	runs, err := dialect.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(d)
	defer srv.Close()
	defer srv.CloseClientConnections()
	base, _ := url.Parse(srv.URL + runs.Base)
	var about []string
	for _, r := range runs.Requirements {
		if isUpload(r.ID) {
			about = append(about, r.ID)
		}
	}
	target := suites.Target{
		Dialect: runs, Base: base, Seed: 1, Limits: suites.Limits{IdleTimeout: 5 * time.Second}, LackedCapabilities: append(lacks, "history"),
		Only: []string{"attachments", "transcribe", "refusals", "text"}, RefusalsAbout: about,
	}
	parts, err := suites.Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]spec.Verdict{}
	for _, p := range parts {
		if p.Err != nil {
			t.Errorf("%s: %v", p.Scenario.Name, p.Err)
		}
		if d.how == "" {
			sameAgain(t, p)
		}
		for _, r := range p.Evaluation.Results {
			for _, law := range r.PlannedCheck.Requirements {
				got[law.ID] = max(got[law.ID], r.VerdictOn(law))
			}
		}
	}
	for _, r := range runs.Requirements {
		short := strings.TrimPrefix(strings.TrimPrefix(r.ID, "runs."), "errors.")
		switch v := got[r.ID]; {
		case !isUpload(r.ID) || r.Excluded != nil:
		case v == spec.Failed:
			found = append(found, short)
		case v == spec.Warned:
			found = append(found, short+"?")
		case v == spec.Silent:
			silent = append(silent, short)
		}
	}
	slices.Sort(found)
	return found, silent
}

// isUpload reports whether the requirement with the given id is about uploads.
func isUpload(id string) bool {
	return slices.ContainsFunc([]string{"runs.attachments.", "runs.transcribe.", "runs.create.binary-", "runs.errors.code-att", "runs.errors.code-audio", "runs.errors.malformed"},
		func(area string) bool { return strings.HasPrefix(id, area) })
}

// TestUploads checks that correct servers pass, including unusual ones, and that in each faulty
// server exactly its own fault is found. Unless the environment variable ALL_VERSIONS is set, every
// second server is left out.
func TestUploads(t *testing.T) {
	servers := map[string]struct{ found, silent string }{
		"": {},
		// Odd, and right.
		"says 201":                       {},
		"shouts":                         {},
		"goes by the bytes":              {},
		"goes by the thread":             {},
		"says 422 for what is not there": {},
		"hangs up on large requests":     {},
		"hangs up without a word":        {silent: "transcribe.size code-audio-large"},
		"keeps its files elsewhere":      {silent: "attachments.url-download attachments.signed-fresh"},
		"tells no host":                  {silent: "attachments.url-download attachments.signed-fresh"},
		"sends on":                       {silent: "attachments.url-download attachments.signed-fresh"},
		// Wrong.
		"goes by the name":                 {found: "attachments.type-422"},
		"takes every type":                 {found: "attachments.type-422 code-audio-format? transcribe.type"},
		"takes empty files":                {found: "attachments.empty-422 code-att-empty? code-audio-empty? transcribe.empty?"},
		"calls empty files something else": {found: "code-att-empty?"},
		"takes nothing":                    {found: "attachments.empty-422 attachments.file-field? code-att-empty? code-audio-empty? transcribe.empty? transcribe.field?"},
		"takes JSON":                       {found: "attachments.multipart? transcribe.multipart?"},
		"asks for no thread":               {found: "attachments.thread-field?"},
		"says 415":                         {found: "attachments.type-422"},
		"says that all is JPEG":            {found: "attachments.mime-echo?"},
		"forgets the path":                 {found: "attachments.shape attachments.signed-echo"},
		"tells in HTML":                    {found: "attachments.mime-echo? attachments.signed-echo attachments.upload"},
		"tells nothing":                    {found: "attachments.mime-echo? attachments.signed-echo attachments.upload"},
		"is full":                          {found: "attachments.mime-echo? attachments.signed-echo attachments.upload"},
		"says 302":                         {found: "attachments.mime-echo? attachments.signed-echo attachments.upload transcribe.endpoint transcribe.transcript"},
		"tells nobody":                     {found: "transcribe.endpoint transcribe.transcript"},
		"signs anything":                   {found: "attachments.signed-bucket? attachments.signed-path? attachments.signed-unknown?"},
		"signs what is not there":          {found: "attachments.signed-unknown?"},
		"signs something else":             {found: "attachments.signed-echo"},
		"gives dead links again":           {found: "attachments.signed-fresh?"},
		"shows files to users only":        {found: "attachments.signed-fresh? attachments.url-download?"},
		"shows other files":                {found: "attachments.signed-fresh? attachments.url-download?"},
		"wants the thread first":           {found: "attachments.upload"},
		"escapes no names":                 {found: "attachments.signed-fresh? attachments.url-download?"},
		"wants a short head":               {found: "transcribe.endpoint"},
		"takes large files":                {found: "code-audio-large? transcribe.size"},
		"takes a megabyte":                 {found: "transcribe.endpoint"},
		"knows two names":                  {found: "transcribe.wave"},
		"tells in numbers":                 {found: "transcribe.transcript"},
		"takes data":                       {found: "create.binary-no-data"},
		"takes links from anywhere":        {found: "create.binary-foreign?"},
		"takes no images":                  {found: "attachments.url-usable create.binary-accept"},
	}
	for i, how := range slices.Sorted(maps.Keys(servers)) {
		if os.Getenv("ALL_VERSIONS") == "" && i%2 == 1 {
			continue
		}
		c := servers[how]
		for _, name := range []string{"runs@2026-03", "runs@2026-04"} {
			if name == "runs@2026-03" && how != "" { // in this they are the same
				continue
			}
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				lacks := []string{}
				if c.found != "" && !strings.Contains(c.found, "transcribe") && !strings.Contains(c.found, "audio") {
					lacks = []string{"transcribe"} // these bodies are large
				}
				found, silent := hand(t, newUploadServer(how), name, lacks...)
				if got := strings.Join(found, " "); got != c.found {
					t.Errorf("found %q, want %q", got, c.found)
				}
				if got := strings.Join(silent, " "); c.found == "" && got != c.silent {
					t.Errorf("silent are %q, want %q", got, c.silent)
				}
			})
		}
	}
}

// TestLinksAreAskedForByNobody checks that signed URLs are requested without credentials and
// without other configured header fields, and that a URL of another host or port is not requested.
func TestLinksAreAskedForByNobody(t *testing.T) {
	runs, err := dialect.Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	other := httptest.NewServer(newUploadServer(""))
	defer other.Close()
	for _, elsewhere := range []string{"", other.URL} {
		d := newUploadServer("")
		d.elsewhere = elsewhere
		srv := httptest.NewServer(d)
		defer srv.Close()
		base, _ := url.Parse(srv.URL + runs.Base)
		base.User = url.UserPassword("ann", "secret-of-ann")
		parts, err := suites.Run(t.Context(), suites.Target{
			Dialect: runs, Base: base, Header: append(bearer("token-of-ann"), spec.HeaderField{Name: "X-Tenant", Value: "t"}), Only: []string{"attachments"}, LackedCapabilities: []string{"history"},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int{"": 18}[elsewhere]; len(d.fetched) != want {
			t.Errorf("links to %q were asked for %d times, want %d", elsewhere, len(d.fetched), want)
		}
		for _, h := range d.fetched {
			if h.Get("Authorization") != "" || h.Get("X-Tenant") != "" {
				t.Errorf("a link is asked for with %v", h)
			}
		}
		for _, p := range parts {
			for _, r := range p.Evaluation.Results {
				if r.Verdict > spec.Passed && strings.HasPrefix(r.PlannedCheck.Check.ID, "attachment.") {
					t.Errorf("%s %s: %v", r.PlannedCheck.Check.ID, r.Verdict, r.Findings)
				}
			}
		}
	}
	if hits := other.Config.Handler.(*uploadServer).fetched; len(hits) > 0 {
		t.Errorf("another server was asked %d times", len(hits))
	}
}
