package suites

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// defaultCredential is the value of the Authorization field that the client sends if the dialect
// requires credentials and none are configured for the primary user. In that case, the scenarios
// about missing credentials are not played.
const defaultCredential = "Bearer streamassay"

// isCredentialHeader reports whether the header field with the given name identifies the user. This
// is the case if fields with that name usually contain credentials, or if a field with that name is
// configured for the other user.
func (t *Target) isCredentialHeader(name string) bool {
	return redact.IdentifiesUser(name) || t.OtherHeader.Has(name)
}

// hasUserCredentials reports whether credentials of the primary user are configured, in the base
// URL or in a header field.
func (t *Target) hasUserCredentials() bool {
	return t.Base != nil && t.Base.User != nil ||
		slices.ContainsFunc(t.Header, func(f spec.HeaderField) bool { return t.isCredentialHeader(f.Name) })
}

// headerFor returns the header fields to send with every request of the given principal. Only the
// credentials of the principals differ, and an anonymous client has none. ids is the source of the
// random credentials of the unknown user.
func (t *Target) headerFor(who spec.Principal, ids *rand.Rand) spec.Header {
	header := spec.Header{}
	for _, f := range t.Header {
		switch {
		case who == spec.PrimaryUser || !t.isCredentialHeader(f.Name):
			header = append(header, f)
		case who == spec.UnknownUser:
			header = append(header, spec.HeaderField{Name: f.Name, Value: invalidCredential(f.Value, ids)})
		}
	}
	switch {
	case who == spec.OtherUser:
		header = append(header, t.OtherHeader...)
	case who == spec.PrimaryUser && !t.hasUserCredentials() && t.Dialect.RequiresCredentials():
		header = append(header, spec.HeaderField{Name: "Authorization", Value: defaultCredential})
	case who == spec.UnknownUser && t.Base.User != nil && !header.Has("Authorization"):
		header = append(header, spec.HeaderField{Name: "Authorization", Value: invalidCredential("Basic x", ids)})
	}
	return header
}

// invalidCredential returns an invalid credential of the same form as value. It has the same
// Authorization scheme or the same cookie names, if value has any, but its secrets are random and
// come from ids.
func invalidCredential(value string, ids *rand.Rand) string {
	random := func() string { return fmt.Sprintf("%016x%016x", ids.Uint64(), ids.Uint64()) }
	if scheme, _, ok := strings.Cut(value, " "); ok && !strings.ContainsAny(scheme, "=;") {
		if strings.EqualFold(scheme, "Basic") {
			return scheme + " " + base64.StdEncoding.EncodeToString([]byte(random()+":"+random()))
		}
		return scheme + " " + random()
	}
	if !strings.Contains(value, "=") {
		return random()
	}
	var pairs []string
	for pair := range strings.SplitSeq(value, ";") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
		pairs = append(pairs, name+"="+random())
	}
	return strings.Join(pairs, "; ")
}

// newClients returns an HTTP client for each principal, with the configuration cfg and the header
// fields of that principal. The clients share one memory limit. ids is the source of the random
// credentials of the unknown user. newClients returns an error if the configuration of the target
// is invalid.
func (t *Target) newClients(cfg wire.Config, ids *rand.Rand) (map[spec.Principal]*wire.Client, error) {
	cfg.Header = t.headerFor(spec.PrimaryUser, ids)
	user, err := wire.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	all := map[spec.Principal]*wire.Client{spec.PrimaryUser: user}
	for _, who := range []spec.Principal{spec.OtherUser, spec.Anonymous, spec.UnknownUser} {
		if all[who], err = user.WithHeader(t.headerFor(who, ids)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkCredentials returns an error if credentials are configured for the other user but not for
// the primary user, or if both users have the same credentials. Otherwise it returns nil.
func (t *Target) checkCredentials() error {
	if len(t.OtherHeader) == 0 {
		return nil
	}
	if !t.hasUserCredentials() {
		return errors.New("other headers without credentials of the first user: give the credentials of both")
	}
	same := t.Base == nil || t.Base.User == nil
	for _, f := range t.Header {
		same = same && (!t.isCredentialHeader(f.Name) || slices.Contains(t.OtherHeader, f))
	}
	if same {
		return errors.New("other headers: these are the credentials of the first user, want those of another")
	}
	return nil
}

// missingSetup describes the setting that scenario s needs but the target does not have, such as
// "no stream limit is configured (--stream-limit)". It returns "" if no setting is missing. Only
// scenarios about access and the stream limit need settings.
func (t *Target) missingSetup(s Scenario) (missing string) {
	switch {
	case (s.Denial == spec.DeniedAnonymous || s.Denial == spec.DeniedUnknownUser) && !t.hasUserCredentials():
		return "no credentials of the user are configured (--header)"
	case s.Denial == spec.DeniedOtherUser && len(t.OtherHeader) == 0:
		return "no second user is configured (--other-header)"
	case s.Denial == spec.DeniedStreamLimit && t.StreamLimit == 0:
		return "no stream limit is configured (--stream-limit)"
	}
	return ""
}
