package mockserver

import (
	"sync"

	"github.com/streamassay/streamassay/mockserver/vary"
	"github.com/streamassay/streamassay/spec/dialect"
)

// variations is a cache of variations, which are expensive to create. It is safe for concurrent
// use.
type variations struct {
	mu  sync.Mutex
	all map[variationKey]*vary.Variation
}

type variationKey struct {
	seed    uint64
	dialect *dialect.Dialect
}

// maxVariations is the maximum number of variations in the cache. When the cache is full, it is
// emptied.
const maxVariations = 256

// get returns the variation of the dialect d for the given seed. It creates the variation if the
// cache does not contain it.
func (v *variations) get(seed uint64, d *dialect.Dialect) *vary.Variation {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := variationKey{seed, d}
	found := v.all[key]
	if found == nil {
		if v.all == nil || len(v.all) >= maxVariations {
			v.all = map[variationKey]*vary.Variation{}
		}
		found = vary.New(seed, d)
		v.all[key] = found
	}
	return found
}
