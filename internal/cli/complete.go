package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completion lets the shell complete names of tables, databases and job files.
func (a *app) completion(cmd *cobra.Command) {
	_, args, _ := strings.Cut(cmd.Use, " ")
	first, rest, _ := strings.Cut(args, " ")
	switch {
	case strings.Contains(first, "JOB"):
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		}
	case strings.Contains(first, "TABLE"):
		cmd.ValidArgsFunction = func(cmd *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(have) > 0 && !strings.HasSuffix(first, "…") {
				if strings.Contains(rest, "FILE") {
					return nil, cobra.ShellCompDirectiveDefault
				}
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.tableNames(cmd, have), cobra.ShellCompDirectiveNoFileComp
		}
	case strings.Contains(first, "DATABASE") || cmd.Name() == "drop":
		cmd.ValidArgsFunction = func(cmd *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
			cat, err := a.open(cmd.Context(), "")
			if err != nil || len(have) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			dbs, _ := cat.Databases(cmd.Context())
			return dbs, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// tableNames lists the tables of the warehouse but for some; none if it cannot be read.
func (a *app) tableNames(cmd *cobra.Command, without []string) []string {
	cat, err := a.open(cmd.Context(), "")
	if err != nil {
		return nil
	}
	dbs, err := cat.Databases(cmd.Context())
	if err != nil {
		return nil
	}
	var names []string
	for _, db := range dbs {
		tables, _ := cat.Tables(cmd.Context(), db)
		for _, t := range tables {
			if name := db + "." + t; !slices.Contains(without, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
