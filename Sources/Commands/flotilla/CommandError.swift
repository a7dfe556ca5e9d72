internal import Lifecycle

/// The reason that a command cannot be carried out. The process prints it and ends with the exit status.
struct CommandError: FatalError {
    let exitStatus: ExitStatus
    let description: String

    init(status: ExitStatus, _ description: String) {
        exitStatus = status
        self.description = description
    }
}
