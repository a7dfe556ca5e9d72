internal import Glibc

/// The limit of open file descriptors of a process. Debian's soft limit is 1,024, because programs that use
/// `select` cannot handle more. This program does not use it, so it may raise the soft limit to the hard
/// limit.
package struct DescriptorLimit: Equatable, Sendable {
    /// The limit that the kernel enforces.
    package let soft: Int
    /// The highest soft limit that the process may set.
    package let hard: Int

    package init(soft: Int, hard: Int) {
        self.soft = soft
        self.hard = hard
    }

    /// The limit of this process now, or nil if the system does not tell it.
    package static var current: DescriptorLimit? {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return nil }
        return DescriptorLimit(soft: Int(clamping: limit.rlim_cur), hard: Int(clamping: limit.rlim_max))
    }

    /// Raises the soft limit of this process to the hard limit.
    package static func raise() {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(resource, &limit)
    }

    /// Returns the reason why a process that needs this number of descriptors must not start, or nil.
    package func shortage(needed: Int) -> String? {
        guard soft < needed else { return nil }
        return """
            this process needs \(needed) file descriptors, and its limit is \(soft) (hard limit \(hard)); raise it with \
            LimitNOFILE=65536 in the systemd unit, with ulimits: { nofile: 65536 } in docker-compose.yml, or with \
            `ulimit -n 65536` as root before the start
            """
    }

    private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
