// Command kubeall is one binary holding etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kubectl and kwok (multi-call: the component
// is the base name of argv[0], or the first argument).
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJob time zones

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodelease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	if run(filepath.Base(os.Args[0])) {
		return
	}
	if len(os.Args) > 1 {
		os.Args = os.Args[1:]
		if run(os.Args[0]) {
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: kubeall etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|kwok|kwok-stages [flags]")
	os.Exit(2)
}

func run(name string) bool {
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(kcm.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubectl":
		runKubectl()
	case "kwok":
		runKwok()
	case "kwok-stages": // kwok needs at least one Stage in --config
		for _, y := range []string{nodefast.DefaultNodeInit, nodelease.DefaultNodeHeartbeatWithLease,
			podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete} {
			fmt.Println("---\n" + y)
		}
	default:
		return false
	}
	return true
}

// runKubectl is kubectl's own main.
func runKubectl() {
	// See runKwok: the other components' "version" flag must not reach kubectl.
	pflag.CommandLine = pflag.NewFlagSet("kubectl", pflag.ExitOnError)
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

// runKwok is kwok's own main.
func runKwok() {
	// component-base/version/verflag puts a non-bool "version" on the global
	// flag set, which cobra merges into every root command: start afresh.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ExitOnError)
	fs := pflag.NewFlagSet("global", pflag.ContinueOnError)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	fs.Usage = func() {}
	ctx := signals.SetupSignalContext()
	ctx, logger := log.InitFlags(ctx, fs)
	ctx, err := config.InitFlags(ctx, fs)
	if err == nil {
		c := kwok.NewCommand(ctx)
		c.PersistentFlags().AddFlagSet(fs)
		err = c.ExecuteContext(ctx)
	}
	if err != nil {
		logger.Error("kwok", "err", err)
		os.Exit(1)
	}
}
