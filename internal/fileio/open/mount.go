package open

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/fileio"
)

// Mount makes memory://name the given file system, until unmount is called: for those who have to
// stand between a warehouse and its storage, as tests that inject faults do. It panics if the name is
// empty or taken, as two owners of one file system are a mistake in the program. It is safe for concurrent use.
func Mount(name string, fs fileio.FS) (unmount func()) {
	named.Lock()
	defer named.Unlock()
	if name == "" || named.fs[name] != nil {
		panic(fmt.Sprintf("open: mount: the name %q is empty or taken", name))
	}
	if named.fs == nil {
		named.fs = map[string]fileio.FS{}
	}
	named.fs[name] = fs
	return func() {
		named.Lock()
		defer named.Unlock()
		delete(named.fs, name)
	}
}
