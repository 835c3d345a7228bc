// Package paths knows every name that a table has on disk: folders, metadata files, data files,
// partition folders, and the names of databases and tables in a warehouse. It does no IO.
package paths

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/types"
)

// Names of hint files beside snapshots and changelogs.
const (
	Earliest = "EARLIEST"
	Latest   = "LATEST"
)

// Prefixes of file names. A number, or a UUID and a number, follows.
const (
	SchemaPrefix        = "schema-"
	SnapshotPrefix      = "snapshot-"
	ChangelogMetaPrefix = "changelog-"
	ManifestPrefix      = "manifest-"
	ManifestListPrefix  = "manifest-list-"
	IndexManifestPrefix = "index-manifest-"
	IndexPrefix         = "index-"
	StatisticsPrefix    = "stat-"
	BucketPrefix        = "bucket-"
	TagPrefix           = "tag-"
	BranchPrefix        = "branch-"
	ConsumerPrefix      = "consumer-"
)

// PostponeBucket is the number of the bucket of rows that have no bucket yet (`bucket` = -2).
const PostponeBucket = -2

// MainBranch is the name of the branch that lies in the table's own folder.
const MainBranch = "main"

// Config says how a table's files are named. The zero value has the format's defaults.
type Config struct {
	Partition        []types.Field // the partition columns, in their order
	DefaultPartition string        // partition.default-name; "" is __DEFAULT_PARTITION__
	PlainNames       bool          // partition.legacy-name = false
	Branch           string        // "" is main

	DataPrefix        string // data-file.prefix; "" is "data-"
	ChangelogPrefix   string // changelog-file.prefix; "" is "changelog-"
	SuffixCompression bool   // file.suffix.include.compression
	DataDirectory     string // data-file.path-directory; "" is the table's folder
	IndexInDataDir    bool   // index-file-in-data-file-dir

	// UUID makes the unique part of new names, uuid.NewString by default. It is called once.
	UUID func() string
}

// Table gives the paths of one table, or of one of its branches. It is safe for concurrent use.
type Table struct {
	root   string
	branch string // folder of the branch's metadata
	c      Config
	parts  []types.Type
	unique string
	count  atomic.Int64
}

// NewTable makes the paths of a table at root (without a slash at its end).
func NewTable(root string, c Config) *Table {
	root = strings.TrimRight(root, "/")
	if c.DefaultPartition == "" {
		c.DefaultPartition = DefaultPartition
	}
	if c.DataPrefix == "" {
		c.DataPrefix = "data-"
	}
	if c.ChangelogPrefix == "" {
		c.ChangelogPrefix = "changelog-"
	}
	if c.UUID == nil {
		c.UUID = uuid.NewString
	}
	c.DataDirectory = strings.Trim(c.DataDirectory, "/")
	t := &Table{root: root, branch: BranchDir(root, c.Branch), c: c, unique: c.UUID()}
	for _, f := range c.Partition {
		t.parts = append(t.parts, f.Type)
	}
	return t
}

// BranchDir is the folder of a branch's schemas, snapshots, tags, changelogs and consumers. Manifests,
// data files and indexes of branches lie in the table's own folders.
func BranchDir(root, branch string) string {
	if branch == "" || strings.EqualFold(branch, MainBranch) {
		return root
	}
	return root + "/branch/" + BranchPrefix + branch
}

// Root is the folder of the table.
func (t *Table) Root() string { return t.root }

// Branches is the folder that holds the table's branches.
func (t *Table) Branches() string { return t.root + "/branch" }

// SchemaDir is the folder of schemas.
func (t *Table) SchemaDir() string { return t.branch + "/schema" }

// Schema is the file of a schema.
func (t *Table) Schema(id int64) string { return numbered(t.SchemaDir(), SchemaPrefix, id) }

// SnapshotDir is the folder of snapshots and their hints.
func (t *Table) SnapshotDir() string { return t.branch + "/snapshot" }

// Snapshot is the file of a snapshot.
func (t *Table) Snapshot(id int64) string { return numbered(t.SnapshotDir(), SnapshotPrefix, id) }

// ChangelogDir is the folder of snapshots that are kept for their changelogs only.
func (t *Table) ChangelogDir() string { return t.branch + "/changelog" }

// Changelog is the file of a changelog that outlives its snapshot.
func (t *Table) Changelog(id int64) string {
	return numbered(t.ChangelogDir(), ChangelogMetaPrefix, id)
}

// TagDir is the folder of tags.
func (t *Table) TagDir() string { return t.branch + "/tag" }

// Tag is the file of a tag.
func (t *Table) Tag(name string) string { return t.TagDir() + "/" + TagPrefix + name }

// ConsumerDir is the folder of consumers.
func (t *Table) ConsumerDir() string { return t.branch + "/consumer" }

// Consumer is the file of a consumer.
func (t *Table) Consumer(id string) string { return t.ConsumerDir() + "/" + ConsumerPrefix + id }

// ManifestDir is the folder of manifests, manifest lists and index manifests.
func (t *Table) ManifestDir() string { return t.root + "/manifest" }

// Manifest is the path of a manifest, manifest list or index manifest.
func (t *Table) Manifest(name string) string { return t.ManifestDir() + "/" + name }

// IndexDir is the folder of index files.
func (t *Table) IndexDir() string { return t.root + "/index" }

// Index is the path of an index file of a bucket, which is named as for BucketDir.
func (t *Table) Index(partition []byte, bucket int, name string) (string, error) {
	dir, err := t.IndexDir(), error(nil)
	if t.c.IndexInDataDir {
		dir, err = t.BucketDir(partition, bucket)
	}
	return dir + "/" + name, err
}

// StatisticsDir is the folder of table statistics.
func (t *Table) StatisticsDir() string { return t.root + "/statistics" }

// Statistics is the path of a file of table statistics.
func (t *Table) Statistics(name string) string { return t.StatisticsDir() + "/" + name }

// DataDir is the folder that holds buckets and partitions.
func (t *Table) DataDir() string {
	if t.c.DataDirectory == "" {
		return t.root
	}
	return t.root + "/" + t.c.DataDirectory
}

// BucketDir is the folder of the data files of a bucket. The partition is a BinaryRow with arity, as
// manifests hold it; bytes that are none are an error.
func (t *Table) BucketDir(partition []byte, bucket int) (string, error) {
	p, err := t.PartitionPath(partition)
	if err != nil {
		return "", err
	}
	if p != "" {
		p += "/"
	}
	return t.DataDir() + "/" + p + BucketName(bucket), nil
}

// PartitionPath is the path of a partition below DataDir, "" if the table is not partitioned. The
// partition is a BinaryRow with arity.
func (t *Table) PartitionPath(partition []byte) (string, error) {
	if len(t.parts) == 0 {
		if n, err := binrow.Arity(partition); len(partition) > 0 && (err != nil || n != 0) {
			return "", fmt.Errorf("partition of %s: the table is not partitioned, but its manifest names a partition", t.root)
		}
		return "", nil
	}
	vals, err := binrow.DecodeWithArity(partition, t.parts)
	if err != nil {
		return "", fmt.Errorf("partition of %s: %w", t.root, err)
	}
	return t.PartitionPathOf(vals), nil
}

// PartitionPathOf is PartitionPath of the partition's values.
func (t *Table) PartitionPathOf(vals []types.Datum) string {
	var b strings.Builder
	for i, f := range t.c.Partition {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(Escape(f.Name))
		b.WriteByte('=')
		b.WriteString(Escape(t.PartitionName(f.Type, vals[i])))
	}
	return b.String()
}

// PartitionName is the name of a partition column's value before it is escaped: NULL and blank
// values have the default name.
func (t *Table) PartitionName(typ types.Type, v types.Datum) string {
	return partitionName(typ, v, t.c.PlainNames, t.c.DefaultPartition)
}

// PartitionText is a partition for people: column=value/…, values as they are cast to STRING, whatever the
// folders are called, and the default name for those that are NULL or blank. Nothing is escaped.
func (t *Table) PartitionText(partition []byte) (string, error) {
	vals, err := binrow.DecodeWithArity(partition, t.parts)
	if err != nil {
		return "", fmt.Errorf("partition of %s: %w", t.root, err)
	}
	parts := make([]string, len(vals))
	for i, f := range t.c.Partition {
		parts[i] = f.Name + "=" + partitionName(f.Type, vals[i], true, t.c.DefaultPartition)
	}
	return strings.Join(parts, "/"), nil
}

// BucketName is the name of a bucket's folder.
func BucketName(bucket int) string {
	if bucket == PostponeBucket {
		return BucketPrefix + "postpone"
	}
	return BucketPrefix + strconv.Itoa(bucket)
}

// ParseBucketName is the bucket of a folder's name.
func ParseBucketName(name string) (bucket int, ok bool) {
	rest, ok := strings.CutPrefix(name, BucketPrefix)
	if !ok {
		return 0, false
	}
	if rest == "postpone" {
		return PostponeBucket, true
	}
	n, ok := ParseNumber(rest)
	return int(n), ok && n <= 1<<31-1
}

// ParseID is the number in a name like snapshot-12; false if the name is not of this kind.
func ParseID(name, prefix string) (int64, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	return ParseNumber(rest)
}

// ParseNumber reads a number of digits only: no sign, no spaces, as file names and hints have it.
func ParseNumber(s string) (int64, bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func numbered(dir, prefix string, id int64) string {
	return dir + "/" + prefix + strconv.FormatInt(id, 10)
}
