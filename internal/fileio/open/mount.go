package open

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tarnlake/tarn/internal/fileio"
)

// mounted is a file system under a name; root is the path within it that memory://name stands for.
type mounted struct {
	fs   fileio.FS
	root string
}

// mounts are file systems by name.
type mounts struct {
	sync.Mutex
	at map[string]mounted
}

func (m *mounts) put(name string, x mounted) {
	if m.at == nil {
		m.at = map[string]mounted{}
	}
	m.at[name] = x
}

// Mount makes memory://name stand for a path of a file system, until unmount is called: for those who
// have to stand between a warehouse and its storage, as tests that inject faults do. An empty root is
// the root of the file system. The error says that the name is empty or taken. It is safe for concurrent use.
func Mount(name string, fs fileio.FS, root string) (unmount func(), err error) {
	named.Lock()
	defer named.Unlock()
	if name == "" {
		return nil, errors.New("open: mount: the name is empty")
	}
	if _, ok := named.at[name]; ok {
		return nil, fmt.Errorf("open: mount: the name %q is taken", name)
	}
	named.put(name, mounted{fs, root})
	return func() {
		named.Lock()
		defer named.Unlock()
		delete(named.at, name)
	}, nil
}
