package middleware

import "net/http"

// A statusRecorder is a ResponseWriter that records status and size of the response.
// [http.ResponseController] finds further methods by Unwrap.
type statusRecorder struct {
	http.ResponseWriter
	status int // 0 until the response begins
	bytes  int64
}

// Unwrap returns the wrapped ResponseWriter.
func (a *statusRecorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader records the status, unless it is informational (1xx).
func (a *statusRecorder) WriteHeader(status int) {
	if a.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *statusRecorder) Write(p []byte) (int, error) {
	a.markStarted()
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

func (a *statusRecorder) markStarted() {
	if a.status == 0 {
		a.status = http.StatusOK
	}
}

// FlushError sends buffered data to the client.
func (a *statusRecorder) FlushError() error {
	a.markStarted()
	if f, ok := a.ResponseWriter.(interface{ FlushError() error }); ok {
		return f.FlushError()
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush implements [http.Flusher].
func (a *statusRecorder) Flush() { _ = a.FlushError() }
