package durable

// forgetOldest drops the runs that ended first until the number of ended runs and the bytes of
// their events are within the limits. The number of runs that it drops in one transaction is
// bounded, so that callers do not wait long after the limits were lowered.
func (d *sqliteWriter) forgetOldest() error {
	for range 2*d.endedRuns + 16 {
		if d.finishedRuns <= d.maxRuns && d.finishedBytes <= d.maxBytes {
			return nil
		}
		if err := d.dropOldest(); err != nil {
			return err
		}
	}
	return nil
}

// dropOldest drops the run that ended first. If the thread of that run has no other run, it drops
// the thread and its messages as well.
func (d *sqliteWriter) dropOldest() error {
	var run, thread, top, size int64
	if err := d.statements.oldestRun.QueryRow().Scan(&run, &thread, &top, &size); err != nil {
		return err
	}
	d.finishedRuns--
	d.finishedBytes -= size
	if _, err := d.statements.deleteChunks.Exec(run); err != nil {
		return err
	}
	if _, err := d.statements.deleteRun.Exec(run); err != nil {
		return err
	}
	var left bool
	if err := d.statements.threadHasRuns.QueryRow(thread).Scan(&left); err != nil {
		return err
	}
	if left {
		_, err := d.statements.setLastForgotten.Exec(top, thread, top)
		return err
	}
	if _, err := d.statements.deleteMessages.Exec(thread); err != nil {
		return err
	}
	_, err := d.statements.deleteThread.Exec(thread)
	return err
}
