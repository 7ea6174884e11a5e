package suites

import "math/rand/v2"

// A pair is a value of one dimension together with a value of a later one. Dimensions and their
// values are counted from 0.
type pair struct{ dimensionA, valueA, dimensionB, valueB int }

// coveringArray returns at most n rows such that, if n is large enough, each pair of values of two
// dimensions that can occur does so in at least one row. sizes are the numbers of values of the
// dimensions; a row has the index of one value for each of them. isPossible reports whether the
// values that a row has so far can occur together; undecided dimensions of the row are -1.
//
// The rows are those of a greedy algorithm: each row is the best of several candidates, so the
// first rows cover most pairs. The same rng leads to the same rows, of which a smaller n returns the
// first.
func coveringArray(
	n int, sizes []int, isPossible func(row []int) bool, rng *rand.Rand,
) (rows [][]int) {
	open := possiblePairs(sizes, isPossible)
	for len(open.list) > 0 && len(rows) < n {
		var best []int
		bestCovered := 0
		for range coveringCandidates {
			row := open.candidate(sizes, isPossible, rng)
			if n := open.countCovered(row); n > bestCovered {
				best, bestCovered = row, n
			}
		}
		if best == nil { // no row can have the pair together with values of all other dimensions
			open.drop(0)
			continue
		}
		open.cover(best)
		rows = append(rows, best)
	}
	return rows
}

// coveringCandidates is the number of candidates from which each row of a covering array is chosen.
// More candidates lead to somewhat fewer rows.
const coveringCandidates = 12

// openPairs are the pairs that no row covers so far.
type openPairs struct {
	list  []pair
	index map[pair]int // position in list
}

// possiblePairs returns all pairs that a row can have.
func possiblePairs(sizes []int, isPossible func([]int) bool) *openPairs {
	open := &openPairs{index: map[pair]int{}}
	row := undecidedRow(len(sizes))
	for a := range sizes {
		for b := a + 1; b < len(sizes); b++ {
			for va := range sizes[a] {
				for vb := range sizes[b] {
					if row[a], row[b] = va, vb; isPossible(row) {
						p := pair{a, va, b, vb}
						open.index[p] = len(open.list)
						open.list = append(open.list, p)
					}
				}
			}
			row[b] = -1
		}
		row[a] = -1
	}
	return open
}

// undecidedRow returns a row of n dimensions without values.
func undecidedRow(n int) []int {
	row := make([]int, n)
	for i := range row {
		row[i] = -1
	}
	return row
}

// candidate returns a row that has one of the open pairs. The other dimensions, in random order,
// have the values that cover the most open pairs together with those decided before. It returns nil
// if no value of a dimension is possible.
func (o *openPairs) candidate(sizes []int, isPossible func([]int) bool, rng *rand.Rand) []int {
	row := undecidedRow(len(sizes))
	first := o.list[rng.IntN(len(o.list))]
	row[first.dimensionA], row[first.dimensionB] = first.valueA, first.valueB
	for _, d := range rng.Perm(len(sizes)) {
		if row[d] >= 0 {
			continue
		}
		best, bestCovered := -1, -1
		for _, v := range rng.Perm(sizes[d]) {
			row[d] = v
			if n := o.countCoveredBy(row, d); n > bestCovered && isPossible(row) {
				best, bestCovered = v, n
			}
		}
		if row[d] = best; best < 0 {
			return nil
		}
	}
	return row
}

// countCovered returns the number of open pairs that a row has. It returns 0 for nil.
func (o *openPairs) countCovered(row []int) (n int) {
	for d := range row {
		n += o.countCoveredBy(row[:d+1], d)
	}
	return n
}

// countCoveredBy returns the number of open pairs that the value of dimension d forms with the
// other values of a row.
func (o *openPairs) countCoveredBy(row []int, d int) (n int) {
	for other, v := range row {
		if other != d && v >= 0 {
			if _, ok := o.index[pairOf(row, d, other)]; ok {
				n++
			}
		}
	}
	return n
}

// pairOf returns the pair of the values that a row has in two dimensions.
func pairOf(row []int, a, b int) pair {
	if a > b {
		a, b = b, a
	}
	return pair{a, row[a], b, row[b]}
}

// cover removes the pairs that a row has.
func (o *openPairs) cover(row []int) {
	for a := range row {
		for b := a + 1; b < len(row); b++ {
			if i, ok := o.index[pairOf(row, a, b)]; ok {
				o.drop(i)
			}
		}
	}
}

// drop removes the pair at index i of the list.
func (o *openPairs) drop(i int) {
	last := len(o.list) - 1
	delete(o.index, o.list[i])
	if i != last {
		o.list[i] = o.list[last]
		o.index[o.list[i]] = i
	}
	o.list = o.list[:last]
}
