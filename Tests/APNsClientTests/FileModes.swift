import Glibc

func chmodOwnerOnly(_ path: String) { _ = chmod(path, 0o600) }
