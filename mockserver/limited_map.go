package mockserver

import (
	"maps"
	"slices"
	"sync"
)

// A limitedMap is a map of at most limit entries. Adding an entry to a full map drops the entry
// that was added first. A limitedMap is safe for concurrent use.
type limitedMap[K comparable, V any] struct {
	limit int

	mu    sync.Mutex
	all   map[K]V
	order []K // the keys in the order in which they were added
}

// find returns the value of key, or the zero value if the map does not contain key.
func (l *limitedMap[K, V]) find(key K) V {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[key]
}

// get returns the value of key. If the map does not contain key, get adds it with the result of
// create as its value. The function create must not use the map.
func (l *limitedMap[K, V]) get(key K, create func() V) V {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found, ok := l.all[key]; ok {
		return found
	}
	if l.all == nil {
		l.all = map[K]V{}
	}
	if len(l.order) >= l.limit {
		delete(l.all, l.order[0])
		l.order = l.order[1:]
	}
	l.all[key] = create()
	l.order = append(l.order, key)
	return l.all[key]
}

// drop removes key and its value. It does nothing if the map does not contain key.
func (l *limitedMap[K, V]) drop(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, key)
	l.order = slices.DeleteFunc(l.order, func(other K) bool { return other == key })
}

// dropFunc removes all entries for which isDropped returns true. The function isDropped must not
// use the map.
func (l *limitedMap[K, V]) dropFunc(isDropped func(key K, v V) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.all, isDropped)
	l.order = slices.DeleteFunc(l.order, func(key K) bool { _, ok := l.all[key]; return !ok })
}

// keys returns the keys in the order in which they were added, oldest first.
func (l *limitedMap[K, V]) keys() []K {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.order)
}

// reset removes all entries.
func (l *limitedMap[K, V]) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all, l.order = nil, nil
}
