package import Lifecycle
internal import Telemetry

/// The coordinator of consumer groups, with the classic group protocol of Apache Kafka. It decides
/// members, generations and offsets.
///
/// It has no I/O and no clock: it takes a request, a tick or the outcome of an append, and returns
/// actions. A change of state is made in memory at once, and appended to the groups' topic. The answer leaves
/// when the append is durable; to the client, that looks like a slow network. The coordinator must never trap
/// on the content of a request or a record. Confined to the thread of its caller.
package final class GroupCoordinator {
    let settings: GroupSettings
    let partitionExists: (PartitionID) -> Bool
    private let random: () -> UInt64

    /// By group id.
    var groups: [String: Group] = [:]
    /// The earliest deadline of each group, by its id.
    var deadlines = DeadlineQueue<String>()
    /// The appends whose outcome is unknown.
    var pendingAppends: [AppendID: GroupContinuation] = [:]
    /// The time of the next look for expired offsets.
    var nextRetentionCheck = Instant.distantFuture
    /// The time of the current event. No code here reads a clock.
    package private(set) var now: ClockReading
    /// The actions of the current event.
    private var actions: [GroupAction] = []
    private var persistCount: UInt64 = 0
    private var memberCount: UInt64 = 0

    /// `random` gives bits for member ids. `partitionExists` says whether offsets may be committed for a
    /// partition.
    package init(
        settings: GroupSettings = GroupSettings(), at now: ClockReading,
        random: @escaping () -> UInt64 = { UInt64.random(in: .min ... .max) },
        partitionExists: @escaping (PartitionID) -> Bool
    ) {
        self.settings = settings
        self.now = now
        self.random = random
        self.partitionExists = partitionExists
        nextRetentionCheck = now.steady.advanced(byMilliseconds: settings.offsetsRetentionCheckMilliseconds)
    }

    /// The time at which `tick` must be called at the latest.
    package var nextDeadline: Instant { min(nextRetentionCheck, deadlines.earliest ?? .distantFuture) }

    package func handle(_ request: GroupRequest, from caller: Caller, at now: ClockReading) -> [GroupAction] {
        handleEvent(at: now) {
            switch request {
            case .join(let body): join(body, from: caller)
            case .sync(let body): sync(body, from: caller.token)
            case .heartbeat(let body):
                reply(to: caller.token, with: .heartbeat(HeartbeatResponse(error: heartbeat(body))))
            case .leave(let body): reply(to: caller.token, with: .leave(leave(body)))
            case .commit(let body): commit(body, from: caller.token)
            case .transactionalCommit(let body): commit(body, from: caller.token)
            case .fetch(let body): reply(to: caller.token, with: .fetch(fetch(body)))
            case .deleteOffsets(let body): deleteOffsets(body, from: caller.token)
            case .list(let body): reply(to: caller.token, with: .list(list(body)))
            case .describe(let body): reply(to: caller.token, with: .describe(describe(body)))
            case .delete(let body): delete(body, from: caller.token)
            }
        }
    }

    /// Handles the deadlines that have passed.
    package func tick(at now: ClockReading) -> [GroupAction] {
        handleEvent(at: now) {
            // All due groups are taken first, so that a group which is due again at once waits for the next
            // tick.
            for id in deadlines.takeDue(at: now.steady) {
                guard let group = groups[id] else { continue }
                expireDeadlines(of: group)
                if groups[id] != nil { scheduleNextDeadline(of: group) }
            }
            if nextRetentionCheck <= now.steady { checkRetention() }
        }
    }

    /// Notes that the append `id` is durable.
    package func appendSucceeded(_ id: AppendID, at now: ClockReading) -> [GroupAction] {
        handleEvent(at: now) { settleAppend(id, durable: true) }
    }

    /// Notes that the append `id` failed for good.
    package func appendFailed(_ id: AppendID, at now: ClockReading) -> [GroupAction] {
        handleEvent(at: now) { settleAppend(id, durable: false) }
    }

    /// Handles one event: sets the time, runs `body` and returns its actions.
    func handleEvent(at now: ClockReading, body: () -> Void) -> [GroupAction] {
        self.now = now
        body()
        let eventActions = actions
        actions.removeAll()
        return eventActions
    }

    func emit(_ action: GroupAction) { actions.append(action) }

    func reply(to token: ReplyToken, with response: GroupResponse) { actions.append(.reply(token, response)) }

    /// Appends records to the groups' topic. `settleAppend` carries out the continuation when the outcome
    /// is known.
    func persist(_ records: [CoordinatorRecord], then continuation: GroupContinuation) {
        persistCount += 1
        let id = AppendID(persistCount)
        pendingAppends[id] = continuation
        for group in continuation.groupIDs { groups[group]?.appendsInFlight += 1 }
        actions.append(.persist(id, records))
    }

    func nextMemberOrder() -> UInt64 {
        memberCount += 1
        return memberCount
    }

    /// Limit for the part of a client's id in a member id, so that the member id fits into an answer.
    private static let clientIDScalarsMax = 128

    /// Returns the client's id and a random UUID, for example `consumer-0f8fad5b-…`.
    func newMemberID(clientID: String) -> String {
        let prefix = String(clientID.unicodeScalars.prefix(Self.clientIDScalarsMax))
        return prefix + "-" + RandomID.uuid(high: random(), low: random())
    }
}
