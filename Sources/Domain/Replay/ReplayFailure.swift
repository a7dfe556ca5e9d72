package import Lifecycle

/// The reason why a call of this module cannot continue, with the exit status of its command.
package struct ReplayFailure: FatalError {
    package let exitStatus: ExitStatus
    package let description: String

    package init(exitStatus: ExitStatus, description: String) {
        self.exitStatus = exitStatus
        self.description = description
    }
}
