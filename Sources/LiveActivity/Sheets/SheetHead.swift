/// What all jobs of a sheet share: the request to APNs but for the token, and the bookkeeping that a sender
/// and a receipt need. It is made once per send, activity type and environment, and travels in two headers.
///
/// A sheet is a record of `jobs`: its value is the exact body, its header `apns` the request's own header
/// lines, `flotilla` the bookkeeping, and `to` has a line for each job (`JobLines`). A sheet that waits in a
/// later tier says in `origin` where its jobs first stood (`SheetOrigin`).
package struct SheetHead: Sendable, Hashable {
    package static let schemaVersion = 1
    /// Jobs of one sheet, at most; how many a fan-out puts there is a setting.
    package static let jobsMax = 1000
    /// Bytes of a sheet, its body and headers together; a sheet that reaches them is closed.
    package static let bytesMax = 512 << 10

    /// Which phones an order of versions is about.
    package enum Scope: String, Sendable, CaseIterable {
        /// All of the group's.
        case group
        /// One recipient's within the group.
        case recipient
    }

    // MARK: The request

    /// `<bundle id>.push-type.liveactivity`; the bundle id alone for a broadcast.
    package var topic: String
    /// APNs' 5 or 10.
    package var priority: Int
    /// Seconds since 1970 until when APNs keeps it for a phone that cannot be reached; 0: not at all, as a
    /// channel without storage demands.
    package var expiration: Int64
    package var collapseID: String?

    // MARK: The bookkeeping

    package var app: String
    package var environment: Environment
    /// The lines name channels, not tokens.
    package var isBroadcast = false
    package var send: String
    /// Nil for named activities that belong to no group.
    package var group: String?
    package var scope: Scope
    /// The version of the start that opened this life of the scope; 0 where no start was seen.
    package var generation: Int64
    /// The order of sends within the scope, and the body's `timestamp`; that of a recipient's end may be later, so
    /// that phones do not take it for older than what they show.
    package var version: Int64
    package var event: PushEvent
    /// Seconds since 1970 after which nobody wants it pushed any more.
    package var deadline: Int64
    /// Pushes of one job that were answered or lost; what APNs surely did not process does not count.
    package var attemptsMax = SheetHead.attemptsUsual
    /// Whether a newer version may take its place while it waits.
    package var conflate = true
    package var onUnknownStart = Send.UnknownStart.skip
    /// Milliseconds since 1970 when the gateway accepted the send: from there on latency counts.
    package var acceptedAt: Int64

    package static let attemptsUsual = 6

    package init(
        topic: String, priority: Int, expiration: Int64, app: String, environment: Environment, send: String,
        group: String?, scope: Scope, generation: Int64, version: Int64, event: PushEvent, deadline: Int64,
        acceptedAt: Int64
    ) {
        self.topic = topic
        self.priority = priority
        self.expiration = expiration
        self.app = app
        self.environment = environment
        self.send = send
        self.group = group
        self.scope = scope
        self.generation = generation
        self.version = version
        self.event = event
        self.deadline = deadline
        self.acceptedAt = acceptedAt
    }
}
