package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reports"
)

// TestNothingSelected checks that a report says why no request was sent, unless a request was
// attempted, and that the test of nothing does not pass.
func TestNothingSelected(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"http://127.0.0.1:9 --dialect agui --only tool --lacks tool", "no request was sent: --lacks excludes tool\n"},
		{"reference --dialect agui --only combination-1 --lacks scripted", "no request was sent: what is selected needs a"},
		{"http://127.0.0.1:9 --dialect agui --only combination-900", "no request was sent: http://127.0.0.1:9: connection"},
		{"http://127.0.0.1:9 --dialect runs --only second-user --header Cookie:a=b", "no request was sent: no second user is configured (--other-header)\n"},
		{"http://127.0.0.1:9 --dialect runs --only stream-limit", "no request was sent: no stream limit is configured (--stream-limit)\n"},
		{"http://127.0.0.1:9 --dialect runs --only credentials", "no request was sent: no credentials of the user are configured (--header)\n"},
		{"http://127.0.0.1:9 --dialect agui --only text", ""},
	} {
		code, out, _ := streamassay(t, t.TempDir(), append([]string{"run"}, strings.Fields(c.args)...)...)
		if code != exitInconclusive || !strings.Contains(out, c.says) ||
			c.says == "" && strings.Contains(out, "no request was sent") {
			t.Errorf("%s: exit %d\n%s", c.args, code, out)
		}
	}
}

// TestProxyAdvice checks that the advice about an unreachable target states that proxies are not
// used, if the environment names one that other programs would use.
func TestProxyAdvice(t *testing.T) {
	const unused = " is set, but streamassay does not use proxies"
	for _, c := range []struct{ set, base, before, after string }{
		{"HTTP_PROXY", "http://a.invalid", "check", "check; HTTP_PROXY" + unused},
		{"https_proxy", "https://a.invalid", "", "https_proxy" + unused},
		{"HTTPS_PROXY", "http://a.invalid", "check", "check"},
		{"HTTP_PROXY", "http://127.0.0.1:1", "check", "check"},
	} {
		env := func(name string) string { return map[string]string{c.set: "http://127.0.0.1:1"}[name] }
		base, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		causes := []reports.Cause{{Kind: "unreachable", Advice: c.before, Fatal: true}, {Kind: "credentials"}}
		adviseAboutProxy(env, base, causes)
		if causes[0].Advice != c.after || causes[1].Advice != "" {
			t.Errorf("%s, %s: advice %q, want %q", c.set, c.base, causes[0].Advice, c.after)
		}
	}
}

// TestClaimNotes checks that a run states that a claim has no effect if, and only if, none of its
// dialects has the capability.
func TestClaimNotes(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--dialect agkit --claim attachments":        "streamassay: --claim attachments has no effect: no such capability in agkit@0.0.10\n",
		"--dialect agkit,runs --claim attachments":   "",
		"--dialect agkit --claim scripted,tool":      "",
		"--dialect agkit --claim all":                "",
		"--dialect agkit,agui --claim cancel,resume": "no effect: no such capability in agkit@0.0.10, agui@1.0\n",
	} {
		code, _, said := streamassay(t, t.TempDir(), append([]string{"run", "--only", "text"}, strings.Fields(args)...)...)
		if code != exitOK || !strings.HasSuffix(said, says) || says == "" && said != "" {
			t.Errorf("%s: exit %d, %q, want %q", args, code, said, says)
		}
	}
}
