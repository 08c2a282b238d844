// Reads compose files as Docker Compose does, and writes what it understood as JSON: PROFILE FILE...
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	asked, err := cli.NewProjectOptions(os.Args[2:], cli.WithOsEnv, cli.WithName("read"), cli.WithProfiles([]string{os.Args[1]}))
	if err == nil {
		project, failed := asked.LoadProject(context.Background())
		if err = failed; err == nil {
			text, failed := project.MarshalJSON()
			fmt.Println(string(text))
			err = failed
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
