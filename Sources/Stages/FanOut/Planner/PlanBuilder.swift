internal import Identifiers
internal import Payloads
internal import Sends
internal import Store

/// One request while it is planned.
struct PlanBuilder {
    /// The default time from `deadlinesFrom` to the deadline of a send, and the longest one allowed, in seconds.
    /// Jobs are kept for a day.
    static let deadlineSecondsDefault: Int64 = 8 * 3600
    static let deadlineSecondsMax: Int64 = 20 * 3600

    let planner: Planner
    /// The scope of the request. `releaseSendOfRecipient` widens it from the recipient to the group.
    var key: ScopeKey
    /// The record's time in milliseconds and in seconds since 1970.
    let stamp: Int64
    let now: Int64
    /// The time from which deadlines count, in seconds since 1970: the later of the stage's time and the broker's.
    /// Either may be wrong, and a deadline that is too early drops every job.
    private let deadlinesFrom: Int64
    var plan = Plan()

    /// - Parameters:
    ///   - stamp: the record's time by the clock of the stage, in milliseconds since 1970.
    ///   - unboundedStamp: the record's time without the clock of the stage; nil if there is no other time.
    init(_ planner: Planner, key: ScopeKey, stamp: Int64, unboundedStamp: Int64? = nil) {
        self.planner = planner
        self.key = key
        self.stamp = stamp
        now = stamp / 1000
        deadlinesFrom = max(now, (unboundedStamp ?? stamp) / 1000)
    }

    /// Returns the table's row of a scope, unless the row is old enough to be forgotten. So it does not
    /// matter whether it was already deleted.
    func currentRow(of key: ScopeKey, in table: some GroupTable) throws(StoreError) -> GroupRow {
        if let row = try table.row(of: key), row.isKept(at: stamp) { return row }
        var row = GroupRow()
        guard key.isSharedGroup else { return row }
        // `memberLanes` of a new row names every lane. For a shared group it can begin empty: a lane with members has
        // subscribed, or will subscribe and then gets the newest state. But if some subscriptions of the app were not
        // stored, any lane may have members, and the row keeps all lanes.
        let groups = try table.subscribedGroups(of: key.app)
        if groups?.mayHaveMembersInAnyLane(at: stamp) != true { row.memberLanes = .none }
        return row
    }

    /// Plans a send that has passed the checks of `Planner`. A start for named users goes to `start` like any other: it
    /// first opens or joins the generation.
    mutating func apply(_ send: Send, to row: GroupRow, in table: inout some GroupTable) throws(StoreError) {
        switch send.audience {
        case .users(let users) where key.recipient == nil && send.content.event != .start:
            try planForUsers(users, with: send, row, in: &table)
        case .activities(let names) where key.group != nil:
            try planForActivities(named: names, with: send, row, in: &table)
        default:
            switch send.content.event {
            case .start: try start(send, row, in: &table)
            case .update: update(send, row, in: &table)
            case .end: end(send, row, in: &table)
            }
        }
    }

    // MARK: Verdicts

    mutating func report(
        _ verdict: ProgressRecord.PlannerVerdict, for send: Send, version: Int64 = 0, generation: Int64 = 0,
        lanes: Int = 0,
        findings: [String] = [], ended: Int = 0
    ) {
        var part = ProgressRecord.PlannerPart(
            verdict, version: version, generation: generation, laneCount: lanes)
        part.findings = findings
        part.endedRecipients = ended
        part.outline = SendOutline(of: send)
        if case .users(let users) = send.audience, users.count == 1, key.recipient == nil {
            part.recipient = .user(users[0])
        }
        var progress = ProgressRecord(
            send: send.id, key: key, isDryRun: send.isDryRun, acceptedAt: send.acceptedAt, writtenAt: stamp,
            part: .planner(part))
        progress.requestID = send.requestID
        plan.progress.append(progress)
    }

    /// Adds the note with which senders drop older jobs. A private group has only one recipient, and the
    /// sender's queue drops its older jobs.
    mutating func noteSuperseded(by row: GroupRow) {
        guard key.recipient == nil else { return }
        plan.note = SupersededVersions(row, of: key, at: stamp)
    }

    /// Returns the version of the next send of the group.
    func nextVersion(in row: GroupRow) -> Int64 { SendSequence.next(after: row.highestVersion, at: stamp) }

    func isExpired(_ send: Send) -> Bool { send.deadline.map { $0 <= now } ?? false }

    // MARK: Expansions

    mutating func add(_ request: ExpansionRequest, for lanes: MemberLanes) {
        plan.requests.append(Plan.LaneRequest(request: request, lanes: lanes))
    }

    /// Adds an expansion for the lanes of the scope. Returns the number of these lanes. A send to named activities goes
    /// to every lane, because a lane may have such an activity before the planner knows that the lane has members.
    mutating func addExpansion(_ expansion: Expansion, of row: GroupRow) -> Int {
        let lanes = if case .activities = expansion.targets { MemberLanes.every } else { lanes(of: row) }
        add(.expansion(expansion), for: lanes)
        return lanes.count(of: planner.lanes)
    }

    /// The lanes of the scope: the lane of a private group's owner, or the lanes with members. Only a lane knows
    /// the owner of an activity without a group, so the sends to it go to every lane.
    func lanes(of row: GroupRow) -> MemberLanes {
        if let owner = key.recipient { return lane(of: owner) }
        return key.group == nil ? .every : row.memberLanes
    }

    func lane(of recipient: Recipient) -> MemberLanes {
        .only(LaneSet([planner.lane(of: recipient, app: key.app)]))
    }

    func expansion(
        _ send: Send, to targets: Expansion.Targets, as row: GroupRow, version: Int64, timestamp: Int64
    ) -> Expansion {
        let deadline = deadline(of: send, in: row)
        var expansion = Expansion(
            send: send.id, key: key, targets: targets, content: send.content, priority: send.priority,
            generation: row.generation, version: version, timestamp: timestamp, deadline: deadline,
            expiration: min(send.expiration ?? deadline, deadline), acceptedAt: send.acceptedAt)
        // The place of the send in the order. `version` is the place of its state, which is older if a start joins a
        // generation.
        expansion.sequence = row.highestVersion
        expansion.collapseID = send.collapseID
        expansion.isConflatable = send.isConflatable
        expansion.unknownStartPolicy = send.unknownStartPolicy
        expansion.forcesRestart = send.forcesRestart
        if send.content.event == .start { expansion.openedAt = row.openedAt }
        expansion.isDryRun = send.isDryRun
        expansion.isForOneRecipient = key.recipient != nil || send.audience.namesOne
        return expansion
    }

    /// Returns the deadline. It counts from `deadlinesFrom` and not from `acceptedAt`, because a gateway's clock may be
    /// wrong and a timed send was accepted long before. A send without its own deadline ends at the group's end date at
    /// the latest. An END does not, because no later send replaces it.
    private func deadline(of send: Send, in row: GroupRow) -> Int64 {
        let latest = deadlinesFrom + Self.deadlineSecondsMax
        if let deadline = send.deadline { return min(deadline, latest) }
        let endDate = send.content.event == .end ? Int64.max : row.endDate ?? Int64.max
        let usual = min(endDate, deadlinesFrom + Self.deadlineSecondsDefault)
        // After the end date, too, the jobs have a second to leave.
        return min(max(usual, deadlinesFrom + 1), latest)
    }

    func state(of send: Send, in row: GroupRow, version: Int64, timestamp: Int64) -> ScopeState {
        let deadline = deadline(of: send, in: row)
        return ScopeState(
            send: send.id, version: version, timestamp: timestamp, content: send.content,
            priority: send.priority, deadline: deadline,
            expiration: min(send.expiration ?? deadline, deadline),
            acceptedAt: send.acceptedAt)
    }

    /// Returns the targets of a send to the key's whole scope.
    func targets(of send: Send, in row: GroupRow) -> Expansion.Targets {
        if let owner = key.recipient {
            return .recipients([
                Expansion.ScopedRecipient(
                    owner, scope: .recipient, generation: row.generation, version: row.version,
                    timestamp: row.timestamp)
            ])
        }
        if case .activity(let name) = key.subject { return .activities([name]) }
        return send.content.event == .start ? Expansion.Targets(send.audience) : .group
    }
}
