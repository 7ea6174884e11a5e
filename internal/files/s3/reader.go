package s3

import (
	"errors"
	"io"
	"net/http"
)

// An objectReader reads an object. It reads the body of one response as long as the positions are
// consecutive. After a Seek to a different position, the next Read sends a new request.
type objectReader struct {
	get    func(from int64) (*http.Response, error) // requests the object from the position from to its end
	body   io.ReadCloser                            // body of the last response; nil if there is none
	bodyAt int64                                    // position, in the object, of the next byte of body
	at     int64                                    // position, in the object, of the next Read
	size   int64                                    // size of the object in bytes
}

func (r *objectReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if r.body == nil || r.bodyAt != r.at {
		if err := r.Close(); err != nil {
			return 0, err
		}
		res, err := r.get(r.at)
		if err != nil {
			return 0, err
		}
		if r.at > 0 && res.StatusCode != http.StatusPartialContent {
			_ = res.Body.Close()
			return 0, errors.New("s3: the service does not support ranges")
		}
		r.body, r.bodyAt = res.Body, r.at
	}
	n, err := r.body.Read(p)
	r.at += int64(n)
	r.bodyAt = r.at
	if err == io.EOF && r.at < r.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (r *objectReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("s3: negative position")
	}
	r.at = offset
	return offset, nil
}

// Close closes the body of the last response, if it is open, and returns the error from closing it.
func (r *objectReader) Close() error {
	if r.body == nil {
		return nil
	}
	body := r.body
	r.body = nil
	return body.Close()
}
