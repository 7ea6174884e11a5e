package durable

// forgetOldest drops ended runs, oldest first, until the number of ended runs and the size of their
// events are within the limits. The number of runs that one call drops is limited, so that a
// transaction does not take long even if the store was opened with lower limits than before. It
// stops at the first error from dropOldest and returns it.
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

// dropOldest drops the run that ended first. If the thread of that run then has no runs, dropOldest
// drops the thread and its messages as well. The error is sql.ErrNoRows if no run has ended, and
// otherwise any error from SQLite.
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
