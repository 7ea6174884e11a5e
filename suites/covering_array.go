package suites

import (
	"math/rand/v2"
	"slices"
)

// A valuePair is a pair of values of two dimensions: valueA of dimensionA and valueB of
// dimensionB. The fields are indexes, counted from 0, and dimensionA is less than dimensionB.
type valuePair struct{ dimensionA, valueA, dimensionB, valueB int }

// coveringArray returns at most n rows, each of which contains the index of one value for each
// dimension. If n is large enough, each possible pair of values of two dimensions occurs in at
// least one row. The argument sizes contains the number of values of each dimension. The function
// isPossible receives a row in which -1 stands for a dimension without a value. It must report
// whether the row can be completed, and must not modify it.
//
// The algorithm is greedy: each row is the best of several random candidates, so that the first
// rows cover most pairs. The result depends only on the arguments and the state of rng. A smaller n
// only omits rows at the end of the result.
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

// coveringCandidates is the number of candidates from which [coveringArray] selects each row. With
// more candidates, slightly fewer rows are needed.
const coveringCandidates = 12

// uncoveredValuePairs is the set of possible pairs that do not occur in any row yet.
type uncoveredValuePairs struct {
	list    []valuePair
	index   []int // maps the key of a pair to its index in list, or to -1 if it is not in list
	offsets []int // for each dimension: the total number of values of all earlier dimensions
	values  int   // total number of values of all dimensions
}

// key returns the number that identifies p among all pairs. It is an index in o.index.
func (o *uncoveredValuePairs) key(p valuePair) int {
	return (o.offsets[p.dimensionA]+p.valueA)*o.values + o.offsets[p.dimensionB] + p.valueB
}

// possiblePairs returns all pairs of values of two different dimensions that may occur together in
// a row. The arguments are those of [coveringArray].
func possiblePairs(sizes []int, isPossible func([]int) bool) *uncoveredValuePairs {
	open := &uncoveredValuePairs{}
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

// undecidedRow returns a row of n dimensions without values. Each element is -1.
func undecidedRow(n int) []int {
	row := make([]int, n)
	for i := range row {
		row[i] = -1
	}
	return row
}

// complete returns a possible row that contains p, or nil if there is none. It prefers values for
// the other dimensions that add many pairs in o to the row. The other arguments are those of
// [coveringArray].
func (o *uncoveredValuePairs) complete(
	p valuePair, sizes []int, isPossible func(row []int) bool, rng *rand.Rand,
) []int {
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

// countCovered returns the number of pairs in o that occur in row. No element of row may be -1.
func (o *uncoveredValuePairs) countCovered(row []int) (n int) {
	for d := range row {
		n += o.countCoveredBy(row[:d+1], d)
	}
	return n
}

// countCoveredBy returns the number of pairs in o that row[d] forms with the other elements of row.
// Other elements may be -1; they form no pair.
func (o *uncoveredValuePairs) countCoveredBy(row []int, d int) (n int) {
	for other, v := range row {
		if other != d && v >= 0 {
			if o.index[o.key(pairOf(row, d, other))] >= 0 {
				n++
			}
		}
	}
	return n
}

// pairOf returns the pair of the values that row contains for the dimensions a and b. The order of
// a and b does not matter.
func pairOf(row []int, a, b int) valuePair {
	if a > b {
		a, b = b, a
	}
	return valuePair{a, row[a], b, row[b]}
}

// cover removes from o the pairs that occur in row, a row of the array in which every parameter has
// a value: no element is -1.
func (o *uncoveredValuePairs) cover(row []int) {
	for a := range row {
		for b := a + 1; b < len(row); b++ {
			if i := o.index[o.key(pairOf(row, a, b))]; i >= 0 {
				o.drop(i)
			}
		}
	}
}

// drop removes the pair o.list[i] from o, and moves the last pair of o.list to the index i.
func (o *uncoveredValuePairs) drop(i int) {
	last := len(o.list) - 1
	o.index[o.key(o.list[i])] = -1
	if i != last {
		o.list[i] = o.list[last]
		o.index[o.key(o.list[i])] = i
	}
	o.list = o.list[:last]
}
