// Command controlplane is a Kubernetes control plane in one executable file: its first argument
// names the program to be (etcd, kube-apiserver, kube-controller-manager or kubectl), the others
// are that program's own.
//
// It exists because the tests need the real API server, of a fixed version, on every machine
// that can build Go, and because one linked file takes a third of the time and space of four.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	_ "time/tzdata" // CronJobs may name a time zone on a machine without a zone database

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl reads kubeconfigs of every kind
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the components' own client
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric kubernetes_build_info
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// exitWithStdin is the environment variable that makes a program end when its standard input
// does. The supervisor sets it, and holds the other end of that pipe: so a component cannot
// outlive it, even if the supervisor is killed and runs no clean-up of its own.
const exitWithStdin = "CONTROLPLANE_EXIT_WITH_STDIN"

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kubectl":                 kubectl,
}

func main() {
	var run func()
	if len(os.Args) > 1 {
		run = programs[os.Args[1]]
	}
	if run == nil {
		names := make([]string, 0, len(programs))
		for name := range programs {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: %s PROGRAM [ARGUMENT...]\nPROGRAM is one of %q\n", os.Args[0], names)
		os.Exit(2)
	}
	if os.Getenv(exitWithStdin) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // returns at the end of the input, or when it fails
			os.Exit(1)
		}()
	}
	os.Args = os.Args[1:] // each program reads its name and its arguments from here
	run()
}

// kubectl is the main function of k8s.io/kubernetes/cmd/kubectl.
func kubectl() {
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args)) // as there: plugins log before flags are read
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
