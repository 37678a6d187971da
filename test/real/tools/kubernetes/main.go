// Command kubeall is one binary holding etcd, etcdutl, kube-apiserver,
// kube-controller-manager, kube-scheduler, kubectl and kwok (multi-call: the component
// is the base name of argv[0], or the first argument).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
	_ "time/tzdata" // CronJob time zones

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/snapshot"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.uber.org/zap"
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
	fmt.Fprintln(os.Stderr, "usage: kubeall etcd|etcd-snapshot|etcdutl|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|kwok|kwok-stages [flags]")
	os.Exit(2)
}

func run(name string) bool {
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "etcd-snapshot":
		exitOn("etcd-snapshot", saveSnapshot(os.Args[1:]))
	case "etcdutl":
		exitOn("etcdutl", runEtcdutl())
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

// saveSnapshot does what "etcdctl snapshot save" does, with the same library.
func saveSnapshot(args []string) error {
	flags := flag.NewFlagSet("etcd-snapshot", flag.ExitOnError)
	endpoint := flags.String("endpoint", "", "client URL of the etcd")
	var files transport.TLSInfo
	flags.StringVar(&files.TrustedCAFile, "cacert", "", "CA of the etcd")
	flags.StringVar(&files.CertFile, "cert", "", "client certificate")
	flags.StringVar(&files.KeyFile, "key", "", "key of the client certificate")
	flags.Parse(args)
	config := clientv3.Config{Endpoints: []string{*endpoint}, DialTimeout: 10 * time.Second}
	if !files.Empty() {
		tls, err := files.ClientConfig()
		if err != nil {
			return err
		}
		config.TLS = tls
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := snapshot.SaveWithVersion(ctx, zap.NewNop(), config, flags.Arg(0))
	return err
}

// runEtcdutl is etcdutl's own main, with its snapshot commands only.
func runEtcdutl() error {
	// See runKwok: the other components' "version" flag must not reach etcdutl.
	pflag.CommandLine = pflag.NewFlagSet("etcdutl", pflag.ExitOnError)
	root := &cobra.Command{Use: "etcdutl"}
	root.AddCommand(etcdutl.NewSnapshotCommand())
	return root.Execute()
}

func exitOn(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
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
