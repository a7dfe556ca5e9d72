package import Lifecycle

/// The error of a process whose identity another running process has, because its data directory was copied.
package struct SharedIdentityError: FatalError, Equatable {
    package let exitStatus = ExitStatus.configuration
    package let description: String

    init(with other: ProcessFacts) {
        description =
            "another process uses the identity \(other.process): it runs on \(other.host) since \(other.startedAt) (milliseconds since 1970), and it was the first; give each process its own data directory"
    }
}
