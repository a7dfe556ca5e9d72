package import Lifecycle

/// The reason why a stage ends its process. The exit status tells the supervisor whether a new start can help.
package enum StageFailure: FatalError {
    /// A client cannot be used any more, or the cluster refuses this process.
    case client(String)
    /// A newer program version has written a record that this version must understand but cannot.
    case newerRecord(String)

    package var exitStatus: ExitStatus {
        switch self {
        case .client: .unavailable
        case .newerRecord: .dataError
        }
    }

    package var description: String {
        switch self {
        case .client(let text), .newerRecord(let text): text
        }
    }
}
