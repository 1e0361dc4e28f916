"""The arguments with which the components of the control plane are run."""

from __future__ import annotations

from pathlib import Path

# Names are relative to the folder of data, in which the components run.
_ETCD = "unix://etcd.socket"
_ETCD_PEER = "unix://etcd-peer.socket"

_SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc"

# What every cluster does and the operator relies on. The controllers of workloads stay out:
# without nodes they could only ever wait.
_CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
)


def etcd(folder: Path) -> list[str]:
    """Return the arguments of etcd: one member, which may lose its data."""
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={_ETCD}",
        f"--listen-peer-urls={_ETCD_PEER}",
        # Required, but only other members would use it. There are none.
        "--advertise-client-urls=http://localhost:2379",
        "--enable-grpc-gateway=false",
        # A leader without followers is never late: it may be elected after a tenth of a second.
        "--heartbeat-interval=10",
        "--election-timeout=100",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def certificates(folder: Path) -> Path:
    """Return the folder where the API server keeps its key and certificate."""
    return folder / "certificates"


def serving_certificate(folder: Path) -> Path:
    """Return the file with the API server's certificate, and that of its authority."""
    return certificates(folder) / "apiserver.crt"


def api_server(folder: Path, port: int, tokens: Path) -> list[str]:
    """Return the arguments of the API server.

    It makes its certificate itself when it finds none, before it reads the keys of service
    accounts: so the key of the certificate can sign the service accounts' tokens too.
    """
    key = certificates(folder) / "apiserver.key"
    return [
        f"--etcd-servers={_ETCD}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--permit-port-sharing",  # the supervisor holds the port
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",  # would refuse to announce a loopback address
        f"--cert-dir={certificates(folder)}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        f"--service-account-issuer={_SERVICE_ACCOUNT_ISSUER}",
        f"--service-account-signing-key-file={key}",
        f"--service-account-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--profiling=false",
    ]


def controller_manager(kubeconfig: Path, certificate_authority: Path) -> list[str]:
    """Return the arguments of the controller manager."""
    return [
        f"--kubeconfig={kubeconfig}",
        f"--root-ca-file={certificate_authority}",
        f"--controllers={','.join(_CONTROLLERS)}",
        "--leader-elect=false",  # there is no other
        "--secure-port=0",  # nobody asks it for anything
        # The garbage collector lists and watches every kind there is, at once.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--profiling=false",
    ]
