package import Lifecycle

/// Another process has this one's identity: each would end the other's work for ever, so one must stop.
package struct SharedIdentity: Fatal {
    package let exitStatus = ExitStatus.configuration
    package let description: String

    package init(_ failure: some Error & CustomStringConvertible) {
        description =
            "\(failure); another process uses this identity: give each process a data directory of its own"
    }
}
