package state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

var (
	errShort = errors.New("the server answered something else") // than any script here
	errLate  = errors.New("another call came first")
)

func (s *redisStore) Begin(ctx context.Context, b Beginning) (Begun, error) {
	logged := "0"
	if b.Logged {
		logged = "1"
	}
	token := cmp.Or(s.lost.found(b), s.token())
	args, err := appendSaid([]any{b.Thread, b.Run, b.Owner, b.Task, b.At.UTC().Format(time.RFC3339Nano), logged,
		s.me, token, seed(), s.cfg.Dead.Milliseconds()}, b.Said)
	if err != nil {
		return Begun{}, err
	}
	reply, err := s.do(ctx, beginScript, args...)
	if err != nil {
		s.lost.add(b, token)
		return Begun{}, err
	}
	f := answer{rest: reply}
	found := f.next()
	if found == "owner" {
		return Begun{}, ErrOwner
	}
	g := Begun{Again: found == "again", Made: f.next() == "1", Task: f.next()}
	if g.At, err = time.Parse(time.RFC3339Nano, f.next()); err != nil {
		return Begun{}, s.wrap(err)
	}
	g.First = f.number()
	return g, s.wrap(f.err)
}

// appendSaid adds messages to a script's arguments: each as it is kept, and the day
// on which it is shown.
func appendSaid(args []any, said []Message) ([]any, error) {
	for _, m := range said {
		data, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("message %q: %w", m.ID, err)
		}
		shown := dayOf(m)
		if m.Hidden {
			shown = ""
		}
		args = append(args, data, shown)
	}
	return args, nil
}

func (s *redisStore) Tell(ctx context.Context, run Ref, told Told) (first int64, canceled bool, err error) {
	l, err := s.lanes.enter(ctx, run)
	if err != nil {
		return 0, false, s.wrap(err)
	}
	defer s.lanes.leave(run, l)
	token := cmp.Or(l.again(told), s.token())
	over := "0"
	if told.Over {
		over = "1"
	}
	args := make([]any, 0, 8+len(told.Data)+2*len(told.Said))
	args = append(args, run.Thread, run.Run, s.me, token, over, s.cfg.Runs, s.cfg.Bytes, len(told.Data))
	for _, d := range told.Data {
		args = append(args, d)
	}
	if args, err = appendSaid(args, told.Said); err != nil {
		return 0, false, err
	}
	reply, err := s.do(ctx, tellScript, args...)
	if err != nil {
		l.doubt(token, told)
		return 0, false, err
	}
	f := answer{rest: reply}
	switch f.next() {
	case "unknown":
		return 0, false, ErrUnknown
	case "late":
		return 0, false, s.wrap(errLate)
	}
	first = f.number()
	return first, f.next() == "1", s.wrap(f.err)
}

func (s *redisStore) Cancel(ctx context.Context, run Ref) error {
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	return s.wrap(cancelScript.Run(ctx, s.db, []string{s.prefix}, run.Thread, run.Run).Err())
}

// An answer reads a script's answer, which is text throughout.
type answer struct {
	rest []any
	err  error
}

func (a *answer) next() string {
	if len(a.rest) == 0 {
		a.err = errShort
		return ""
	}
	s, ok := a.rest[0].(string)
	if a.rest = a.rest[1:]; !ok {
		a.err = errShort
	}
	return s
}

func (a *answer) number() int64 {
	n, err := strconv.ParseInt(a.next(), 10, 64)
	if err != nil && a.err == nil {
		a.err = err
	}
	return n
}
