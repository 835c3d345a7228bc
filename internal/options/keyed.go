package options

// Options of primary-key tables beyond those of every table: buckets that grow, vectors, expiry of
// rows.
var (
	DynamicTargetRows  = atLeast(long("dynamic-bucket.target-row-num", 2_000_000, "Keys of a bucket before a new one is begun (bucket = -1)."), 1)
	DynamicInitial     = atLeast(integer("dynamic-bucket.initial-buckets", 0, "Buckets that are begun side by side in a partition; 0 is dynamic-bucket.assigner-parallelism."), 0)
	DynamicMax         = integer("dynamic-bucket.max-buckets", -1, "Most buckets of a partition; -1 is no limit.").fresh(least(-1))
	DynamicAssigners   = atLeast(integer("dynamic-bucket.assigner-parallelism", 0, "Buckets that are begun side by side where dynamic-bucket.initial-buckets does not tell; 0 is one."), 0)
	CrossTTL           = duration("cross-partition-upsert.index-ttl", "", "Time after which keys that do not come are dropped from the index of all partitions; duplicates may follow.")
	CrossBootstrap     = integer("cross-partition-upsert.bootstrap-parallelism", 10, "Readers that fill the index of all partitions.").fresh(least(1))
	PostponeBuckets    = atLeast(integer("postpone.default-bucket-num", 1, "Buckets of a partition whose rows are distributed for the first time (bucket = -2)."), 1)
	PostponeBatchFixed = boolean("postpone.batch-write-fixed-bucket", true, "With bucket = -2 rows are written to the buckets of their partitions at once; false: they are put aside, and become part of the table by a compaction.")

	VectorBitmap64   = boolean("deletion-vectors.bitmap64", false, "Writes deletion vectors with 64 bits.")
	VectorModifiable = boolean("deletion-vectors.modifiable", false, "deletion-vectors.enabled may be changed, on where no key has two versions in the files, off where no row is deleted.")
	VectorFileSize   = size("deletion-vector.index-file.target-size", "2 mb", "Size of files of deletion vectors, of tables without buckets.")

	RecordExpireTime  = duration("record-level.expire-time", "", "Time after which rows are dropped by compactions.")
	RecordExpireField = str("record-level.time-field", "", "Column that says how old a row is.")
	DefaultAggregate  = str("fields.default-aggregate-function", "", "Aggregate function of columns without one.")
	LocalMerge        = size("local-merge-buffer-size", "", "Memory in which writers merge rows before they are distributed to buckets; not set: they are not.")
	ReadSequence      = boolean("table-read.sequence-number.enabled", false, "$audit_log and $binlog have the sequence numbers of rows.")
	SnapshotOrdering  = boolean("sequence.snapshot-ordering", false, "The order of commits decides which row of a key is newest; with write-only, without sequence.field.").fixed()

	ForceRewrite = boolean("compaction.force-rewrite-all-files", false, "A full compaction rewrites files that need no merging, too.")

	BucketOrdered       = boolean("bucket-append-ordered", true, "Rows of a bucket of an append table keep their order.")
	SortSpillThreshold  = integer("sort-spill-threshold", 0, "Sorted runs of a merge from which on some are merged to temporary files first; 0 is local-sort.max-num-file-handles.").fresh(least(0))
	StatsPerLevel       = str("metadata.stats-mode.per.level", "", "Statistics of levels: 0:none,5:full.").fresh(perLevel(statsMode))
	ManifestFormat      = enum("manifest.format", "avro", "Format of manifests.", "avro")
	CommitUserPrefix    = str("commit.user-prefix", "", "Start of the names of commit users.")
	ForceCreateSnapshot = boolean("commit.force-create-snapshot", false, "Commits without files make a snapshot.")
	TableType           = enum("type", "table", "Kind of table.", "table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table")
)
