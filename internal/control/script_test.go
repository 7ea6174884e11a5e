package control

import (
	"encoding/json"
	"strings"
	"testing"
)

const weather = `rules:
  - name: weather
    when: {text: {contains: weather}}
    reply: [{text: It rains.}]
    set: {talk: done}
`

// TestScripts checks that scripts are replaced for one test, and kept if the new ones have
// errors.
func TestScripts(t *testing.T) {
	k := rigged(t, seeded(7))
	yaml := []string{"Content-Type", "application/yaml"}
	if got := k.want(200, "PUT", "/v1/scripts?test=s", weather, yaml...); got.at("ok") != true {
		t.Fatal(got.text)
	}
	says := func(test, want string) {
		t.Helper()
		if text, err := k.ask("how is the weather?", "X-Test-Id", test).rest(); err != nil || strings.Contains(text, "rains") != (want == "rains") {
			t.Errorf("test %s, %v: %s", test, err, text)
		}
	}
	says("s", "rains")
	says("other", "")
	if got := k.want(200, "GET", "/v1/state?test=s", "").at("steps.talk"); got != "done" {
		t.Errorf("state %v", got)
	}
	const broken = "rules:\n  - name: x\n    wehn: {}\n    reply: 7\n"
	got := k.want(422, "PUT", "/v1/scripts?test=s", broken, yaml...)
	if got.at("problems.0.line") == 0.0 || got.at("problems.0.level") != "error" || !strings.Contains(got.text, "was not set") {
		t.Error(got.text)
	}
	says("s", "rains")
	if got := k.want(200, "POST", "/v1/scripts/check", broken, yaml...); got.at("ok") != false || got.at("problems.0.text") == nil {
		t.Error(got.text)
	}
	if got := k.want(200, "GET", "/v1/scripts?test=s", ""); got.at("rules.0.name") != "weather" || got.at("source") != weather {
		t.Error(got.text)
	}
	if got := k.want(200, "GET", "/v1/scripts?test=s", "", "Accept", "application/yaml"); got.text != weather {
		t.Error(got.text)
	}
	k.want(404, "GET", "/v1/scripts", "", "Accept", "application/yaml")
	k.want(204, "DELETE", "/v1/scripts?test=s", "")
	says("s", "")
	if got := k.want(200, "GET", "/v1/scripts/schema", ""); !json.Valid([]byte(got.text)) {
		t.Error(got.text)
	}
	if got := k.want(200, "GET", "/v1/journal?rule=weather", "").at("total"); got != 2.0 {
		t.Errorf("%v exchanges of the rule", got)
	}
}

// TestState checks that PUT /v1/state resets scenarios that it does not name.
func TestState(t *testing.T) {
	k := rigged(t, seeded(7))
	k.want(200, "PUT", "/v1/state?test=s", `{"steps": {"a": "one", "b": "two"}}`)
	got := k.want(200, "PUT", "/v1/state?test=s", `{"steps": {"a": "three"}}`)
	if got.at("steps.a") != "three" || got.at("steps.b") != "started" {
		t.Error(got.text)
	}
	if got := k.want(200, "GET", "/v1/state", "").text; got != "{\"steps\":{}}\n" {
		t.Error(got)
	}
	k.want(204, "POST", "/v1/reset?test=s", "")
	if got := k.want(200, "GET", "/v1/state?test=s", "").text; got != "{\"steps\":{}}\n" {
		t.Error(got)
	}
}

// TestFaults checks each JSON form of faults in the settings.
func TestFaults(t *testing.T) {
	k := rigged(t, seeded(7))
	list := k.want(200, "GET", "/v1/faults", "")
	names := list.json.(map[string]any)["faults"].([]any)
	if len(names) < 10 {
		t.Skipf("the catalogue has %d faults", len(names))
	}
	for _, said := range []string{`"abort; event=1"`, `["abort; event=1"]`, `[{"abort": {"event": 1}}]`} {
		got := k.want(200, "PUT", "/v1/settings?test=f", `{"faults": `+said+`}`)
		if got.at("faults.0") != "abort; event=1" {
			t.Error(got.text)
		}
		if text, err := k.ask(hello, "X-Test-Id", "f").rest(); err == nil || strings.Count(text, "\n\n") != 1 {
			t.Errorf("%v: %s", err, text)
		}
	}
	k.want(200, "PATCH", "/v1/settings?test=f", `{"faults": null}`)
	if _, err := k.ask(hello, "X-Test-Id", "f").rest(); err != nil {
		t.Error(err)
	}
	if got := k.want(200, "GET", "/v1/journal?ended=abort", "").at("total"); got != 3.0 {
		t.Errorf("%v were aborted", got)
	}
}
