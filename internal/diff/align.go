package diff

// maxCells is the maximum number of possible pairs for which [align] finds the best pairs. Longer
// lists are paired by index, because the time and memory for align grow with that number.
const maxCells = 1 << 22

// An indexPair holds the indexes of two matching elements: a in the first list and b in the second,
// both from 0. The index -1 means that the other element has no match.
type indexPair struct{ a, b int }

// align pairs elements of two lists, of lengths n and m. The pairs keep both lists in order, and
// their total weight is as large as possible. The function weight returns the weight of the pair of
// element i of the first list and element j of the second. Elements whose pair has the weight 0 are
// never paired.
//
// The result contains all elements of both lists, in order; an element without a match is paired
// with -1. If there are more than [maxCells] possible pairs, align returns the result of
// alignByIndex.
func align(n, m int, weight func(i, j int) int) []indexPair {
	if n*m > maxCells {
		return alignByIndex(n, m, weight)
	}
	best := make([]int, (n+1)*(m+1)) // greatest weight for the elements from i and j on
	at := func(i, j int) int { return i*(m+1) + j }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			b := max(best[at(i+1, j)], best[at(i, j+1)])
			if w := weight(i, j); w > 0 {
				b = max(b, w+best[at(i+1, j+1)])
			}
			best[at(i, j)] = b
		}
	}
	var all []indexPair
	i, j := 0, 0
	for i < n && j < m {
		w := weight(i, j)
		switch {
		case w > 0 && best[at(i, j)] == w+best[at(i+1, j+1)]:
			all = append(all, indexPair{i, j})
			i, j = i+1, j+1
		case best[at(i, j)] == best[at(i+1, j)]:
			all = append(all, indexPair{i, -1})
			i++
		default:
			all = append(all, indexPair{-1, j})
			j++
		}
	}
	return appendUnpaired(all, i, n, j, m)
}

// alignByIndex pairs elements of two long lists. The arguments and the result are like those of
// [align], but alignByIndex pairs two elements only if they have the same index and their pair has
// a weight above 0.
func alignByIndex(n, m int, weight func(i, j int) int) (all []indexPair) {
	k := 0
	for ; k < min(n, m); k++ {
		if weight(k, k) > 0 {
			all = append(all, indexPair{k, k})
		} else {
			all = append(all, indexPair{k, -1}, indexPair{-1, k})
		}
	}
	return appendUnpaired(all, k, n, k, m)
}

// appendUnpaired appends elements without a match to all, and returns the result. These are the
// elements i to n-1 of the first list, followed by the elements j to m-1 of the second.
func appendUnpaired(all []indexPair, i, n, j, m int) []indexPair {
	for ; i < n; i++ {
		all = append(all, indexPair{i, -1})
	}
	for ; j < m; j++ {
		all = append(all, indexPair{-1, j})
	}
	return all
}
