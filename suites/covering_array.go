package suites

import (
	"math/rand/v2"
	"slices"
)

// A valuePair is a pair of values of two dimensions: valueA of dimensionA, and valueB of
// dimensionB, which is a later dimension. Dimensions, and the values of each dimension, are counted
// from 0.
type valuePair struct{ dimensionA, valueA, dimensionB, valueB int }

// coveringArray returns at most n rows. A row holds the index of one value for each dimension. If n
// is large enough, each pair of values of two dimensions that can occur together does so in at
// least one row. sizes holds the number of values of each dimension. The function isPossible must
// report whether the values of a row can occur together; in the argument row, which it must not
// modify, dimensions that are not decided yet are -1.
//
// The algorithm is greedy: each row is the best of several candidates, so that the first rows cover
// most pairs. The same state of rng leads to the same rows. A smaller n leads to the first n of
// them.
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

// coveringCandidates is the number of candidates from which [coveringArray] chooses each row. More
// candidates lead to somewhat fewer rows.
const coveringCandidates = 12

// uncoveredPairs holds the possible pairs that no row covers so far.
type uncoveredPairs struct {
	list    []valuePair
	index   []int // by [uncoveredPairs.key]: the position of the pair in list, or -1 if it is not in list
	offsets []int // by dimension: the number of values of all earlier dimensions
	values  int   // number of values of all dimensions together
}

// key returns the number that identifies p among all pairs. It is the index of p in o.index.
func (o *uncoveredPairs) key(p valuePair) int {
	return (o.offsets[p.dimensionA]+p.valueA)*o.values + o.offsets[p.dimensionB] + p.valueB
}

// possiblePairs returns all pairs that a row can have. The arguments are those of [coveringArray].
func possiblePairs(sizes []int, isPossible func([]int) bool) *uncoveredPairs {
	open := &uncoveredPairs{}
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
						p := valuePair{a, va, b, vb}
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

// undecidedRow returns a row of n dimensions that are not decided yet, so that each element is -1.
func undecidedRow(n int) []int {
	row := make([]int, n)
	for i := range row {
		row[i] = -1
	}
	return row
}

// complete returns a possible row that contains p, or nil if there is none. It decides the other
// dimensions in random order. In each of them, it prefers the value that forms the most pairs in o
// with the values that are already decided. The other arguments are those of [coveringArray].
func (o *uncoveredPairs) complete(p valuePair, sizes []int, isPossible func(row []int) bool, rng *rand.Rand) []int {
	row := undecidedRow(len(sizes))
	row[p.dimensionA], row[p.dimensionB] = p.valueA, p.valueB
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

// countCovered returns the number of pairs in o that row contains. All dimensions of row must be
// decided, which means that no element is -1.
func (o *uncoveredPairs) countCovered(row []int) (n int) {
	for d := range row {
		n += o.countCoveredBy(row[:d+1], d)
	}
	return n
}

// countCoveredBy returns the number of pairs in o that the value of dimension d in row forms with
// the other values in row. Elements other than that of d may be -1, which means that their
// dimensions are not decided yet.
func (o *uncoveredPairs) countCoveredBy(row []int, d int) (n int) {
	for other, v := range row {
		if other != d && v >= 0 {
			if o.index[o.key(pairOf(row, d, other))] >= 0 {
				n++
			}
		}
	}
	return n
}

// pairOf returns the pair of the values that row has in the dimensions a and b. The order of a and
// b does not matter.
func pairOf(row []int, a, b int) valuePair {
	if a > b {
		a, b = b, a
	}
	return valuePair{a, row[a], b, row[b]}
}

// cover removes from o the pairs that row contains. All dimensions of row must be decided, which
// means that no element is -1.
func (o *uncoveredPairs) cover(row []int) {
	for a := range row {
		for b := a + 1; b < len(row); b++ {
			if i := o.index[o.key(pairOf(row, a, b))]; i >= 0 {
				o.drop(i)
			}
		}
	}
}

// drop removes from o the pair at index i of o.list. It moves the last pair of the list to that
// index.
func (o *uncoveredPairs) drop(i int) {
	last := len(o.list) - 1
	o.index[o.key(o.list[i])] = -1
	if i != last {
		o.list[i] = o.list[last]
		o.index[o.key(o.list[i])] = i
	}
	o.list = o.list[:last]
}
