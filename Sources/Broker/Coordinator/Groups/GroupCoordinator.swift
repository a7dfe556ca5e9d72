internal import Lifecycle
internal import Telemetry

/// Decides everything about consumer groups: who is in them, which generation they are in, how far
/// they have read. Classic group protocol, as Apache Kafka answers it.
///
/// No I/O and no clock: a request, a tick or the outcome of an append goes in, actions come out. What
/// an answer rests on is durable before the answer leaves; that an answer waits for its append is
/// the same to a client as a slow network, so the group itself moves on at once.
/// It must never trap on what a request or a record says. Confined to the thread of its caller.
final class GroupCoordinator {
    let settings: GroupSettings
    let partitionExists: (TopicPartition) -> Bool
    private let random: () -> UInt64

    var groups: [String: Group] = [:]
    var deadlines = DeadlineQueue<String>()
    var waiting: [PersistID: GroupContinuation] = [:]
    var retentionCheck = Instant.distantFuture
    /// Set by whoever enters; nothing here reads a clock.
    private(set) var now: Moment
    private var actions: [GroupAction] = []
    private var persistCount: UInt64 = 0
    private var memberCount: UInt64 = 0

    /// `random` gives the ids of members; `partitionExists` tells whether offsets may be committed for it.
    init(
        _ settings: GroupSettings = GroupSettings(), at now: Moment,
        random: @escaping () -> UInt64 = { UInt64.random(in: .min ... .max) },
        partitionExists: @escaping (TopicPartition) -> Bool
    ) {
        self.settings = settings
        self.now = now
        self.random = random
        self.partitionExists = partitionExists
        retentionCheck = now.steady.advanced(byMilliseconds: settings.offsetsRetentionCheckMilliseconds)
    }

    /// When `tick` has something to do at the latest.
    var nextDeadline: Instant { min(retentionCheck, deadlines.earliest ?? .distantFuture) }

    func handle(_ request: GroupRequest, from caller: Caller, at now: Moment) -> [GroupAction] {
        enter(at: now) {
            switch request {
            case .join(let body): join(body, from: caller)
            case .sync(let body): sync(body, from: caller.token)
            case .heartbeat(let body):
                reply(caller.token, .heartbeat(HeartbeatResponse(error: heartbeat(body))))
            case .leave(let body): reply(caller.token, .leave(leave(body)))
            case .commit(let body): commit(body, from: caller.token)
            case .transactionalCommit(let body): commit(body, from: caller.token)
            case .fetch(let body): reply(caller.token, .fetch(fetch(body)))
            case .deleteOffsets(let body): deleteOffsets(body, from: caller.token)
            case .list(let body): reply(caller.token, .list(list(body)))
            case .describe(let body): reply(caller.token, .describe(describe(body)))
            case .delete(let body): delete(body, from: caller.token)
            }
        }
    }

    func tick(at now: Moment) -> [GroupAction] {
        enter(at: now) {
            // Taken first: what comes due again at once waits for the next tick.
            for id in deadlines.takeDue(now.steady) {
                guard let group = groups[id] else { continue }
                expire(group)
                if groups[id] != nil { watch(group) }
            }
            if retentionCheck <= now.steady { checkRetention() }
        }
    }

    /// The append named by `id` is durable.
    func persisted(_ id: PersistID, at now: Moment) -> [GroupAction] {
        enter(at: now) { settle(id, durable: true) }
    }

    /// The append named by `id` did not happen and never will.
    func failed(_ id: PersistID, at now: Moment) -> [GroupAction] {
        enter(at: now) { settle(id, durable: false) }
    }

    /// One event from outside: sets the time, runs `body`, gives what it wants done.
    func enter(at now: Moment, _ body: () -> Void) -> [GroupAction] {
        self.now = now
        body()
        defer { actions.removeAll() }
        return actions
    }

    func act(_ action: GroupAction) { actions.append(action) }

    func reply(_ token: ReplyToken, _ response: GroupResponse) { actions.append(.reply(token, response)) }

    func persist(_ records: [CoordinatorRecord], then continuation: GroupContinuation) {
        persistCount += 1
        let id = PersistID(persistCount)
        waiting[id] = continuation
        for group in continuation.groupIDs { groups[group]?.appendsInFlight += 1 }
        actions.append(.persist(id, records))
    }

    func nextMemberOrder() -> UInt64 {
        memberCount += 1
        return memberCount
    }

    /// A name that says which client it is, and 122 random bits. A long client id is cut: the answer
    /// must be able to carry the name.
    func newMemberID(_ name: String) -> String {
        let prefix = String(name.unicodeScalars.prefix(128))
        return prefix + "-" + RandomID.uuid(random(), random())
    }
}
