import Glibc

/// Lets only the owner read the file, as for private keys.
func restrictToOwner(_ path: String) { _ = chmod(path, 0o600) }
