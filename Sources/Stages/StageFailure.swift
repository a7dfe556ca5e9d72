package import Lifecycle

/// Why a stage ends; a supervisor starts it again where that helps.
package enum StageFailure: Fatal {
    /// A client is at its end, or the cluster refuses us.
    case client(String)
    /// A newer program has written what this one would have to understand.
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
