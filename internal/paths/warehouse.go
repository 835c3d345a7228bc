package paths

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DatabaseSuffix ends the name of a database's folder.
const DatabaseSuffix = ".db"

// maxName is the longest name of a database, table, branch or tag in bytes: file systems end at 255
// and prefixes and suffixes have to fit.
const maxName = 240

// DatabaseDir is the name of a database's folder in the warehouse.
func DatabaseDir(db string) string { return db + DatabaseSuffix }

// TableDir is the path of a table's folder.
func TableDir(warehouse, db, table string) string {
	return strings.TrimRight(warehouse, "/") + "/" + DatabaseDir(db) + "/" + table
}

// ErrInvalid is wrapped by errors of requests that make no sense, whatever there is.
var ErrInvalid = errors.New("invalid request")

// ErrName is wrapped by the errors of names that cannot be taken. It is an ErrInvalid.
var ErrName error = nameError{}

type nameError struct{}

func (nameError) Error() string        { return "invalid name" }
func (nameError) Is(target error) bool { return target == ErrInvalid }

// CheckName tells why a name cannot be that of a database or table; kind is the word for the error.
// Such a name would leave the warehouse, hide from listings, or be read as something else.
func CheckName(kind, name string) error {
	if err := checkPart(kind, name); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(name, "_"):
		// Folders of that kind hold what belongs to no table, such as the state of jobs.
		return fmt.Errorf("%w: %s %q starts with '_', which names that are not listed do", ErrName, kind, name)
	case strings.Contains(name, "$"):
		return fmt.Errorf("%w: %s %q contains '$', which separates the names of branches and system tables", ErrName, kind, name)
	case kind == "database" && strings.Contains(name, "."):
		return fmt.Errorf("%w: %s %q contains '.', which separates database and table", ErrName, kind, name)
	case kind == "database" && strings.EqualFold(name, "sys"):
		return fmt.Errorf("%w: database %q is the one of system tables and procedures", ErrName, name)
	}
	return nil
}

// CheckBranch tells why a name cannot be that of a new branch.
func CheckBranch(name string) error {
	if err := checkPart("branch", name); err != nil {
		return err
	}
	if strings.EqualFold(name, MainBranch) {
		return fmt.Errorf("%w: branch %q is always there", ErrName, name)
	}
	if _, ok := ParseNumber(name); ok || strings.Trim(name, "0123456789") == "" {
		return fmt.Errorf("%w: branch %q is a number; take a name with a letter", ErrName, name)
	}
	if strings.Contains(name, "$") {
		return fmt.Errorf("%w: branch %q contains '$', which separates the names of system tables", ErrName, name)
	}
	return nil
}

// CheckTag tells why a name cannot be that of a new tag.
func CheckTag(name string) error {
	if err := checkPart("tag", name); err != nil {
		return err
	}
	if _, ok := ParseNumber(name); ok {
		return fmt.Errorf("%w: tag %q is a number, which would be read as a snapshot; take a name with a letter", ErrName, name)
	}
	return nil
}

// CheckConsumer tells why an id cannot be that of a consumer.
func CheckConsumer(id string) error { return checkPart("consumer", id) }

// checkPart is for names that become a part of a path.
func checkPart(kind, name string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %s %q %s", ErrName, kind, name, why) }
	switch {
	case isBlank(name):
		return bad("is empty")
	case !utf8.ValidString(name):
		return bad("is not UTF-8")
	case len(name) > maxName:
		return bad(fmt.Sprintf("has %d bytes; %d are the most", len(name), maxName))
	case strings.HasPrefix(name, "."):
		return bad("starts with '.', which hides files and leads out of folders")
	case strings.ContainsAny(name, `/\`):
		return bad("contains a slash or backslash, which separate folders")
	case strings.TrimSpace(name) != name:
		return bad("starts or ends with a space")
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return bad(fmt.Sprintf("contains the control character %U", r))
		}
	}
	return nil
}

// Identifier names a table, a branch of it, and a system table about it.
type Identifier struct {
	Database string
	Table    string
	Branch   string // "" is main
	System   string // "" is the table itself; else "snapshots", "files", …
}

// ParseIdentifier reads db.table, db.table$system, db.table$branch_b and db.table$branch_b$system. If there is
// no database in it, it is defaultDB; that must not be empty then. Names are checked.
func ParseIdentifier(s, defaultDB string) (Identifier, error) {
	db, object, ok := strings.Cut(s, ".")
	if !ok {
		db, object = defaultDB, s
		if db == "" {
			return Identifier{}, fmt.Errorf("table %q: name its database too, as in db.table", s)
		}
	}
	id := Identifier{Database: db}
	parts := strings.Split(object, "$")
	id.Table = parts[0]
	rest := parts[1:]
	const branchMark = "branch_"
	if len(rest) > 0 && strings.HasPrefix(rest[0], branchMark) {
		id.Branch = strings.TrimPrefix(rest[0], branchMark)
		if err := checkPart("branch", id.Branch); err != nil {
			return Identifier{}, fmt.Errorf("table %q: %w", s, err)
		}
		if strings.EqualFold(id.Branch, MainBranch) {
			id.Branch = ""
		}
		rest = rest[1:]
	}
	if len(rest) > 1 || len(rest) == 1 && rest[0] == "" {
		return Identifier{}, fmt.Errorf("table %q: %w: after the table may come $branch_<name> and one $<system table>", s, ErrName)
	}
	if len(rest) == 1 {
		id.System = rest[0]
	}
	if id.Database != "sys" {
		if err := CheckName("database", id.Database); err != nil {
			return Identifier{}, fmt.Errorf("table %q: %w", s, err)
		}
	}
	if err := CheckName("table", id.Table); err != nil {
		return Identifier{}, fmt.Errorf("table %q: %w", s, err)
	}
	return id, nil
}

// Object is the identifier without its database.
func (id Identifier) Object() string {
	s := id.Table
	if id.Branch != "" {
		s += "$branch_" + id.Branch
	}
	if id.System != "" {
		s += "$" + id.System
	}
	return s
}

// String is what ParseIdentifier reads.
func (id Identifier) String() string {
	if id.Database == "" { // a folder that lies in no database
		return id.Object()
	}
	return id.Database + "." + id.Object()
}

// Parent cuts the last name off a path or URI, which need not be of a table; path.Dir would make s3:/ of s3://.
func Parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }
