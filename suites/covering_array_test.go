package suites

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCoveringArray checks that the rows of a covering array have every pair of values that a
// complete enumeration of all possible rows has, and no impossible row.
func TestCoveringArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 5).Draw(t, "sizes")
		forbidden := valuePair{0, rapid.IntRange(0, 3).Draw(t, "a"), len(sizes) - 1, rapid.IntRange(0, 3).Draw(t, "b")}
		isPossible := func(row []int) bool {
			return len(sizes) < 2 || pairOf(row, forbidden.dimensionA, forbidden.dimensionB) != forbidden
		}
		want := map[valuePair]bool{}
		forEachRow(sizes, func(row []int) {
			if isPossible(row) {
				addPairs(want, row)
			}
		})
		got := map[valuePair]bool{}
		for _, row := range coveringArray(math.MaxInt, sizes, isPossible, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))) {
			if !isPossible(row) {
				t.Fatalf("row %v is impossible", row)
			}
			addPairs(got, row)
		}
		for p := range want {
			if !got[p] {
				t.Errorf("no row has the pair %v", p)
			}
		}
	})
}

// forEachRow calls do with every combination of values of dimensions of the given sizes.
func forEachRow(sizes []int, do func(row []int)) {
	row := make([]int, len(sizes))
	for {
		do(slices.Clone(row))
		d := len(sizes) - 1
		for ; d >= 0; d-- {
			if row[d]++; row[d] < sizes[d] {
				break
			}
			row[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// addPairs adds the pairs of values that a row has to a set.
func addPairs(set map[valuePair]bool, row []int) {
	for a := range row {
		for b := a + 1; b < len(row); b++ {
			set[pairOf(row, a, b)] = true
		}
	}
}

// TestCoveringArrayIsSmall checks the number of rows for dimensions such as those of combinations,
// and that the same seed leads to the same rows.
func TestCoveringArrayIsSmall(t *testing.T) {
	sizes := []int{12, 18, 40, 14, 9, 8, 7}
	all := func([]int) bool { return true }
	rows := coveringArray(math.MaxInt, sizes, all, rand.New(rand.NewPCG(1, 0)))
	if least := 18 * 40; len(rows) < least || len(rows) > least*5/4 {
		t.Errorf("got %d rows, want from %d (the number of pairs of the two largest dimensions) to a quarter more", len(rows), least)
	}
	again := coveringArray(math.MaxInt, sizes, all, rand.New(rand.NewPCG(1, 0)))
	if fmt.Sprint(rows) != fmt.Sprint(again) {
		t.Error("the same seed led to other rows")
	}
	if first := coveringArray(10, sizes, all, rand.New(rand.NewPCG(1, 0))); fmt.Sprint(first) != fmt.Sprint(rows[:10]) {
		t.Errorf("got %v, want the first 10 rows, %v", first, rows[:10])
	}
}

// TestPromptPlaces checks that the docs of prompts have a word for each value that they take.
func TestPromptPlaces(t *testing.T) {
	for _, v := range slices.Concat(promptValues, morePromptValues) {
		if v.takesText != strings.Contains(v.doc, "TEXT") || v.takesJSON != strings.Contains(v.doc, "JSON") {
			t.Errorf("%q: takesText is %v, takesJSON %v", v.doc, v.takesText, v.takesJSON)
		}
	}
}
