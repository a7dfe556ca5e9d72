internal import Topics

/// What a fleet is made of.
package struct FleetPlan: Sendable {
    /// A stage, by its word on the command line.
    package enum Stage: String, Sendable, CaseIterable {
        case gateway
        case ingest
        case fanOut = "fan-out"
        case sender
        case scheduler

        /// What its files are made from.
        var views: [TopicName] {
            switch self {
            case .gateway, .sender: []
            case .ingest: [.installations]
            case .fanOut: [.groups, .starts]
            case .scheduler: [.timers]
            }
        }
    }

    /// Processes of each stage.
    package var each = 1
    package var phones = 1_000
    package var lanes = 12
    /// A cluster that runs already; nil for a broker of its own.
    package var brokers: [String]?
    /// Whether the fleet has keys that seal tokens.
    package var isSealed = false
    /// As the sender has them unless told.
    package var permits: Int?
    /// Where `libWrongClock.so` is, if processes shall have clocks of their own.
    package var wrongClock: String?
    /// How the simulated APNs misbehaves.
    package var script = #"{ "rules": [] }"#

    package init() {}
}
