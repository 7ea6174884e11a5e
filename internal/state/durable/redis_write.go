package durable

import (
	"cmp"
	"context"
	"errors"

	"github.com/streamassay/streamassay/internal/state"
)

var (
	errUnexpectedReply = errors.New("unexpected reply to a script")
	errSuperseded      = errors.New("a later call for the run was executed first")
)

func (s *redisStore) StartRun(ctx context.Context, b state.StartRunRequest) (state.StartRunResult, error) {
	token := cmp.Or(s.uncertain.takeToken(b), s.nextToken())
	startedAt := encodeTime(b.StartedAt)
	args, err := appendMessages([]any{b.Thread, b.Run, b.Owner, b.TaskID, startedAt, b.KeepEvents,
		s.replica, token, state.RandomTag(), s.cfg.DeadAfter.Milliseconds()}, b.Messages)
	if err != nil {
		return state.StartRunResult{}, err
	}
	reply, err := s.runScript(ctx, startScript, args...)
	if err != nil {
		s.uncertain.add(b, token)
		return state.StartRunResult{}, err
	}
	if len(reply) == 1 { // {'owner'}
		return state.StartRunResult{}, state.ErrNotOwner
	}
	var g state.StartRunResult
	var kind string
	if _, err = scanReply(reply, &kind, &g.ThreadCreated, &g.TaskID, &startedAt, &g.FirstMessage); err == nil {
		g.StartedAt, err = decodeTime(startedAt)
	}
	g.Existed = kind == "again"
	return g, s.wrap(err)
}

// appendMessages returns args with two script arguments appended for each message: the JSON of the
// message, and its day or, if the message is hidden, "". It returns an error if a message cannot be
// encoded.
func appendMessages(args []any, messages []state.Message) ([]any, error) {
	encoded, _, err := encodeMessages(messages)
	for _, m := range encoded {
		args = append(args, m.data, m.day)
	}
	return args, err
}

func (s *redisStore) Append(ctx context.Context, run state.RunRef, update state.AppendBatch) (
	first int64, canceled bool, err error,
) {
	lock, err := s.locks.lock(ctx, run)
	if err != nil {
		return 0, false, s.wrap(err)
	}
	defer s.locks.unlock(run, lock)
	token := cmp.Or(lock.retryToken(update), s.nextToken())
	args := make([]any, 0, 8+len(update.Events)+2*len(update.Messages))
	args = append(args, run.Thread, run.Run, s.replica, token, update.End,
		s.cfg.MaxRuns, s.cfg.MaxBytes, len(update.Events))
	for _, d := range update.Events {
		args = append(args, d)
	}
	if args, err = appendMessages(args, update.Messages); err != nil {
		return 0, false, err
	}
	reply, err := s.runScript(ctx, appendScript, args...)
	if err != nil {
		lock.setUncertain(token, update)
		return 0, false, err
	}
	var result string
	rest, err := scanReply(reply, &result)
	switch {
	case result == "unknown":
		return 0, false, state.ErrNotFound
	case result == "late":
		return 0, false, s.wrap(errSuperseded)
	case err == nil:
		_, err = scanReply(rest, &first, &canceled)
	}
	return first, canceled, s.wrap(err)
}

func (s *redisStore) Cancel(ctx context.Context, run state.RunRef) error {
	_, err := s.runScript(ctx, cancelScript, run.Thread, run.Run)
	return err
}
