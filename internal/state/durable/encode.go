package durable

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/streamassay/streamassay/internal/state"
)

// An encodedMessage is a message as it is stored.
type encodedMessage struct {
	day  string // result of [state.Message.Day]; "" if the message is hidden
	data []byte // JSON
}

// encodeMessages returns the given messages as they are stored, in the same order, and the total
// size of their JSON in bytes. It returns an error if a message cannot be encoded.
func encodeMessages(messages []state.Message) (encoded []encodedMessage, size int, err error) {
	for _, m := range messages {
		data, err := json.Marshal(m)
		if err != nil {
			return nil, 0, fmt.Errorf("message %q: %w", m.ID, err)
		}
		e := encodedMessage{data: data}
		if !m.Hidden {
			e.day = m.Day()
		}
		encoded = append(encoded, e)
		size += len(data)
	}
	return encoded, size, nil
}

// encodeTime returns t in the form in which it is stored: RFC 3339 in UTC with nanoseconds.
func encodeTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// decodeTime parses text, a time in the form that encodeTime returns. It returns an error if text
// does not have that form.
func decodeTime(text string) (time.Time, error) { return time.Parse(time.RFC3339Nano, text) }

// newSecret returns the 32 random bytes that a new store keeps as its secret.
func newSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return secret
}
