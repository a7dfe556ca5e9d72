internal import Topics

/// The size and settings of a fleet.
package struct FleetPlan: Sendable {
    /// A stage, named as on the command line.
    package enum Stage: String, Sendable, CaseIterable {
        case gateway
        case ingest
        case fanOut = "fan-out"
        case sender
        case scheduler
        case insight

        /// The topics from which the stage builds its files.
        var views: [TopicName] {
            switch self {
            case .gateway, .sender, .insight: []
            case .ingest: [.installations]
            case .fanOut: [.groups, .starts]
            case .scheduler: [.timers]
            }
        }
    }

    /// The number of processes per stage.
    package var processesPerStage = 1
    package var phones = 1_000
    package var lanes = 12
    /// The brokers of a running cluster, or nil for a separate broker.
    package var brokers: [String]?
    /// Whether the fleet seals tokens.
    package var isSealed = false
    /// The sender's permits, or nil for the default.
    package var permits: Int?
    /// The path of `libWrongClock.so`, or nil if no process needs a clock that can be set.
    package var wrongClock: String?
    /// The fault script of the simulated APNs.
    package var script = #"{ "rules": [] }"#

    /// The stages of the fleet.
    package var stages: [Stage] = [.gateway, .ingest, .fanOut, .sender, .scheduler]

    package init() {}
}
