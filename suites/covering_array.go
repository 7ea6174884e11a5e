package suites

import (
	"math/rand/v2"
	"slices"
)

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
			if len(open.list) == 0 {
				break
			}
			first := open.list[rng.IntN(len(open.list))]
			row := open.complete(first, sizes, isPossible, rng)
			if row == nil {
				open.drop(open.index[open.key(first)])
				continue
			}
			if n := open.countCovered(row); n > bestCovered {
				best, bestCovered = row, n
			}
		}
		if best != nil {
			open.cover(best)
			rows = append(rows, best)
		}
	}
	return rows
}

// coveringCandidates is the number of candidates from which each row of a covering array is chosen.
// More candidates lead to somewhat fewer rows.
const coveringCandidates = 12

// openPairs are the pairs that no row covers so far.
type openPairs struct {
	list    []pair
	index   []int // by [openPairs.key] of a pair: its position in list, or -1
	offsets []int // by dimension: the number of values of all dimensions before it
	values  int   // number of values of all dimensions
}

// key returns a number for the pair p that no other pair has. It is the index of p in o.index.
func (o *openPairs) key(p pair) int {
	return (o.offsets[p.dimensionA]+p.valueA)*o.values + o.offsets[p.dimensionB] + p.valueB
}

// possiblePairs returns all pairs that a row can have.
func possiblePairs(sizes []int, isPossible func([]int) bool) *openPairs {
	open := &openPairs{}
	for _, n := range sizes {
		open.offsets = append(open.offsets, open.values)
		open.values += n
	}
	open.index = slices.Repeat([]int{-1}, open.values*open.values)
	row := undecidedRow(len(sizes))
	for a := range sizes {
		for b := a + 1; b < len(sizes); b++ {
			for va := range sizes[a] {
				for vb := range sizes[b] {
					if row[a], row[b] = va, vb; isPossible(row) {
						p := pair{a, va, b, vb}
						open.index[open.key(p)] = len(open.list)
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

// complete returns a row that has the pair first. The other dimensions, in random order, have the
// values that cover the most open pairs together with those decided before, as far as a possible
// row has them. It returns nil if no possible row has the pair.
func (o *openPairs) complete(first pair, sizes []int, isPossible func(row []int) bool, rng *rand.Rand) []int {
	row := undecidedRow(len(sizes))
	row[first.dimensionA], row[first.dimensionB] = first.valueA, first.valueB
	order := slices.DeleteFunc(rng.Perm(len(sizes)), func(d int) bool { return row[d] >= 0 })
	var decide func(order []int) bool
	decide = func(order []int) bool {
		if len(order) == 0 {
			return true
		}
		d := order[0]
		values := rng.Perm(sizes[d])
		covered := make([]int, sizes[d])
		for _, v := range values {
			row[d] = v
			covered[v] = o.countCoveredBy(row, d)
		}
		slices.SortStableFunc(values, func(a, b int) int { return covered[b] - covered[a] })
		for _, v := range values {
			if row[d] = v; isPossible(row) && decide(order[1:]) {
				return true
			}
		}
		row[d] = -1
		return false
	}
	if !decide(order) {
		return nil
	}
	return row
}

// countCovered returns the number of open pairs that a row has.
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
			if o.index[o.key(pairOf(row, d, other))] >= 0 {
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
			if i := o.index[o.key(pairOf(row, a, b))]; i >= 0 {
				o.drop(i)
			}
		}
	}
}

// drop removes the pair at index i of the list.
func (o *openPairs) drop(i int) {
	last := len(o.list) - 1
	o.index[o.key(o.list[i])] = -1
	if i != last {
		o.list[i] = o.list[last]
		o.index[o.key(o.list[i])] = i
	}
	o.list = o.list[:last]
}
