package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// A wrong is an invalid invocation. The field words is the command line, in which URL stands for a
// server that must not receive a request, and EMPTY for an empty argument. The field says lists the
// texts, separated by bars, that the only line on stderr must contain.
type wrong struct{ words, says string }

// wrongTried lists the invalid invocations that a new user tried.
var wrongTried = []wrong{
	{"run EMPTY", `TARGET is empty|"reference"`},
	{"run EMPTY --dialect agkit", "TARGET is empty"},
	{"run ftp://127.0.0.1 --dialect agkit", "scheme ftp|not supported|http://"},
	{"run URL/?x=s3cr3t --dialect agkit", "/?…|query"},
	{"run URL/#part --dialect agkit", "fragment"},
	{"run http://user:s3cr3t@127.0.0.1 --dialect agkit", "--header"},
	{"run URL --dialect agkit --header Content-Length:5", "--header|Content-Length"},
	{"run URL --dialect agkit --header host:x", "--header|host"},
	{"run URL --dialect agkit --header Transfer-Encoding:chunked", "Transfer-Encoding"},
	{"run URL --dialect agkit --header Connection:close", "Connection"},
	{"run URL --dialect agkit --timeout 99999h", "--timeout|99999h"},
	{"run http://127.0.0.1:99999 --dialect agkit", "port 99999|out of range (1 to 65535)"},
	{"run URL --dialect agkit --parallel x", "--parallel x|whole number"},
	{"run URL --dialect agkit --seed -1", "--seed -1|from 0 to 18446744073709551615"},
	{"run URL --dialect agkit --seed 99999999999999999999", "--seed 9|from 0 to 18446744073709551615"},
	{"run URL --dialect agkit --seed abc", "--seed abc|whole number"},
	{"run URL --dialect agkit --max-event 16Mi", "--max-event 16Mi|64KiB, 10MB"},
	{"lint plain.sse --dialect agkit --max-event much", "--max-event much|64KiB"},
	{"run URL --dialect agkit --strict=maybe", "--strict maybe|true or false"},
	{"list dialects --json=5", "--json 5|true or false"},
	{"run URL --dialect agkit --strict false", "--strict false: want --strict=false"},
	{"mock --watch false --dialect agkit plain.yaml -- true", "--watch false: want --watch=false"},
	{"run URL --dialect agkit --report json=- --report junit=-", "--report json=-|--report junit=-|same place"},
	{"run URL --dialect agkit --report json=a --report junit=a", "same place"},
	{"run URL --dialect agkit --report json=a --report junit=./a", "same place"},
	{"mock --dialect agkit --expect-report folder -- true", "--expect-report folder|directory"},
	{"run --config empty.yaml", "empty.yaml|is empty|targets:"},
	{"run --config a.yaml --config b.yaml", "--config b.yaml|twice|a.yaml"},
	{"run URL --dialect agkit,", "comma too many"},
	{"run URL --dialect= --only text", "--dialect is empty: give it a value or leave it out"},
	{"run URL --dialect agkit --report json --report html", "--report json and --report html go to the same place, standard output (a file: html=PATH)"},
	{"frobnicate --help", `unknown command "frobnicate"`},
	{"run URL --dialect agkit --prompt text=", "--prompt|text|empty"},
	{"run URL --dialect agkit --lacks text", `--lacks: "text" cannot be lacking: every target must support it`},
	{"run URL --dialect agkit --lacks all", "--lacks|all"},
	{"run URL --dialect agkit --lacks nothing", `--lacks: unknown capability "nothing" (want one of `},
	{"run URL --dialect agkit --claim nothing", `--claim: unknown capability "nothing" (want "all" or one of `},
	{"run URL", "--dialect is required for a base URL (one of agentscope"},
	{"run URL --dialect agkit --report pdf", `--report: unknown format "pdf" (want one of json`},
	{"run URL --dialect agkit --max-bytes 5", "--max-bytes 5: must be from 1KiB to 1GiB"},
	{"run --max-bytes 1023 reference", "--max-bytes 1023: must be from 1KiB to 1GiB"},
	{"run URL --dialect agkit --skip *", `nothing is left to judge|--skip "*"`},
	{"run URL --dialect agkit --only run.*", `--only "run.*"|agkit`},
	{"run URL --dialect agkit --only sequence-9", `--only "sequence-9" matches no |; --sequences is 4`},
	{"run URL --dialect agkit --ca ca.pem --insecure", "--ca and --insecure cannot be used together"},
	{"diff URL reference", "--dialect is required for a base URL (one of agentscope"},
	{"diff URL URL --dialect agkit --header-b nocolon", "--header-b: must be 'Name: value'"},
	{"proxy --dialect agkit --upstream http://127.0.0.1:4999 --addr localhost:4999", "--upstream 127.0.0.1:4999 is the address of --addr"},
	{"mock --dialect agkit --record http://127.0.0.1:4999 --addr 127.0.0.1:4999", "--record 127.0.0.1:4999 is the address of --addr"},
	{"mutants --sample 0", "--sample 0|above 0"},
	{"mutants --each 0", "--each 0|above 0"},
	{"diff missing folder", "missing: no such file"},
	{"diff folder missing", "missing: no such file"},
	{"mock --dialect agkit --fault abort;event=x", `--fault "abort;event=x": abort: event: must be an integer from 0 to 1000000, not "x"`},
	{"serve --state redis", "unix://PATH (a Redis socket)"},
	{"mock --dialect agkit --record nope", `--record "nope" must be a base URL|http://`},
	{"mock --record nope", `--record "nope" must be a base URL`},
	{"mock --record URL", "--record needs exactly one --dialect: that of the server at http://"},
	{"mock --script nofile", "unknown flag: --script; scripts are arguments: streamassay mock FILE"},
	{"test URL", `unknown command "test"; to test a server: streamassay run TARGET`},
	{"scripts check", `unknown command "scripts"; to check a script: streamassay mock --check FILE`},
	{"mock --fault abort;bogus=1", `--fault "abort;bogus=1": abort has no parameter "bogus" (want one of byte, |; see streamassay list faults`},
	{"run --config typo.yaml", "--config typo.yaml:3: target 1: name: unknown field (a target has url, dialects, |transcripts; see docs/targets.yaml)"},
	{"run --config broken.yaml", "--config broken.yaml:1: missing ]"},
	{"run URL URL", "at most one TARGET"},
	{"serve --ready-file folder", "--ready-file folder|is a directory, want a file"},
	{"serve --state sqlite:", "--state sqlite:|nothing follows the colon"},
	{"completion tcsh", "tcsh|bash, fish"},
	{"help nope", `unknown command "nope"`},
	{"run URL --dialect agkit --header A:b --header nocolon", "--header (number 2 of 2)|colon"},
	{"mock --addr 0.0.0.0:0", "--addr 0.0.0.0:0|only loopback"},
	{"mock --control 127.0.0.1:99999", "--control 127.0.0.1:99999|out of range (0 to 65535)"},
	{"serve --addr 127.0.0.1:99999", "--addr 127.0.0.1:99999|out of range (0 to 65535)"},
	{"mock --dialect agkit --save x", "--save|--record"},
	{"mock --dialect agkit --header A:b", "--header|--record"},
	{"mock --dialect agkit --record URL --fault abort", "--fault|--record"},
}

// wrongToo lists further invalid invocations, for every command.
var wrongToo = []wrong{
	{"--frobnicate", "--frobnicate"},
	{"rum URL", "rum|did you mean run"},
	{"run URL --dialct agkit", "--dialct|did you mean --dialect"},
	{"run URL --dialect", "--dialect needs a value"},
	{"run URL -z", "-z"},
	{"run --config EMPTY", "--config is empty"},
	{"run EMPTY --config a.yaml", "TARGET is empty"},
	{"run reference --config a.yaml", "TARGET and --config"},
	{"run --config folder", "--config folder|directory"},
	{"run --config /dev/zero", "/dev/zero|bytes"},
	{"run URL --dialect EMPTY", "--dialect|empty"},
	{"run --dialect EMPTY", "--dialect|empty"},
	{"run URL --dialect ,agkit", "comma too many"},
	{"run URL --dialect agkit@", "agkit@"},
	{"run URL --dialect agkit --report EMPTY", "--report is empty"},
	{"run URL --dialect agkit --report json=folder", "json=folder|is a directory, want a file"},
	{"run URL --dialect agkit --report html=plain.sse/r", "plain.sse is not a directory"},
	{"run URL --dialect agkit --transcripts EMPTY", "--transcripts is empty"},
	{"run URL --dialect agkit --transcripts plain.sse/x", "--transcripts|plain.sse"},
	{"run URL --dialect agkit --transcripts a --transcripts b", "--transcripts b|twice"},
	{"run URL --dialect agkit --transcripts /proc/x/y", "--transcripts|cannot create files"},
	{"run URL --dialect agkit --ca EMPTY", "--ca is empty"},
	{"run URL --dialect agkit --ca folder", "--ca folder|directory"},
	{"run URL --dialect agkit --timeout 15", "--timeout 15: has no unit (want e.g. 15s)"},
	{"run URL --dialect agkit --timeout EMPTY", "--timeout is empty"},
	{"run URL --dialect agkit --parallel 5000", "--parallel 5000|1024"},
	{"run URL --dialect agkit --repeat 0", "--repeat 0|from 1"},
	{"run URL --dialect agkit --repeat 99999999999999999999", "--repeat|whole number"},
	{"run URL --dialect agkit --sequences -1", "--sequences -1: must be from 0 to 1000"},
	{"run URL --dialect agkit --sequences 1e3", "--sequences 1e3|whole number"},
	{"run URL --dialect runs --stream-limit 999999999", "--stream-limit 999999999: must be from 1 to 256, or 0 for unknown"},
	{"run URL --dialect agkit --header :x", "--header|colon"},
	{"run URL --dialect agkit --header EMPTY", "--header|colon"},
	{"run URL --dialect agkit --header Accept:text/plain", "--header: Accept cannot be set: it follows from the dialect"},
	{"run URL --dialect agkit --header Authorization:a --header Authorization:b", "--header (number 2 of 2): Authorization is already set"},
	{"diff URL URL --dialect agkit --header-a Content-Type:a", "--header-a: Content-Type cannot be set"},
	{"run -dialect agkit URL", "unknown flag: -dialect; did you mean --dialect?"},
	{"proxy --dialect agkit URL -- true", "proxy takes no arguments|write --upstream URL"},
	{"run URL --dialect agkit --header a(b:s3cr3t", "--header|not a valid header name"},
	{"run URL --dialect agkit --header A:b\x01", "control character"},
	{"run URL --dialect agkit --prompt nothing", `--prompt nothing: must be SCENARIO=TEXT (e.g. text='Say hello.')`},
	{"run URL --dialect agkit --prompt text=a --prompt text=b", `--prompt text=b: "text" is given twice`},
	{"run URL --dialect agkit --prompt health=a", `--prompt: scenario "health" sends no prompt (want one of |slow`},
	{"run URL --dialect agkit --prompts EMPTY", "--prompts is empty"},
	{"run URL --dialect agui --only cancel", `--only "cancel" matches no scenario of agui@1.0`},
	{"run URL --dialect agkit --only EMPTY", "--only"},
	{"run URL --dialect agkit --skip *.* --skip nothing.here", `"nothing.here"`},
	{"run URL --dialect agkit --claim EMPTY", "--claim|empty"},
	{"run http:/127.0.0.1 --dialect agkit", "http:/127.0.0.1|begins with http://"},
	{"run http://:80 --dialect agkit", "no host"},
	{"run http://127.0.0.1:http --dialect agkit", "URL"},
	{"run localhost:80 --dialect agkit", "localhost:80|http://"},
	{"run user:s3cr3t@127.0.0.1:80 --dialect agkit", "http://"},
	{"run file:///etc/passwd --dialect agkit", "scheme file"},
	{"run http://127.0.0.1: --dialect agkit", `TARGET "http://127.0.0.1:" has a colon but no port (e.g. http://127.0.0.1:8080)`},
	{"run http://[::1]:/a --dialect agkit", `TARGET "http://[::1]:/a" has a colon but no port`},
	{"proxy --upstream http://127.0.0.1: --dialect agkit", `--upstream "http://127.0.0.1:" has a colon but no port`},
	{"diff http://127.0.0.1: reference --dialect agkit", `"http://127.0.0.1:" has a colon but no port`},
	{"lint EMPTY --dialect agkit", "file 1 of 1 has an empty name"},
	{"lint missing", "missing: no such file or directory"},
	{"lint folder", "folder: contains no recordings|.txtar"},
	{"lint plain.sse --dialect agkit --report json=a --report json=a", "same place"},
	{"lint plain.sse --dialect agkit --claim EMPTY", "--claim"},
	{"lint plain.sse --dialect agkit,runs", "--dialect: got 2 dialects, want one"},
	{"lint plain.sse --dialect agkit --dialect runs", "--dialect: got 2 dialects, want one"},
	{"lint plain.sse --dialect EMPTY", "--dialect|is empty"},
	{"lint plain.txt --dialect agkit", "plain.txt|.txtar"},
	{"lint - - --dialect agkit", "twice"},
	{"diff EMPTY reference --dialect agkit", "empty|base URL"},
	{"diff reference", "two arguments|each a base URL"},
	{"diff reference URL", "--dialect"},
	{"diff reference folder --dialect agkit", "recording"},
	{"diff reference ftp://127.0.0.1 --dialect agkit", "scheme ftp"},
	{"diff reference URL --dialect agkit --parallel x", "--parallel x"},
	{"diff reference URL --dialect agkit --json=yep", "--json yep"},
	{"serve --dialect EMPTY", "--dialect|empty"},
	{"serve --dialect agkit,", "comma"},
	{"serve --base /x/../y", "--base /x/../y: must not contain . or .. segments"},
	{"serve --base /x/.", "--base /x/.: must not contain . or .. segments"},
	{"serve --base /x?y", "--base /x?y: must be a path without query and fragment (e.g. /v1/bots/b1)"},
	{"serve --addr EMPTY", "--addr is empty"},
	{"serve --ready-file EMPTY", "--ready-file is empty"},
	{"serve --files dir:", "nothing follows the colon"},
	{"serve --eventsource=x", "--eventsource x|true or false"},
	{"mock --dialect agkit --", "COMMAND"},
	{"mock plain.yaml npm test", "npm: no such file or directory (a COMMAND comes after --)"},
	{"proxy --dialect agkit --upstream URL npm test", `proxy takes no arguments, got "npm": a COMMAND comes after --`},
	{"mock --dialect agkit -- nosuchcommand", "nosuchcommand|not found"},
	{"mock --check plain.yaml -- true", "--check|COMMAND"},
	{"mock --dialect agkit --expect calls --expect calls", "twice"},
	{"mock plain.yaml --watch=false --control off --expect rule.yaml -- true",
		`--expect rule.yaml: call 2: the scripts have no rule "greet"; did you mean greets?`},
	{"mock --dialect agkit --expect method.yaml",
		"--expect method.yaml:1: call 1: invalid method \"FETCH\" (want CONNECT, |PUT"},
	{"mock --dialect agkit --expect counts.yaml",
		"--expect counts.yaml:1: call 2: does not say which requests: want op, |{op: run,"},
	{"mock --dialect agkit --expect nothing.yaml", "--expect nothing.yaml:1: expects nothing: want calls"},
	{"mock --dialect agkit --record URL --expect calls.yaml", "--expect|--record"},
	{"mock --dialect agkit --record http://u:s3cr3t@127.0.0.1", "--record|--header"},
	{"mock --dialect agkit --record URL --save plain.sse", "--save plain.sse"},
	{"mock --dialect agkit --control EMPTY", "--control is empty"},
	{"mock EMPTY --dialect agkit", "file 1 of 1 has an empty name"},
	{"list", "list needs one argument (one of dialects, requirements"},
	{"list nothing", `unknown kind "nothing" (want one of dialects, requirements`},
	{"list checks scenarios", "list needs one argument|requirements"},
	{"list checks --dialect agkit,", "comma"},
	{"explain EMPTY", "no check|(see streamassay list checks|requirements|scenarios)"},
	{"explain run.ends run.ends-once", "one id"},
	{"spec", "spec needs a dialect (one of agentscope"},
	{"spec EMPTY", "unknown dialect|agkit|or give the path of an OpenAPI document"},
	{"spec agkit runs", `spec takes one dialect, got "runs" too`},
	{"explain agui.frontend-tool.no-result --dialect runs", "agui.frontend-tool.no-result is a requirement of agui@0.0, agui@1.0, not of runs@2026-04"},
	{"diff plain.sse plain.sse --dialect agkit --only nosuch", `--only "nosuch" matches no recording of A and B, such as plain`},
	{"convert folder", "folder: is a directory: name its files"},
	{"convert plain.sse --base api", "--base api: must be a path that begins with a slash (e.g. /v1/bots/b1), or a base URL"},
	{"convert plain.sse --base URL/api?x=1", "--base|has a query"},
	{"convert", "convert needs files|.har"},
	{"convert plain.sse EMPTY", "file 2 of 2 has an empty name"},
	{"convert missing.har", "missing.har: no such file"},
	{"convert plain.sse --dialect agkit --out plain.sse", "--out plain.sse"},
	{"convert plain.sse --dialect agkit,runs", "--dialect"},
	{"convert plain.sse --to EMPTY", "--to is empty"},
	{"docs --check missing", "--check missing: directory missing does not exist"},
	{"docs --check plain.sse", "--check plain.sse: plain.sse is not a directory"},
	{"mutants --serve --dialect agkit --write folder", "--serve runs no suite: it cannot be combined with --write"},
	{"mutants --serve --check folder", "--serve runs no suite: it cannot be combined with --check"},
	{"docs --write EMPTY", "--write is empty"},
	{"mutants --write missing", "--write missing|directory missing does not exist"},
	{"mutants --check missing", "--check missing|mutants.md"},
	{"mutants --only EMPTY", "--only|empty"},
	{"mutants --only nope --dialect agkit", `--only: "nope" matches no mutant of the`},
	{"run --user-header x --second-header y", "unknown flags: --user-header (did you mean --header or --other-header?), --second-header (did you mean --header or --other-header?) (streamassay run --help lists the flags)"},
	{"run --as x --max-byte 5", "unknown flags: --as, --max-byte (did you mean --max-bytes?) (streamassay run --help"},
	{"mutants --sample x", "--sample x|above 0"},
	{"diff URL URL --dialect agkit --only wire.frames-are-json", `--only "wire.frames-are-json" matches no conversation`},
	{"run URL --dialect missing.yaml", "--dialect|missing.yaml: no such file or directory"},
	{"run URL --dialect ./agkit", "--dialect|./agkit: is not the name of a YAML file: want NAME.yaml"},
	{"run URL --dialect own.json", "--dialect: own.json: is not the name of a YAML file: rename it to NAME.yaml"},
	{"run URL --dialect own", `unknown dialect "own"|; or give the path of an OpenAPI document, NAME.yaml`},
	{"run URL --dialect agkit --set model=x", "--set|agkit@0.0.10 has no setting \"model\": it has none"},
	{"diff reference URL --dialect plain.yaml", "--dialect|plain.yaml:1: /openapi: the version of OpenAPI is missing"},
	{"lint plain.sse --dialect empty.yaml", "--dialect|empty.yaml:1: not an OpenAPI document"},
	{"serve --dialect plain.yaml", "--dialect|plain.yaml:1: /openapi: the version of OpenAPI is missing"},
	{"mock --dialect plain.yaml", "--dialect|plain.yaml:1: /openapi: the version of OpenAPI is missing"},
	{"list checks --dialect plain.yaml", "--dialect|plain.yaml:1: /openapi: the version of OpenAPI is missing"},
	{"explain run.ends-once --dialect plain.yaml", "--dialect|plain.yaml:1: /openapi: the version of OpenAPI is missing"},
	{"spec plain.yaml", "plain.yaml:1: /openapi: the version of OpenAPI is missing"},
	{"convert plain.sse --dialect plain.yaml", "--dialect|plain.yaml:1: /openapi: the version of OpenAPI is missing"},
	{"completion bash extra", "extra"},
	{"mock --dialect agkit --expect ok.http", "--expect ok.http: is not an expectation file (YAML, e.g. calls: [{op: run, exactly: 1}]): ok.http:1: "},
	{"mock --dialect runs one.txtar", "one.txtar: the recording is of agkit@0.0.10, not of runs@2026-04: use --dialect agkit@0.0.10"},
	{"run --config flat.yaml", "--config flat.yaml:1: target 1: dialects: must be a list, e.g. [agkit]"},
	{"explain run.ends-onc", `has the id "run.ends-onc"; did you mean run.ends-once?`},
	{"mock --dialect agkit --expect key.yaml", `--expect key.yaml:1: unknown field "opp"; did you mean op?`},
	{"serve --dialect agkit --state redis://127.0.0.1:1", "--state redis://127.0.0.1:1: connection refused: is the server running?"},
	{"serve --dialect agkit --jwks http://127.0.0.1:1/k?t=s3cr3t", "--jwks http://127.0.0.1:1/k?…: connection refused: is the server running?"},
	{"serve --dialect agkit --files dir:plain.sse/x", "--files dir:plain.sse/x: plain.sse is a file, want a directory"},
	{"serve --tls-cert plain.yaml --tls-key a.yaml", "--tls-cert plain.yaml: contains no PEM certificate"},
	{"run URL agkit", `at most one TARGET, got "agkit" too; a dialect is given as --dialect agkit`},
	{"serve agkit", `serve takes no arguments, got "agkit"; a dialect is given as --dialect agkit`},
	{"proxy runs@2026-04 --upstream URL", `proxy takes no arguments, got "runs@2026-04"; a dialect is given as --dialect runs@2026-04`},
	{"--dialect agkit", "unknown flag: --dialect; a command must come first, e.g. streamassay run TARGET --dialect agkit\n"},
	{"--strict URL", "unknown flag: --strict; a command must come first, e.g. streamassay run TARGET --dialect agkit --strict\n"},
	{"help run lint", `run has no subcommand "lint"`},
}

// wrongOutputs lists invalid invocations in which an output would overwrite an input or another
// output.
var wrongOutputs = []wrong{
	{"lint plain.sse --dialect agkit --report json=./plain.sse", "--report json=./plain.sse would overwrite the input plain.sse"},
	{"lint . --dialect agkit --report json=plain.sse", "--report json=plain.sse would overwrite the input plain.sse"},
	{"run --config a.yaml --report json=a.yaml", "--report json=a.yaml would overwrite the input a.yaml"},
	{"run URL --dialect agkit --transcripts new --report json=new", "--transcripts new and --report json=new go to the same place"},
	{"proxy --upstream http://127.0.0.1:1 --dialect agkit --transcripts new --report json=new", "--transcripts new and --report json=new go"},
	{"proxy --upstream http://127.0.0.1:1 --dialect agkit --ready-file new --report json=new", "--ready-file new and --report json=new go"},
	{"mock plain.yaml --expect-report plain.yaml -- true", "--expect-report plain.yaml would overwrite the input plain.yaml"},
	{"mock --expect calls.yaml --expect-report calls.yaml -- true", "--expect-report calls.yaml would overwrite the input calls.yaml"},
	{"mock --expect calls.yaml --ready-file calls.yaml", "--ready-file calls.yaml would overwrite the input calls.yaml"},
	{"mock --ready-file new --expect-report new", "--ready-file new and --expect-report new go to the same place"},
	{"convert plain.sse more/plain.sse --dialect agkit --out new",
		"plain.sse and more/plain.sse have the same output, new/plain.txtar"},
	{"serve --ready-file plain.yaml --tls-cert plain.yaml --tls-key a.yaml", "--ready-file plain.yaml would overwrite the input plain.yaml"},
}

// TestWrongInput checks that invalid input results in exit code 2 and a single line that names the
// input and the valid values, and that no request is sent and no file is created or removed.
func TestWrongInput(t *testing.T) {
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty.yaml": "", "plain.sse": "data: {}\n\n", "plain.txt": "hello", "ok.http": "HTTP/1.1 200 OK\r\n\r\n", "one.txtar": "dialect: agkit\n-- 1.request --\nPOST /send-message\n\n{}\n-- 1.response --\nHTTP/1.1 200 OK\n\n", "plain.yaml": greets, "calls.yaml": "calls: []\n", "folder/note": "x",
		"more/plain.sse": "data: {}\n\n", "rule.yaml": "calls: [{op: run, rule: greets}, {op: run, rule: greet}]\n",
		"method.yaml": "calls: [{method: FETCH}]\n", "counts.yaml": "calls: [op: run, exactly: 1]\n", "nothing.yaml": "{}\n",
		"key.yaml": "calls: [{opp: run}]\n", "flat.yaml": "targets: [{url: 'http://127.0.0.1:1', dialects: agkit}]\n",
		"typo.yaml": "targets:\n  - url: http://127.0.0.1:1\n    name: x\n    dialects: [agkit]\n", "broken.yaml": "targets: [",
		"a.yaml": "targets: [{url: 'http://127.0.0.1:1', dialects: [agkit]}]\n", "b.yaml": "targets: [{url: 'http://127.0.0.1:1', dialects: [agkit]}]\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := listing(t, dir)
	t.Run("all", func(t *testing.T) {
		for _, c := range slices.Concat(wrongTried, wrongToo, wrongOutputs) {
			t.Run(c.words, func(t *testing.T) {
				t.Parallel()
				c.check(t, dir, srv.URL)
			})
		}
	})
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	if after := listing(t, dir); !slices.Equal(before, after) {
		t.Errorf("there are %v, and there were %v", after, before)
	}
}

func (c wrong) check(t *testing.T, dir, url string) {
	args := strings.Fields(strings.ReplaceAll(c.words, "URL", url))
	for i := range args {
		if args[i] == "EMPTY" {
			args[i] = ""
		}
	}
	code, out, said := streamassay(t, dir, args...)
	if code != exitUsage || out != "" || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "streamassay: ") {
		t.Errorf("exit %d, stdout %.200q, stderr %q: want exit 2 and one line", code, out, said)
	}
	for _, word := range strings.Split(c.says, "|") {
		if !strings.Contains(said, word) {
			t.Errorf("stderr is %q: want %q in it", said, word)
		}
	}
	for _, word := range []string{"strconv", "s3cr3t", "unmarshal", "0x", "%!"} {
		if strings.Contains(said, word) {
			t.Errorf("stderr is %q: it must not have %q", said, word)
		}
	}
}
