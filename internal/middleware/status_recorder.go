package middleware

import "net/http"

// A statusRecorder is a ResponseWriter that records the status and the size of the response.
// [http.ResponseController] finds the other methods of the wrapped ResponseWriter through Unwrap.
type statusRecorder struct {
	http.ResponseWriter
	status int   // 0 until the response begins
	bytes  int64 // size of the body so far
}

// Unwrap returns the wrapped ResponseWriter.
func (a *statusRecorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader records the status and passes it to the wrapped ResponseWriter. Of the informational
// statuses (1xx), it records only 101.
func (a *statusRecorder) WriteHeader(status int) {
	if a.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter]. It counts the bytes that were written, and records the
// status 200 if the response has not begun.
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

// FlushError sends buffered data to the client and returns any error from the wrapped
// ResponseWriter. It records the status 200 if the response has not begun.
// [http.ResponseController] prefers FlushError to Flush.
func (a *statusRecorder) FlushError() error {
	a.markStarted()
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush implements [http.Flusher]. It calls FlushError and ignores the error.
func (a *statusRecorder) Flush() { _ = a.FlushError() }
