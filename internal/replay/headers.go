package replay

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// hopByHopHeaders lists the header fields that are not copied when a response is replayed or a
// message is forwarded. They concern a single connection (RFC 9110, section 7.6.1), a proxy, or the
// length of the body that is sent. Proxy-Authorization is not in the list; code that forwards a
// header must remove it as well.
var hopByHopHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "TE", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Length",
}

// withoutHopByHop returns a copy of h without the hop-by-hop fields, the fields that a Connection
// field in h lists, and the fields whose names are in drop. Names are compared without regard to
// case.
func withoutHopByHop(h spec.Header, drop ...string) (out spec.Header) {
	drop = append(drop, hopByHopHeaders...)
	for _, f := range h {
		if strings.EqualFold(f.Name, "Connection") {
			for name := range strings.SplitSeq(f.Value, ",") {
				drop = append(drop, strings.TrimSpace(name))
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(h), func(f spec.HeaderField) bool {
		return slices.ContainsFunc(drop, func(name string) bool { return strings.EqualFold(name, f.Name) })
	})
}

// replayedHeader returns the fields of a recorded header that are replayed. It omits hop-by-hop
// fields, fields whose value was redacted, and CORS fields, which depend on the host of the server
// that replays them.
func replayedHeader(h spec.Header) spec.Header {
	return slices.DeleteFunc(withoutHopByHop(h), func(f spec.HeaderField) bool {
		const cors = "Access-Control-"
		isCORS := len(f.Name) > len(cors) && strings.EqualFold(f.Name[:len(cors)], cors)
		return isCORS || f.Value == redact.Placeholder
	})
}
