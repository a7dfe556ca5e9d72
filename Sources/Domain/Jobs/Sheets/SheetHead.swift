package import Identifiers
package import Payloads
package import Sends

/// The head of a sheet: the part that all its jobs share, except the body. It has the request to APNs without the
/// token, and the bookkeeping for sender and receipt. The fan-out makes it once per send, activity type and
/// environment.
///
/// A sheet is a record of `jobs`, `jobs.urgent` or a topic for jobs that wait, such as `jobs.later.5s`:
///
/// | part of the record | content |
/// |---|---|
/// | value | the body, exactly as APNs receives it |
/// | header `apns` | the request: the lines of `apnsLines` |
/// | header `flotilla` | the bookkeeping: the lines of `flotillaLines` |
/// | header `to` | one line for each job (`JobLines`) |
/// | header `origin` | the earlier attempts (`SheetOrigin`), if the jobs had any or were sent again |
/// | header `unproven` | the lines whose tokens APNs has never accepted (`UnprovenLines`), if there are any |
package struct SheetHead: Sendable, Hashable {
    package static let schemaVersion = 1
    /// The maximum number of jobs in one sheet. A setting decides how many the fan-out puts into one.
    package static let jobsMax = 1000
    /// The maximum size of a sheet in bytes, with body and headers. A sheet that reaches it is closed.
    package static let bytesMax = 512 << 10
    /// The default of `triesMax`.
    package static let triesDefault = 6

    // MARK: The request

    /// The `apns-topic`: `<bundle id>.push-type.liveactivity`, or only the bundle id for a broadcast.
    package var topic: String
    package var priority: PushPriority
    /// Seconds since 1970 until which APNs keeps the push for an unreachable phone. 0 means not at all, which
    /// a channel without storage requires.
    package var expiration: Int64
    package var collapseID: String?

    // MARK: The bookkeeping

    package var app: String
    package var environment: Environment
    /// Whether the lines name channels and not tokens.
    package var isBroadcast = false
    /// The send's id.
    package var send: String
    /// Nil for named activities that belong to no group.
    package var group: String?
    /// The kind of the scope: the group or activity whose states replace each other.
    package var scope: ScopeKind
    /// The version of the start that opened this generation of the scope, or 0 if no start was seen.
    package var generation: Int64
    /// The version of the content, which orders the sends of the scope. It is not the `timestamp` in the body, which
    /// phones compare.
    package var version: Int64
    package var event: PushEvent
    /// Seconds since 1970 after which the push is no longer useful.
    package var deadline: Int64
    /// The limit for `SheetOrigin.earlierTries`: the maximum number of pushes of one job that were answered or
    /// lost. A push that APNs certainly did not process does not count.
    package var triesMax = SheetHead.triesDefault
    /// Whether a newer version may replace this one while it waits.
    package var isConflatable = true
    /// The rule for a start that was sent and whose result is unknown.
    package var unknownStartPolicy = Send.UnknownStartPolicy.skip
    /// The time at which the gateway accepted the send, in milliseconds since 1970. Latency is measured from
    /// it.
    package var acceptedAt: Int64

    package init(
        topic: String, priority: PushPriority, expiration: Int64, app: String, environment: Environment,
        send: String, group: String?, scope: ScopeKind, generation: Int64, version: Int64,
        event: PushEvent, deadline: Int64, acceptedAt: Int64
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
