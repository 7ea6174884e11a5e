package fault

// mostGathered bounds what is held back; it is sent when there is more.
const mostGathered = 16 << 20

// Together sends several events in one segment. Nothing in it is wrong.
var Together = &Fault{
	Name: "together", Doc: "several events come in one segment", Family: Wire, Places: []string{"event"},
	Params: []Param{{Name: "events", Doc: "how many", Type: "int", Default: "3", Min: "2", Max: "10000"}},
	Begin: func(a Args) Effect {
		return Effect{Body: gathering(a.At, a.Ints["events"])}
	},
}

// Gathered sends everything at the end.
var Gathered = &Fault{
	Name: "gathered", Doc: "all events come at once at the end, as through a proxy that gathers them", Family: Wire, Places: []string{"event"},
	Checks: []string{"wire.flushes"},
	Begin: func(a Args) Effect {
		return Effect{Body: gathering(a.At, int(^uint(0)>>1))}
	},
}

// gathering sends so many frames at once, from a place on.
func gathering(at Place, most int) func(Writer) Body {
	return func(w Writer) Body {
		var held []byte
		n, there := 0, since(at)
		send := func() error {
			p := held
			held, n = nil, 0
			return segment(w, p)
		}
		return each{
			frame: func(k int, frame []byte) error {
				if !there(k) {
					_, err := w.Write(frame)
					return err
				}
				held = append(held, frame...)
				if k >= 0 {
					n++
				}
				if n >= most || len(held) > mostGathered {
					return send()
				}
				return nil
			},
			close: send,
		}
	}
}
