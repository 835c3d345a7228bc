package write

import (
	"github.com/tarnlake/tarn/internal/appendtbl"
	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/internal/lsm"
)

// The writers of the two kinds of tables are Buckets, and that of rows without a bucket.
var (
	_ Bucket = (*lsm.Writer)(nil)
	_ Bucket = (*appendtbl.Writer)(nil)
	_ Bucket = (*bucket.Aside)(nil)
)
