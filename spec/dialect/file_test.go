package dialect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// echoFiles creates a directory with the files of a small dialect and returns the path of the
// document. The first occurrence of old in each file is replaced by replacement; one of the files
// must contain old.
func echoFiles(t *testing.T, old, replacement string) (document string) {
	t.Helper()
	dir, found := t.TempDir(), false
	for _, name := range []string{"echo.yaml", "echo.requirements.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		found = found || strings.Contains(text, old)
		text = strings.Replace(text, old, replacement, 1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("no file has %q", old)
	}
	return filepath.Join(dir, "echo.yaml")
}

// openError opens a file that must be invalid and returns the error without the name of its
// directory.
func openError(t *testing.T, path string) string {
	t.Helper()
	d, err := dialect.OpenFile(path, rules.All)
	if err == nil {
		t.Errorf("opened %s, want an error", d.Name)
		return ""
	}
	return strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "")
}

// TestOpenFile checks the properties of a dialect that was read from files.
func TestOpenFile(t *testing.T) {
	d, err := dialect.OpenFile("testdata/echo.yaml", rules.All)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "echo@1" || d.Family != "echo" || d.Version != "1" || d.Title != "Echo" || len(d.Requirements) != 4 {
		t.Errorf("opened %+v", d)
	}
	if n := len(d.Plan(rules.All).PlannedChecks); n != 3 {
		t.Errorf("the plan has %d obligations, want 3", n)
	}
	if _, err := dialect.Open("echo@1"); err == nil {
		t.Error("a dialect that was read from files can be opened by its name")
	}
}

// TestConstants checks that const tells the events of a dialect apart as an enum with one value
// does, and that files may begin with a byte order mark.
func TestConstants(t *testing.T) {
	path := echoFiles(t, "type: {enum: [delta]}", "type: {const: delta}")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := "\ufeff" + strings.Replace(string(data), "type: {enum: [error]}", "type: {const: error}", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := dialect.OpenFile(path, rules.All)
	if err != nil {
		t.Fatal(err)
	}
	o := d.Operations()[0]
	for _, want := range []spec.Event{{Kind: spec.MessageDelta, Text: "a"}, {Kind: spec.RunError, Text: "b"}} {
		frame, err := o.AppendEvent(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		x := spec.Exchange{Response: spec.Response{
			Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: frame,
		}}
		x.Request, _ = d.BuildRequest(o.Templates()[0], spec.Event{Text: "a"})
		var got []spec.Event
		for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
			if e.IsFrame() {
				got = append(got, e)
			}
		}
		if len(got) != 1 || got[0].Kind != want.Kind || got[0].Text != want.Text {
			t.Errorf("%s is decoded as %+v, want kind %s", frame, got, want.Kind)
		}
	}
}

// TestSettings checks that requests contain the values of settings: the defaults in the document,
// or the values given to WithSettings.
func TestSettings(t *testing.T) {
	d, err := dialect.OpenFile("testdata/echo.yaml", rules.All)
	if err != nil {
		t.Fatal(err)
	}
	large, err := d.WithSettings(map[string]string{"model": "large"})
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[*dialect.Dialect]string{d: `"model":"small"`, large: `"model":"large"`} {
		r, err := d.BuildRequest("prompt", spec.Event{Text: "{{set.model}}"})
		if err != nil || !strings.Contains(string(r.Body), want) || !strings.Contains(string(r.Body), `"content":"{{set.model}}"`) {
			t.Errorf("the request is %s (error %v), want %s in it", r.Body, err, want)
		}
	}
	if _, err := d.WithSettings(map[string]string{"modle": "x"}); err == nil || !strings.Contains(err.Error(), "did you mean model?") {
		t.Errorf("an unknown setting: error %v", err)
	}
}

// TestInvalidFiles checks that each mistake in a document or its catalogue leads to an error with
// the file, the line and the pointer of the mistake.
func TestInvalidFiles(t *testing.T) {
	for name, c := range map[string]struct{ old, replacement, want string }{
		"not YAML": {"components:\n", "components: [\n", "echo.yaml:37: not YAML: "},
		"another version of OpenAPI": {"openapi: 3.2.0", "openapi: 3.0.3",
			`echo.yaml:1: /openapi: the document has OpenAPI version "3.0.3", want 3.2.0`},
		"not OpenAPI": {"openapi: 3.2.0", "asyncapi: 3.0.0", "echo.yaml:1: /openapi: the version of OpenAPI is missing"},
		"Swagger": {"openapi: 3.2.0", `swagger: "2.0"`,
			"echo.yaml:1: /swagger: a Swagger 2.0 document: want an OpenAPI document of version 3.2 (openapi: 3.2.0)"},
		"no version": {`, version: "1"`, "", "echo.yaml:2: /info: not valid OpenAPI: invalid info: value of version must be"},
		"no description": {"description: refused\n", "summary: refused\n",
			"echo.yaml:34: /paths/~1run/post/responses/400: not valid OpenAPI: "},
		"unknown type": {"required: [type, text]\n", "required: [type, text]\n      additionalProperties: {type: strng}\n",
			"echo.yaml:58: /components/schemas/Delta/additionalProperties: not valid OpenAPI: "},
		"wrong type": {"required: [type, text]\n", "required: [type, text]\n      minProperties: many\n",
			`echo.yaml:58: /components/schemas/Delta/minProperties: not a valid schema: ` +
				`minProperties is "many": expected an integer`},
		"wrong type of a keyword that has a requirement elsewhere": {"        text: {type: string, x-slot: text}",
			"        more: {x-requirement: {minLength: echo.frame}}\n        text: {type: string, x-slot: text, minLength: one}",
			`echo.yaml:61: /components/schemas/Delta/properties/text/minLength: not a valid schema: ` +
				`minLength is "one": expected an integer`},
		"negative length": {"text: {type: string, x-slot: text}", "text: {type: string, x-slot: text, minLength: -1}",
			"echo.yaml:60: /components/schemas/Delta/properties/text/minLength: not a valid schema: " +
				"minLength is -1: expected at least 0"},
		"wrong type in a list": {"required: [type, text]", "required: [type, 5]",
			"echo.yaml:57: /components/schemas/Delta/required/1: not a valid schema: required[1] is 5: expected a string"},
		"null as a keyword's value": {"required: [type, text]\n", "required: [type, text]\n      minProperties: null\n",
			"echo.yaml:58: /components/schemas/Delta/minProperties: not a valid schema: " +
				"minProperties is null: expected an integer"},
		"wrong type outside of schemas": {"required: true", `required: "yes"`,
			`echo.yaml:12: /paths/~1run/post/requestBody/required: not valid OpenAPI: ` +
				`required is "yes": expected true or false`},
		"reference that leads nowhere": {`$ref: "#/components/schemas/Failure"`, `$ref: "#/components/schemas/Fail"`,
			`echo.yaml:28: /paths/~1run/post/responses/200/content/text~1event-stream/itemSchema/oneOf/1/$ref: not valid OpenAPI: ` +
				`the reference "#/components/schemas/Fail" leads nowhere`},
		"reference to a file": {`$ref: "#/components/schemas/Failure"`, `$ref: "other.yaml#/Failure"`,
			`echo.yaml:28: /paths/~1run/post/responses/200/content/text~1event-stream/itemSchema/oneOf/1/$ref: the reference ` +
				`"other.yaml#/Failure" does not begin with #/`},
		"unknown extension": {"x-kind: problem", "x-knd: problem",
			"echo.yaml:69: /components/schemas/Problem/x-knd: unknown extension x-knd; did you mean x-kind?"},
		"unknown kind": {"x-kind: message.delta", "x-kind: message.piece",
			`echo.yaml:55: /components/schemas/Delta/x-kind: x-kind: unknown kind "message.piece" ` +
				"(want one of message.delta, message.end, message.progress, message.start, or another one)"},
		"unknown kind of another form": {"x-kind: message.delta", "x-kind: delta text",
			`echo.yaml:55: /components/schemas/Delta/x-kind: x-kind: unknown kind "delta text" (want one of ask.assistant, `},
		"kind of no schema": {"x-kind: message.delta", "x-kind: http.request",
			`echo.yaml:55: /components/schemas/Delta/x-kind: x-kind: unknown kind "http.request"`},
		"unknown slot": {"error: {type: string, x-slot: text}", "error: {type: string, x-slot: txt}",
			`echo.yaml:72: /components/schemas/Problem/properties/error/x-slot: x-slot: unknown slot "txt"; did you mean text?`},
		"unknown member of an extension": {"status: [415, 400]", "statuses: [415, 400]",
			`echo.yaml:13: /paths/~1run/post/requestBody/x-error/statuses: x-error: unknown member "statuses"; did you mean status?`},
		"status of no refusal": {"status: [415, 400]", "status: [415, 200]",
			`echo.yaml:13: /paths/~1run/post/requestBody/x-error/status: x-error: is [415,200]: expected status codes from 400 to 599`},
		"status of no failure": {`sentinel: "[DONE]"`, "failure-status: [500, 200]",
			`echo.yaml:9: /paths/~1run/post/x-stream/failure-status: x-stream: is [500,200]: expected status codes from 400 to 599`},
		"order that is not a boolean": {`sentinel: "[DONE]"`, `reorders: "yes"`,
			`echo.yaml:9: /paths/~1run/post/x-stream/reorders: x-stream: is "yes": expected true or false`},
		"refusal without a requirement": {"{requirement: echo.refused, status: [415, 400]}", "{status: [415, 400]}",
			"echo.yaml:13: /paths/~1run/post/requestBody/x-error: x-error: has no requirement"},
		"unknown requirement": {"x-requirement: echo.frame", "x-requirement: echo.frames",
			`echo.yaml:25: /paths/~1run/post/responses/200/content/text~1event-stream/itemSchema/x-requirement: ` +
				`the requirement "echo.frames" is not in the catalogue`},
		"unknown requirement of a refusal": {"requirement: echo.refused", "requirement: echo.other",
			`echo.yaml:13: /paths/~1run/post/requestBody/x-error/requirement: the requirement "echo.other" is not in the catalogue`},
		"requirement that no check reads": {"x-requirement: echo.frame", "x-requirement: echo.nested",
			"echo.yaml:25: /paths/~1run/post/responses/200/content/text~1event-stream/itemSchema/x-requirement: " +
				"the requirement echo.nested is judged by no check that reads the document"},
		"frames without a requirement": {"                x-requirement: echo.frame\n", "",
			"echo.yaml:26: /paths/~1run/post/responses/200/content/text~1event-stream/itemSchema/oneOf/0: has no requirement"},
		"example of a schema": {"content: hi}", "content: 3}",
			"echo.yaml:53: /components/schemas/Ask/example: the example is not valid: messages[0].content"},
		"example of a stream": {`{"type":"delta","text":"a"}`, `{"type":"delta","text":3}`,
			"echo.yaml:29: /paths/~1run/post/responses/200/content/text~1event-stream/example: the example is not valid: "},
		"example of another frame": {`{"type":"delta","text":"a"}`, `{"type":"end"}`,
			"echo.yaml:29: /paths/~1run/post/responses/200/content/text~1event-stream/example: the example is not valid: "},
		"template": {`content: "{{text}}"`, `text: "{{text}}"`,
			"echo.yaml:18: /paths/~1run/post/requestBody/content/application~1json/examples/prompt/value: the example prompt is not valid: "},
		"template without a prompt": {`content: "{{text}}"`, `content: hello there`,
			"echo.yaml:18: /paths/~1run/post/requestBody/content/application~1json/examples/prompt/value: the example prompt does not say {{text}}"},
		"unknown placeholder": {"{{text}}", "{{txt}}",
			"echo.yaml:18: /paths/~1run/post/requestBody/content/application~1json/examples/prompt/value/messages/0/content: " +
				"unknown placeholder {{txt}}; did you mean text?"},
		"unknown setting": {"{{set.model}}", "{{set.modle}}",
			"echo.yaml:18: /paths/~1run/post/requestBody/content/application~1json/examples/prompt/value/model: " +
				"unknown placeholder {{set.modle}}; did you mean set.model?"},
		"modifier in a text": {"{{text}}", "say {{text?}}",
			"echo.yaml:18: /paths/~1run/post/requestBody/content/application~1json/examples/prompt/value/messages/0/content: " +
				"unknown placeholder {{text?}}"},
		"unknown member of the document": {"paths:", "path:",
			`echo.yaml:4: /path: not valid OpenAPI: unknown member "path"; did you mean paths?`},
		"unknown member of an operation": {"summary: says", "sumary: says",
			`echo.yaml:7: /paths/~1run/post/sumary: not valid OpenAPI: unknown member "sumary"; did you mean summary?`},
		"unknown keyword": {"error: {type: string, x-slot: text}", "error: {typex: string}",
			`echo.yaml:72: /components/schemas/Problem/properties/error/typex: not valid OpenAPI: unknown member "typex"`},
		"reference that is no text": {`$ref: "#/components/schemas/Failure"`, "$ref: 5",
			"echo.yaml:28: /paths/~1run/post/responses/200/content/text~1event-stream/itemSchema/oneOf/1/$ref: " +
				"not valid OpenAPI: $ref is 5: expected a string"},
		"unknown method": {"    post:", "    psot:",
			`echo.yaml:6: /paths/~1run/psot: not valid OpenAPI: unknown member "psot"; did you mean post?`},
		"media type of a template": {"          application/json:\n", "          text/plain:\n",
			`echo.yaml:15: /paths/~1run/post/requestBody/content/text~1plain: a request body with examples has the media type ` +
				`"text/plain": expected application/json or multipart/form-data`},
		"unknown status": {`"200":`, `"20O":`, "echo.yaml:20: /paths/~1run/post/responses/20O: not valid OpenAPI: " +
			`"20O" is not a status: expected a status code (200), a class (2XX) or default`},
		"class in small letters": {`"400":`, `"4xx":`,
			`echo.yaml:34: /paths/~1run/post/responses/4xx: not valid OpenAPI: "4xx" is not`},
		"space in a URL": {"paths:\n", "servers: [{url: v1 x}]\npaths:\n",
			`echo.yaml:4: /servers/0/url: not valid OpenAPI: url is "v1 x": expected a URL without ' ', such as /v1`},
		"unknown security scheme": {"paths:\n", "security: [{}, {baerer: []}]\npaths:\n",
			`echo.yaml:4: /security/1/baerer: not valid OpenAPI: components has no security scheme "baerer": define it in`},
		"unknown security scheme of an operation": {
			"      summary: says", "      security: [{baerer: []}]\n      summary: says",
			`echo.yaml:7: /paths/~1run/post/security/0/baerer: not valid OpenAPI: components has no security scheme "baerer"`},
		"written value": {"text: {type: string, x-slot: text}", "text: {type: string, enum: [a, b], x-write: c}",
			`echo.yaml:60: /components/schemas/Delta/properties/text/x-write: x-write: the value is "c": expected a or b`},
		"setting without a default": {"default: small, ", "",
			"echo.yaml:3: /x-settings/model: x-settings: the setting model has no default: expected {default: VALUE, "},
		"default that is a list": {"default: small", "default: [small]",
			`echo.yaml:3: /x-settings/model/default: x-settings: is ["small"]: expected a string, a number or a boolean`},
		"settings that are none": {
			"x-settings: {model: {default: small, description: the name of the model}}", "x-settings: small",
			`echo.yaml:3: /x-settings: x-settings: is "small": expected an object with settings by name`},
		"x-default": {"paths:\n", "x-default: maybe\npaths:\n",
			`echo.yaml:4: /x-default: x-default: is "maybe": expected true or false`},
		"missing slot": {"text: {type: string, x-slot: text}", "text: {type: string}",
			"echo.yaml:27: /paths/~1run/post/responses/200/content/text~1event-stream/itemSchema/oneOf/0: the kind message.delta needs a member with x-slot: text"},
		"inherit": {"status: [415, 400]}", "inherit: maybe}",
			`echo.yaml:13: /paths/~1run/post/requestBody/x-error/inherit: x-error: is "maybe": expected true or false`},
		"inherit: false alone": {"{requirement: echo.refused, status: [415, 400]}", "{inherit: false}",
			"echo.yaml:13: /paths/~1run/post/requestBody/x-error: x-error: has no requirement"},
		"no template": {"prompt: {value", "prmpt: {value", "echo.yaml:4: /paths: no operation starts a run"},
		"event-suffices": {"        sentinel: \"[DONE]\"\n", "        event-suffices: maybe\n",
			`echo.yaml:9: /paths/~1run/post/x-stream/event-suffices: x-stream: is "maybe": expected true or false`},
		"no x-stream": {"      x-stream:\n        sentinel: \"[DONE]\"\n        requirements: {status: echo.status}\n", "",
			"echo.yaml:6: /paths/~1run/post: the operation responds with text/event-stream, but has no x-stream"},
		"invalid pattern": {"        text: {type: string, x-slot: text}\n    Failure", "        text: {type: string, x-slot: text, pattern: '['}\n    Failure",
			"echo.yaml:60: /components/schemas/Delta/properties/text: not valid OpenAPI: "},
		"unknown check": {"checks: [wire.opens-stream]", "checks: [wire.opens]",
			`echo.requirements.yaml:6: /0/checks/0: no check judges requirement echo.status: there is no check "wire.opens"`},
		"check that the document lacks words for": {"checks: [wire.opens-stream]", "checks: [wire.opens-stream, run.ends-once]",
			"echo.requirements.yaml:6: /0/checks/1: no check judges requirement echo.status: run.ends-once needs the kind "},
		"neither checks nor a reason": {"  checks: [wire.opens-stream]\n", "",
			"echo.requirements.yaml:2: /0: no check judges requirement echo.status: expected checks"},
		"unknown level": {"level: SHOULD", "level: OUGHT",
			`echo.requirements.yaml:18: /3/level: requirement echo.nested has the level "OUGHT"`},
		"twice":              {"id: echo.nested", "id: echo.frame", "echo.requirements.yaml:17: /3: requirement echo.frame is listed twice"},
		"unknown exclusion":  {"kind: unobservable", "kind: lazy", `echo.requirements.yaml:21: /3/excluded/kind: requirement echo.nested is excluded with the unknown kind "lazy" (want capability, `},
		"no exclusion":       {"kind: unobservable, ", "", "echo.requirements.yaml:21: /3/excluded: requirement echo.nested is excluded without a kind: expected capability, "},
		"unknown field":      {"quote: Nobody", "qoute: Nobody", `echo.requirements.yaml:19: unknown field "qoute"; a requirement has id, level, `},
		"catalogue not YAML": {"- id: echo.frame\n", "- id: [echo.frame\n", "echo.requirements.yaml:"},
		"unknown kind of evidence": {"checks: [refuse.as-documented]", "checks: [refuse.as-documented]\n  about: [run.start]",
			`echo.requirements.yaml:17: /2/about/0: requirement echo.refused is about the kind "run.start"`},
		"embedded name": {`version: "1"`, `version: "a/b"`, "echo.yaml:2: /info/version: the version is part of the dialect's name"},
	} {
		t.Run(name, func(t *testing.T) {
			path := echoFiles(t, c.old, c.replacement)
			got := openError(t, path)
			if !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestUnreadableFiles checks the errors of files that cannot be read as documents at all.
func TestUnreadableFiles(t *testing.T) {
	path := echoFiles(t, "openapi", "openapi")
	dir := filepath.Dir(path)
	catalogue := filepath.Join(dir, "echo.requirements.yaml")
	check := func(path, want string) {
		t.Helper()
		if got := openError(t, path); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	check(filepath.Join(dir, "none.yaml"), "none.yaml: no such file or directory")
	check(filepath.Join(dir, "echo"), "echo: is not the name of a YAML file: want NAME.yaml")
	check(filepath.Join(dir, "echo.json"), "echo.json: is not the name of a YAML file: rename it to NAME.yaml (JSON is valid YAML)")
	if err := os.Rename(catalogue, catalogue+"~"); err != nil {
		t.Fatal(err)
	}
	check(path, "echo.requirements.yaml: no such file or directory: expected the catalogue of echo.yaml, a list of its requirements")
	for text, want := range map[string]string{"": "is empty", "# none\n---\n": "is empty", "[]": "has no requirements"} {
		if err := os.WriteFile(catalogue, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check(path, "echo.requirements.yaml: "+want+": expected the catalogue of echo.yaml, a list of its requirements")
	}
	if err := errors.Join(os.Rename(catalogue+"~", catalogue), os.Truncate(path, dialect.MaxFileBytes+1)); err != nil {
		t.Fatal(err)
	}
	check(path, "echo.yaml: is larger than 4194304 bytes")
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	check(path, "echo.yaml: is not a regular file")
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	check(path, "echo.yaml: is not a regular file")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("openapi: 3.2.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("- openapi"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(path, "echo.yaml:1: not an OpenAPI document: want a mapping with the members openapi, info and paths")
	if err := os.WriteFile(path, []byte("openapi: 3.2.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(path, "echo.yaml:1: /info: not valid OpenAPI: info is missing (an object with title and version is required)")
}

// TestExtendingFile checks that a document may extend another one in its directory, and that the
// errors name the file that has the mistake.
func TestExtendingFile(t *testing.T) {
	path := echoFiles(t, "openapi", "openapi")
	dir := filepath.Dir(path)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next := filepath.Join(dir, "next.yaml")
	write("next.yaml", "x-extends: echo.yaml\ninfo: {version: '2'}\n")
	write("next.requirements.yaml", "extends: echo.yaml\nwithout: [echo.nested]\n")
	d, err := dialect.OpenFile(next, rules.All)
	if err != nil || d.Name != "next@2" || d.Title != "Echo" || len(d.Requirements) != 3 {
		t.Fatalf("opened %+v, error %v", d, err)
	}
	for text, want := range map[string]string{
		"x-extends: next\n":       "next.yaml extends next: next.yaml: extends itself",
		"x-extends: ../echo\n":    "../echo.yaml: must be the name of a file in the same directory",
		"x-extends: other\n":      "other.yaml: no such file or directory",
		"x-extends: echo\nx-a: 1": "next.yaml:2: /x-a: unknown extension x-a",
		"x-extends: echo\ncomponents:\n  schemas:\n    Delta: {required: null, properties: {type: {x-slot: none}}}\n": "next.yaml:4: " +
			"/components/schemas/Delta/properties/type/x-slot: x-slot: unknown slot",
	} {
		write("next.yaml", text)
		if got := openError(t, next); !strings.Contains(got, want) {
			t.Errorf("%q: got %s\nwant %s", text, got, want)
		}
	}
	write("next.yaml", "x-extends: echo.yaml\n")
	write("next.requirements.yaml", "extends: echo\nrequirements:\n  - {id: a, level: MUST, quote: b, source: c, checks: [none]}\n")
	if got, want := openError(t, next), `next.requirements.yaml:3: /requirements/0/checks/0: no check judges requirement a: `; !strings.HasPrefix(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	const excluded = "  - {id: a, level: MUST, quote: b, source: c, excluded: {kind: unobservable, reason: d}}\n"
	write("next.requirements.yaml", "extends: echo\nrequirements:\n"+excluded+excluded)
	if got, want := openError(t, next), `next.requirements.yaml: requirement a is listed twice`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestFileError checks that an error about a place in a file can be examined as a *FileError.
func TestFileError(t *testing.T) {
	_, err := dialect.OpenFile(echoFiles(t, "x-kind: problem", "x-kind: nothing"), rules.All)
	at, ok := errors.AsType[*dialect.FileError](err)
	if !ok || at.Line != 69 || at.Pointer != "/components/schemas/Problem/x-kind" || !strings.HasSuffix(at.File, "echo.yaml") {
		t.Errorf("got %#v", err)
	}
}
