package reference

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

func TestSmoke(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	m := All(all, Scripted, Config{})
	srv := httptest.NewServer(m)
	defer srv.Close()
	for _, d := range all {
		if w := os.Getenv("ONLY"); w != "" && w != d.Name {
			continue
		}
		base, _ := url.Parse(srv.URL + "/" + d.Name + d.Base)
		began := time.Now()
		parts, err := suites.Hear(context.Background(), suites.Target{Dialect: d, Base: base, Claims: []string{"all"}, Timeout: 10 * time.Second}, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := map[spec.Verdict]int{}
		for _, p := range parts {
			if p.Err != nil {
				t.Errorf("%s %s: %v", d.Name, p.Scenario.Name, p.Err)
			}
			for _, r := range p.Hearing.Results {
				n[r.Verdict]++
				if r.Verdict > spec.Passed {
					msg := r.Note
					for i, f := range r.Findings {
						if i < 3 {
							msg += fmt.Sprintf("\n      %s [%s] %.300s", f.Message, f.Event.Law, f.Event.Raw)
						}
					}
					t.Logf("%s %s %s %v %s", d.Name, p.Scenario.Name, r.Duty.Check.ID, r.Verdict, msg)
				}
			}
		}
		t.Log(d.Name, n, time.Since(began))
	}
	t.Log(m.Shutdown(context.Background()))
}
