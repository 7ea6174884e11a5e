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

// defaultCredential is sent where the document wants credentials and nobody said which. What a
// server does without them is then not judged.
const defaultCredential = "Bearer streamassay"

// isCredentialHeader reports whether a header field says who asks: so does any that the second user
// has too.
func (t *Target) isCredentialHeader(name string) bool {
	return redact.IdentifiesUser(name) || t.OtherHeader.Has(name)
}

// hasUserCredentials says whether it was told who the user is.
func (t *Target) hasUserCredentials() bool {
	return t.Base != nil && t.Base.User != nil || slices.ContainsFunc(t.Header, func(f spec.Field) bool { return t.isCredentialHeader(f.Name) })
}

// headerFor is what goes with every request of somebody.
func (t *Target) headerFor(who spec.Principal, ids *rand.Rand) spec.Header {
	header := spec.Header{}
	for _, f := range t.Header {
		switch {
		case who == spec.PrimaryUser || !t.isCredentialHeader(f.Name):
			header = append(header, f)
		case who == spec.UnknownUser:
			header = append(header, spec.Field{Name: f.Name, Value: invalidCredential(f.Value, ids)})
		}
	}
	switch {
	case who == spec.OtherUser:
		header = append(header, t.OtherHeader...)
	case who == spec.PrimaryUser && !t.hasUserCredentials() && t.Dialect.RequiresCredentials():
		header = append(header, spec.Field{Name: "Authorization", Value: defaultCredential})
	case who == spec.UnknownUser && t.Base.User != nil && !header.Has("Authorization"):
		header = append(header, spec.Field{Name: "Authorization", Value: invalidCredential("Basic x", ids)})
	}
	return header
}

// invalidCredential is a credential of the same make that nobody handed out: scheme and names
// stay.
func invalidCredential(value string, ids *rand.Rand) string {
	wrong := func() string { return fmt.Sprintf("%016x%016x", ids.Uint64(), ids.Uint64()) }
	if scheme, _, ok := strings.Cut(value, " "); ok && !strings.ContainsAny(scheme, "=;") {
		if strings.EqualFold(scheme, "Basic") {
			return scheme + " " + base64.StdEncoding.EncodeToString([]byte(wrong()+":"+wrong()))
		}
		return scheme + " " + wrong()
	}
	if !strings.Contains(value, "=") {
		return wrong()
	}
	var pairs []string
	for pair := range strings.SplitSeq(value, ";") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
		pairs = append(pairs, name+"="+wrong())
	}
	return strings.Join(pairs, "; ")
}

// newClients are who can ask in a conversation.
func (t *Target) newClients(ids *rand.Rand) (map[spec.Principal]*wire.Client, error) {
	cfg := t.wireConfig()
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

// checkCredentials finds what is wrong with what it was told of its users.
func (t *Target) checkCredentials() error {
	if len(t.OtherHeader) == 0 {
		return nil
	}
	if !t.hasUserCredentials() {
		return errors.New("other headers: a second user needs a first: give the credentials of both")
	}
	same := t.Base == nil || t.Base.User == nil
	for _, f := range t.Header {
		same = same && (!t.isCredentialHeader(f.Name) || slices.Contains(t.OtherHeader, f))
	}
	if same {
		return errors.New("other headers: they are the credentials of the first user")
	}
	return nil
}

// missingSetup says whether the target was told what a scenario about who may ask, or how much,
// has to know; or what is missing.
func (t *Target) missingSetup(s Scenario) (missing string) {
	switch {
	case (s.Denial == spec.DeniedAnonymous || s.Denial == spec.DeniedUnknownUser) && !t.hasUserCredentials():
		return "nobody said what the user's credentials are"
	case s.Denial == spec.DeniedOtherUser && len(t.OtherHeader) == 0:
		return "nobody said who a second user is"
	case s.Denial == spec.DeniedStreamLimit && t.StreamLimit == 0:
		return "nobody said how many streams a user may have open"
	}
	return ""
}
