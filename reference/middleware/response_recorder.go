package middleware

import "net/http"

// An responseRecorder is a ResponseWriter that knows what was answered. Whatever else the one
// below can do, [http.ResponseController] finds there.
type responseRecorder struct {
	http.ResponseWriter
	status int // 0 is nothing yet
	bytes  int64
}

// Unwrap is the one below.
func (a *responseRecorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader begins the answer, unless it only announces one (1xx).
func (a *responseRecorder) WriteHeader(status int) {
	if a.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write goes on with it.
func (a *responseRecorder) Write(p []byte) (int, error) {
	a.markStarted()
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

func (a *responseRecorder) markStarted() {
	if a.status == 0 {
		a.status = http.StatusOK
	}
}

// FlushError sends what there is.
func (a *responseRecorder) FlushError() error {
	a.markStarted()
	if f, ok := a.ResponseWriter.(interface{ FlushError() error }); ok {
		return f.FlushError()
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush sends what there is, for those who do not ask whether that went well.
func (a *responseRecorder) Flush() { _ = a.FlushError() }
