package options

// Options of changelogs and of the compactions that make them.
var (
	RowDeduplicate       = boolean("changelog-producer.row-deduplicate", false, "Producers lookup and full-compaction leave out -U and +U of rows that did not change.")
	RowDeduplicateIgnore = list("changelog-producer.row-deduplicate-ignore-fields", "Columns that row-deduplicate does not compare.")
	FullCompactionDelta  = atLeast(integer("full-compaction.delta-commits", 0, "Commits of a writer after which it merges all of the buckets that it has open; 0 is never."), 0)
	LookupWait           = boolean("lookup-wait", true, "Commits wait for the compactions that take level 0 up, with the producer lookup, first-row and force-lookup.").alias("changelog-producer.lookup-wait")
	LookupCompact        = enum("lookup-compact", "radical", "With the producer lookup, first-row and force-lookup: whether every commit compacts level 0 (radical) or compaction goes its own pace (gentle).", "radical", "gentle")
	LookupMaxInterval    = integer("lookup-compact.max-interval", 0, "lookup-compact=gentle: most commits before level 0 is compacted all the same; 0 is twice the compaction trigger, which is the least.").fresh(least(0))
	LookupCacheMemory    = size("lookup.cache-max-memory-size", "256 mb", "Memory for the index of all keys (bucket = -1 with a primary key that lacks partition columns).")
	ChangelogFormat      = str("changelog-file.format", "", "Format of changelog files; default is file.format.").fresh(among(dataFormats))
	ChangelogCompression = str("changelog-file.compression", "", "Compression of changelog files; default is file.compression.").fresh(parquetCompression)
	ChangelogStats       = str("changelog-file.stats-mode", "", "Statistics of changelog files; default is metadata.stats-mode.").fresh(statsMode)
	ChangelogMin         = atLeast(integer("changelog.num-retained.min", 0, "Changelogs that are kept in any case; default is snapshot.num-retained.min."), 0)
	ChangelogMax         = atLeast(integer("changelog.num-retained.max", 0, "Changelogs that are kept at most; default is snapshot.num-retained.max."), 0)
	ChangelogTime        = duration("changelog.time-retained", "", "Time for which changelogs are kept; default is snapshot.time-retained.")

	FollowOverwrite       = boolean("streaming-read-overwrite", false, "Who follows a table with a key is told of overwrites: the rows that went and those that came.")
	FollowAppendOverwrite = boolean("streaming-read-append-overwrite", false, "Who follows an append table is told of the rows that overwrites put there.")

	ConsumerChangelogOnly = boolean("consumer.changelog-only", false, "Consumers keep changelogs, not snapshots, from expiry, if changelogs live longer than snapshots.")
	ScanCreationMillis    = long("scan.creation-time-millis", -1, "scan.mode=from-creation-timestamp: the time, in milliseconds since 1970.")
	ScanFileMillis        = long("scan.file-creation-time-millis", -1, "scan.mode=from-file-creation-time: reads files made after this time, in milliseconds since 1970.")
	ScanBound             = long("scan.bounded.watermark", unlimited, "Who follows the table is told nothing more from the first snapshot with a later watermark on.")
	IncrementalBetween    = str("incremental-between", "", "Reads the changes between two snapshots or tags: 5,10.")
	IncrementalTime       = str("incremental-between-timestamp", "", "Reads the changes between two times, in milliseconds since 1970 or as 2024-02-29 12:00:00.")
	IncrementalMode       = enum("incremental-between-scan-mode", "auto", "What such a read gives: delta, the rows that were written; changelog, those of the changelog; diff, those that differ in the two states; auto: changelog if there is one, else delta.", "auto", "delta", "changelog", "diff")
	IncrementalTags       = boolean("incremental-between-tag-to-snapshot", false, "incremental-between of two tags reads as of their snapshots, not the difference of the two states.")
	IncrementalToTag      = str("incremental-to-auto-tag", "", "Reads the changes from the tag before this one to it.")
	FallbackBranch        = str("scan.fallback-branch", "", "Branch that partitions are read from that this one does not have.")
)
