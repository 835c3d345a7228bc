package parse

import "github.com/tarnlake/tarn/types"

// Span is a piece of the script: byte offsets.
type Span struct{ Start, End int }

// Statement is one statement of a script. It is one of the pointer types of this file.
type Statement interface {
	// Range is where the statement stands, without the semicolon.
	Range() Span
}

// Range implements Statement for the statements that embed a Span.
func (s Span) Range() Span { return s }

// Ident is a name as written: Quoted if it stood in quotes.
type Ident struct {
	Name   string
	Quoted bool
	Span
}

// TableName is `table` or `database.table`. System tables and branches are part of Table.
type TableName struct {
	Database string // "" if not given
	Table    string
	Span
}

func (n TableName) String() string {
	if n.Database == "" {
		return n.Table
	}
	return n.Database + "." + n.Table
}

// Option is a 'key' = 'value' of WITH, SET or OPTIONS.
type Option struct{ Key, Value string }

// LiteralKind says what a Literal is.
type LiteralKind uint8

// The kinds of literals.
const (
	Null LiteralKind = iota
	Bool
	Number
	String
)

// Literal is a constant. Text is true or false, the number with its sign, or the string's value.
type Literal struct {
	Kind LiteralKind
	Text string
	Span
}

// CreateDatabase is CREATE DATABASE | SCHEMA [IF NOT EXISTS] name [COMMENT '…'] [WITH (…)].
type CreateDatabase struct {
	Span
	Name        string
	IfNotExists bool
	Comment     string
	Options     []Option
}

// DropDatabase is DROP DATABASE | SCHEMA [IF EXISTS] name [RESTRICT | CASCADE].
type DropDatabase struct {
	Span
	Name     string
	IfExists bool
	Cascade  bool
}

// CreateTable is CREATE TABLE. The field ids are 0: they are given by the catalog.
type CreateTable struct {
	Span
	Name          TableName
	IfNotExists   bool
	Fields        []types.Field
	PrimaryKey    []string
	PartitionedBy []string
	Comment       string
	Options       []Option
	Like          *TableName // CREATE TABLE a LIKE b
	As            *Query     // CREATE TABLE a [(…)] AS SELECT …
}

// DropTable is DROP TABLE [IF EXISTS] name, ….
type DropTable struct {
	Span
	Names    []TableName
	IfExists bool
}

// Truncate is TRUNCATE [TABLE] name [PARTITION (…)].
type Truncate struct {
	Span
	Name      TableName
	Partition []PartitionValue
}

// PartitionValue is `dt = '2024-01-01'`, or `dt` alone, whose Value is nil.
type PartitionValue struct {
	Column string
	Value  *Literal
}

// Insert is INSERT INTO | OVERWRITE [TABLE] t [PARTITION (…)] [(columns)] query.
type Insert struct {
	Span
	Table     TableName
	Overwrite bool
	Partition []PartitionValue
	Columns   []Ident  // nil: all, in order
	ByName    bool     // INSERT INTO t BY NAME SELECT …
	Defaults  bool     // INSERT INTO t DEFAULT VALUES: there is no Query
	Options   []Option // of a hint behind the table's name
	Query     Query
}

// Delete is DELETE FROM t [AS alias] [WHERE condition].
type Delete struct {
	Span
	Table TableName
	Alias string
	Where *Query // the condition; nil: all rows
}

// Update is UPDATE t [AS alias] SET a = …, b = … [WHERE condition].
type Update struct {
	Span
	Table TableName
	Alias string
	Set   []Assignment
	Where *Query
}

// Assignment is `column = expression` of an UPDATE.
type Assignment struct {
	Column Ident
	Expr   Query
}

// AlterTable is ALTER TABLE [IF EXISTS] t, and one or more actions.
type AlterTable struct {
	Span
	Name     TableName
	IfExists bool
	Actions  []Action
}

// ActionKind says what an Action does.
type ActionKind uint8

// The actions of ALTER TABLE.
const (
	AddColumn     ActionKind = iota + 1 // Path, Field, Place
	DropColumn                          // Path, IfExists
	RenameColumn                        // Path, To
	ChangeType                          // Path, Field.Type
	ModifyColumn                        // Path, Field (type, comment if HasComment), Place: MODIFY a BIGINT COMMENT '…' FIRST
	SetNotNull                          // Path
	DropNotNull                         // Path
	SetDefault                          // Path, Value
	DropDefault                         // Path
	ColumnComment                       // Path, Value
	MoveColumn                          // Path, Place
	TableComment                        // Value
	SetOptions                          // Options
	ResetOptions                        // Options, keys only
	RenameTable                         // Table
	DropPartition                       // Partition
)

// Action is one change of ALTER TABLE.
type Action struct {
	Kind        ActionKind
	Path        []string // a.b.c: a nested column
	Field       types.Field
	HasComment  bool
	Place       Place
	IfExists    bool
	IfNotExists bool
	To          string
	Table       TableName
	Value       Literal
	Options     []Option
	Partition   []PartitionValue
	Span
}

// Place says where a column shall stand.
type Place struct {
	First bool
	Last  bool
	After string
}

// IsZero says that no place was given.
func (p Place) IsZero() bool { return p == Place{} }

// ShowKind says what a Show shows.
type ShowKind uint8

// What can be shown.
const (
	ShowDatabases ShowKind = iota + 1
	ShowTables
	ShowCreateTable
	ShowPartitions
	ShowOptions
	ShowColumns
	ShowProcedures
)

// Show is SHOW DATABASES | TABLES [IN db] [LIKE '…'] | CREATE TABLE t | PARTITIONS t | OPTIONS t | COLUMNS IN t | PROCEDURES.
type Show struct {
	Span
	What     ShowKind
	Database string
	Table    TableName
	Like     string
}

// Describe is DESCRIBE | DESC [EXTENDED] table, or DATABASE | SCHEMA name.
type Describe struct {
	Span
	Table    TableName
	Database string
	Extended bool
}

// Use is USE database.
type Use struct {
	Span
	Database string
}

// Call is CALL sys.name(…).
type Call struct {
	Span
	Name string // without sys., in lower case
	Args []Arg
}

// Arg is an argument of a Call; Name is empty for one by position.
type Arg struct {
	Name  string
	Value Literal
}

// Set is SET 'key' = 'value' with the key in quotes: a setting of the session. Other SETs are
// DuckDB's and come as Query. RESET 'key' has Reset set.
type Set struct {
	Span
	Key, Value string
	Reset      bool
}

// Query is text for DuckDB with the tables that it names: a SELECT, or anything that is not known
// here. As a part of other statements it may be an expression.
type Query struct {
	Span
	Refs []TableRef
	// Names are column references of the form database.table.column, which are given to DuckDB as
	// table.column: the span covers database and dot.
	Names []NameRef
	// Backquotes are the `names`, which DuckDB writes in double quotes.
	Backquotes []Ident
	// Defaults are the words DEFAULT in the VALUES of an INSERT, Values all else that stands there.
	Defaults, Values []Value
	// Verb is the first word in upper case: SELECT, WITH, EXPLAIN, PRAGMA, …
	Verb string
	// Kept says that the engine keeps the text and runs it later: CREATE VIEW, CREATE MACRO, PREPARE.
	Kept bool
	// Body is where the query begins that an EXPLAIN explains; 0 without EXPLAIN.
	Body int
}

// Value is a value of VALUES.
type Value struct {
	Column int    // which value of its row, from 0
	Text   string // set by who knows the columns: what DuckDB gets for DEFAULT, the type that another value is cast to
	Span
}

// NameRef is a table's name in a column reference.
type NameRef struct {
	Database, Table string
	Span            // of database and the dot behind it
}

// TableRef is a place in a query where a table stands.
type TableRef struct {
	Parts   []Ident // 1 to 3 names
	Aliased bool    // an alias follows or precedes
	Alone   bool    // only a name may stand here: SUMMARIZE t, TABLE t, COPY t TO …
	Target  bool    // the statement writes to the table: COPY t FROM …
	At      TimeTravel
	Options []Option
	// Span is what has to be replaced: name, time travel and hint.
	Span
	// BareStart and BareEnd is the name alone.
	Bare Span
}

// Name is the table's name if it has one or two parts.
func (r TableRef) Name() (TableName, bool) {
	switch len(r.Parts) {
	case 1:
		return TableName{Table: r.Parts[0].Name, Span: r.Bare}, true
	case 2:
		return TableName{Database: r.Parts[0].Name, Table: r.Parts[1].Name, Span: r.Bare}, true
	}
	return TableName{}, false
}

// TimeTravelKind says how a time is given.
type TimeTravelKind uint8

// The kinds of time travel.
const (
	Now       TimeTravelKind = iota
	Timestamp                // FOR SYSTEM_TIME AS OF, FOR TIMESTAMP AS OF, AT (TIMESTAMP => …)
	Version                  // FOR VERSION AS OF, FOR SYSTEM_VERSION AS OF, AT (VERSION => …): a snapshot id or a tag
)

// TimeTravel is the time as of which a table is read. Value is a number or a string.
type TimeTravel struct {
	Kind  TimeTravelKind
	Value Literal
}
