import Lifecycle

/// A phone with the app. It shows activities, and its SDK reports their tokens.
struct SimulatedPhone {
    struct Activity {
        let id: String
        let group: String
        /// The number of the start that opened the activity's generation.
        let generation: Int
        /// The number of the send whose state the phone shows.
        var state: Int
        /// The phone ignores a push whose timestamp is not newer.
        var timestamp: Int64
        var token: String?
        /// The time of the first report of its token.
        var reportedAt: Instant?
        /// The time by which the fleet must know its newest token.
        var knownAt: Instant?
        var hasEnded = false
        var isDismissed = false
        /// The time from which APNs refuses the token, in milliseconds since 1970.
        var closedAt: Int64 = 0
        /// The time until which pushes may be tried again that APNs has refused for a while or has not answered.
        var troubledUntil = Instant(nanoseconds: 0)
    }

    let installation: String
    let user: String?
    /// Whether the backend has asked to erase the user. The app is deleted then, so the phone reports nothing more.
    var isErased = false
    /// The time at which the erasure was accepted.
    var erasedAt: Instant?
    /// The reports that are not accepted yet.
    var waitingReports = 0
    var startToken: String?
    /// The time at which the gateway accepted the first start token.
    var startTokenAt: Instant?
    var activities: [Activity] = []
    /// The number of starts by group and generation.
    var startCounts: [String: Int] = [:]
    /// The time of the newest trouble with a push to the start token.
    var startTroubledAt: Instant?
    /// The time of the newest dismissal in each group.
    var dismissedAt: [String: Instant] = [:]

    /// The clocks of Kafka's nodes, which stamp starts and dismissals, differ by less.
    private static let clockDifferenceMilliseconds = 1000

    /// Whether a person has dismissed an activity of a group since a time, by the stamps of the cluster.
    func hasDismissed(_ group: String, since time: Instant) -> Bool {
        guard let dismissedAt = dismissedAt[group] else { return false }
        return time.milliseconds(since: dismissedAt) < Self.clockDifferenceMilliseconds
    }
}

/// A push as a phone reads it.
struct ReceivedPush {
    let event: String
    let timestamp: Int64
    /// The number of the send whose state it carries.
    let state: Int?

    init(event: String, timestamp: Int64, contentState: String) {
        (self.event, self.timestamp) = (event, timestamp)
        let name = "\"goals\":"
        state = contentState.firstRange(of: name).flatMap { range in
            Int(contentState[range.upperBound...].prefix { !",}".contains($0) })
        }
    }
}
