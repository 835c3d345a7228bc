package options

// Options of changelogs and of the compactions that make them.
var (
	RowDeduplicate       = boolean("changelog-producer.row-deduplicate", false, "Producers lookup and full-compaction leave out -U and +U of rows that did not change.").part(changelogs)
	RowDeduplicateIgnore = list("changelog-producer.row-deduplicate-ignore-fields", "Columns that row-deduplicate does not compare.").part(changelogs)
	FullCompactionDelta  = atLeast(integer("full-compaction.delta-commits", 0, "Commits of a writer after which it merges all of the buckets that it has open; 0 is never."), 0)
	LookupWait           = boolean("lookup-wait", true, "Commits wait for the compactions that make the changelog.").alias("changelog-producer.lookup-wait").part(changelogs)
	LookupCompact        = enum("lookup-compact", "radical", "Whether every commit compacts level 0 (radical) or compaction goes its own pace (gentle).", "radical", "gentle").part(changelogs)
	LookupMaxInterval    = integer("lookup-compact.max-interval", 0, "lookup-compact=gentle: most commits before level 0 is compacted all the same; 0 is twice the compaction trigger.").part(changelogs).fresh(least(0))
	LookupCacheMemory    = size("lookup.cache-max-memory-size", "256 mb", "Memory for lookups of older rows.").part(changelogs)
	LookupCacheDisk      = size("lookup.cache-max-disk-size", "", "Most bytes of temporary files for lookups.").part(changelogs)
	LookupCacheRetention = duration("lookup.cache-file-retention", "1 h", "Time after which temporary files of lookups that nobody uses go.").part(changelogs)
	ChangelogFormat      = str("changelog-file.format", "", "Format of changelog files; default is file.format.").fresh(among(dataFormats))
	ChangelogCompression = str("changelog-file.compression", "", "Compression of changelog files; default is file.compression.").fresh(parquetCompression)
	ChangelogStats       = str("changelog-file.stats-mode", "", "Statistics of changelog files; default is metadata.stats-mode.").fresh(statsMode)
	PrecommitCompact     = boolean("precommit-compact", false, "Joins small changelog files before they are committed.").alias("changelog.precommit-compact").part(changelogs)
	ForceChangelog       = boolean("delete.force-produce-changelog", false, "DELETE and UPDATE write changelogs even where compaction would make them.")
	ChangelogMin         = atLeast(integer("changelog.num-retained.min", 0, "Changelogs that are kept in any case; default is snapshot.num-retained.min."), 0)
	ChangelogMax         = atLeast(integer("changelog.num-retained.max", 0, "Changelogs that are kept at most; default is snapshot.num-retained.max."), 0)
	ChangelogTime        = duration("changelog.time-retained", "", "Time for which changelogs are kept; default is snapshot.time-retained.")

	FollowOverwrite       = boolean("streaming-read-overwrite", false, "Who follows a table with a key is told of overwrites: the rows that went and those that came.")
	FollowAppendOverwrite = boolean("streaming-read-append-overwrite", false, "Who follows an append table is told of the rows that overwrites put there.")

	ConsumerChangelogOnly = boolean("consumer.changelog-only", false, "Consumers keep changelogs, not snapshots, from expiry, if changelogs live longer than snapshots.")
	ScanCreationMillis    = long("scan.creation-time-millis", -1, "scan.mode=from-creation-timestamp: the time, in milliseconds since 1970.")
	ScanFileMillis        = long("scan.file-creation-time-millis", -1, "scan.mode=from-file-creation-time: reads files made after this time, in milliseconds since 1970.")
	IncrementalBetween    = str("incremental-between", "", "Reads the changes between two snapshots or tags: 5,10.")
	IncrementalTime       = str("incremental-between-timestamp", "", "Reads the changes between two times, in milliseconds since 1970 or as 2024-02-29 12:00:00.")
	IncrementalToTag      = str("incremental-to-auto-tag", "", "Reads the changes from the tag before this one to it.")
	FallbackBranch        = str("scan.fallback-branch", "", "Branch that partitions are read from that this one does not have.")
)
