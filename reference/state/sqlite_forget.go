package state

// forget drops the oldest runs that are over while there are too many of them, or of
// their bytes. Who ends a run need not wait until all are gone that are too many,
// after the limits were lowered: some are dropped each time.
func (d *desk) forget() error {
	for range 2*d.ended + 16 {
		if d.kept <= d.mostRuns && d.counters.size <= d.mostSize {
			return nil
		}
		if err := d.drop(); err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) drop() error {
	var run, thread, top, size int64
	if err := d.do.oldest.QueryRow().Scan(&run, &thread, &top, &size); err != nil {
		return err
	}
	d.kept--
	d.counters.size -= size
	if _, err := d.do.dropChunks.Exec(run); err != nil {
		return err
	}
	if _, err := d.do.dropRun.Exec(run); err != nil {
		return err
	}
	var left bool
	if err := d.do.left.QueryRow(thread).Scan(&left); err != nil {
		return err
	}
	if left {
		_, err := d.do.lose.Exec(top, thread, top)
		return err
	}
	if _, err := d.do.dropMessages.Exec(thread); err != nil {
		return err
	}
	_, err := d.do.dropThread.Exec(thread)
	return err
}
