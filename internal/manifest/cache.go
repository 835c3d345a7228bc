package manifest

import (
	"container/list"
	"sync"
	"unsafe"
)

// Cache keeps decoded metadata files, which never change, up to a number of bytes; what was not used
// for longest goes first. It is safe for concurrent use and may be shared by many tables. A nil Cache
// keeps nothing.
type Cache struct {
	mu    sync.Mutex
	max   int64
	used  int64
	order *list.List // of *cached, the most recently used in front
	at    map[string]*list.Element
}

type cached struct {
	path string
	v    any
	cost int64
}

// NewCache makes a cache of about that many bytes.
func NewCache(bytes int64) *Cache {
	return &Cache{max: bytes, order: list.New(), at: map[string]*list.Element{}}
}

func (c *Cache) get(path string) any {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[path]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).v
}

// fits says whether a value is small enough to be kept.
func (c *Cache) fits(cost int64) bool { return c != nil && cost <= c.max/4 }

func (c *Cache) put(path string, v any, cost int64) {
	if !c.fits(cost) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[path]; e != nil {
		old := e.Value.(*cached)
		c.used += cost - old.cost
		old.v, old.cost = v, cost
		c.order.MoveToFront(e)
	} else {
		c.at[path] = c.order.PushFront(&cached{path, v, cost})
		c.used += cost
	}
	for c.used > c.max {
		c.remove(c.order.Back())
	}
}

func (c *Cache) remove(e *list.Element) {
	v := e.Value.(*cached)
	c.order.Remove(e)
	delete(c.at, v.path)
	c.used -= v.cost
}

// Drop forgets files, because they were deleted.
func (c *Cache) Drop(paths ...string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range paths {
		if e := c.at[p]; e != nil {
			c.remove(e)
		}
	}
}

// Used is the number of bytes that the cache holds, as estimated.
func (c *Cache) Used() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// perFile is what the structs of an entry take; what they point to is about four times the file's size.
const perFile = int64(unsafe.Sizeof(DataFile{}) + unsafe.Sizeof(Entry{}))

func entriesCost(n, size int64) int64 { return n*perFile + 4*size + 256 }
