package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCompletion(io stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Example: `  # for bash
  assay completion bash > /etc/bash_completion.d/assay

  # for zsh
  assay completion zsh > "${fpath[1]}/_assay"`,
		Args:      exactly(1, "want bash, zsh, fish or powershell"),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return defect(root.GenBashCompletionV2(io.out.To, true))
			case "zsh":
				return defect(root.GenZshCompletion(io.out.To))
			case "fish":
				return defect(root.GenFishCompletion(io.out.To, true))
			case "powershell":
				return defect(root.GenPowerShellCompletionWithDesc(io.out.To))
			}
			return usage(fmt.Errorf("no shell %q: want bash, zsh, fish or powershell", args[0]))
		},
	}
}
