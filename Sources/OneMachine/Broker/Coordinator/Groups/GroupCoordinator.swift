internal import Lifecycle
internal import Telemetry

/// The coordinator of consumer groups, with the classic group protocol of Apache Kafka. It decides
/// members, generations and offsets.
///
/// It has no I/O and no clock: it takes a request, a tick or the outcome of an append, and returns
/// actions. An answer leaves only when the state behind it is durable. To a client that looks like a slow
/// network, so the group itself goes on at once. It must never trap on the content of a request or a
/// record. Confined to the thread of its caller.
final class GroupCoordinator {
    let settings: GroupSettings
    let partitionExists: (TopicPartition) -> Bool
    private let random: () -> UInt64

    var groups: [String: Group] = [:]
    var deadlines = DeadlineQueue<String>()
    var pendingAppends: [PersistID: GroupContinuation] = [:]
    var retentionCheck = Instant.distantFuture
    /// Set by each event. No code here reads a clock.
    private(set) var now: ClockReading
    private var actions: [GroupAction] = []
    private var persistCount: UInt64 = 0
    private var memberCount: UInt64 = 0

    /// `random` gives bits for member ids. `partitionExists` says whether offsets may be committed for a
    /// partition.
    init(
        settings: GroupSettings = GroupSettings(), at now: ClockReading,
        random: @escaping () -> UInt64 = { UInt64.random(in: .min ... .max) },
        partitionExists: @escaping (TopicPartition) -> Bool
    ) {
        self.settings = settings
        self.now = now
        self.random = random
        self.partitionExists = partitionExists
        retentionCheck = now.steady.advanced(byMilliseconds: settings.offsetsRetentionCheckMilliseconds)
    }

    /// The time at which `tick` must be called at the latest.
    var nextDeadline: Instant { min(retentionCheck, deadlines.earliest ?? .distantFuture) }

    func handle(_ request: GroupRequest, from caller: Caller, at now: ClockReading) -> [GroupAction] {
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

    func tick(at now: ClockReading) -> [GroupAction] {
        handleEvent(at: now) {
            // All due keys are taken first, so that a group which is due again at once waits for the next
            // tick.
            for id in deadlines.takeDue(at: now.steady) {
                guard let group = groups[id] else { continue }
                expireDeadlines(of: group)
                if groups[id] != nil { scheduleNextDeadline(of: group) }
            }
            if retentionCheck <= now.steady { checkRetention() }
        }
    }

    /// Notes that the append `id` is durable.
    func appendSucceeded(_ id: PersistID, at now: ClockReading) -> [GroupAction] {
        handleEvent(at: now) { settleAppend(id, durable: true) }
    }

    /// Notes that the append `id` failed for good.
    func appendFailed(_ id: PersistID, at now: ClockReading) -> [GroupAction] {
        handleEvent(at: now) { settleAppend(id, durable: false) }
    }

    /// Handles one event: sets the time, runs `body` and returns its actions.
    func handleEvent(at now: ClockReading, body: () -> Void) -> [GroupAction] {
        self.now = now
        body()
        defer { actions.removeAll() }
        return actions
    }

    func emit(_ action: GroupAction) { actions.append(action) }

    func reply(to token: ReplyToken, with response: GroupResponse) { actions.append(.reply(token, response)) }

    func persist(_ records: [CoordinatorRecord], then continuation: GroupContinuation) {
        persistCount += 1
        let id = PersistID(persistCount)
        pendingAppends[id] = continuation
        for group in continuation.groupIDs { groups[group]?.appendsInFlight += 1 }
        actions.append(.persist(id, records))
    }

    func nextMemberOrder() -> UInt64 {
        memberCount += 1
        return memberCount
    }

    /// Returns a member id with the client's id and 122 random bits. A long client id is cut, so that the
    /// member id fits into an answer.
    func newMemberID(clientID name: String) -> String {
        let prefix = String(name.unicodeScalars.prefix(128))
        return prefix + "-" + RandomID.uuid(high: random(), low: random())
    }
}
