internal import Identifiers
internal import Payloads
internal import Schedules
internal import Sends
internal import Store

/// One request while it is planned.
struct PlanBuilder<Table: GroupTable> {
    /// The default time from `deadlinesFrom` to the deadline of a send, and the longest one allowed, in seconds. Jobs
    /// are kept for a day.
    private static var deadlineSecondsDefault: Int64 { 8 * 3600 }
    private static var deadlineSecondsMax: Int64 { 20 * 3600 }

    let planner: Planner
    /// The scope of the request.
    let key: ScopeKey
    /// The record's time in milliseconds and in seconds since 1970.
    let stamp: Int64
    let now: Int64
    /// The time from which deadlines count, in seconds since 1970: the later of the stage's time and the broker's.
    /// Either may be wrong, and a deadline that is too early drops every job.
    private let deadlinesFrom: Int64
    var table: Table
    /// The row of the scope, as the request changes it. `writeRow` puts it into the table.
    var row = GroupRow()
    private var storedRow = GroupRow()
    var plan = Plan()

    /// - Parameters:
    ///   - stamp: the record's time by the clock of the stage, in milliseconds since 1970.
    ///   - unboundedStamp: the record's time without the clock of the stage; nil if there is no other time.
    init(_ planner: Planner, key: ScopeKey, stamp: Int64, unboundedStamp: Int64? = nil, in table: Table) {
        self.planner = planner
        self.key = key
        self.stamp = stamp
        self.table = table
        now = stamp / 1000
        deadlinesFrom = max(now, (unboundedStamp ?? stamp) / 1000)
    }

    // MARK: Rows

    mutating func readRow() throws(StoreError) { begin(with: try currentRow(of: key)) }

    mutating func begin(with row: GroupRow) { (self.row, storedRow) = (row, row) }

    /// Writes the scope's row if the request has changed it.
    mutating func writeRow() throws(StoreError) {
        if row == storedRow { return }
        table.set(row, of: key)
        try recountSubscribedGroup(changedFrom: storedRow)
    }

    func ownRow(of recipient: Recipient) throws(StoreError) -> GroupRow {
        try currentRow(of: key.narrowed(to: recipient))
    }

    /// Writes a recipient's row, unless `send` is a dry run.
    mutating func set(_ own: GroupRow, of recipient: Recipient, for send: Send) {
        if !send.isDryRun { table.set(own, of: key.narrowed(to: recipient)) }
    }

    /// Returns the table's row of a scope, unless the row is old enough to be forgotten. So it does not matter whether
    /// it was already deleted.
    private func currentRow(of key: ScopeKey) throws(StoreError) -> GroupRow {
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

    // MARK: Sends

    /// Plans a send that has passed the checks of `Planner`.
    mutating func apply(_ send: Send) throws(StoreError) {
        let event = send.content.event
        if event == .start {
            try start(send)
        } else if let users = namedUsers(of: send) {
            try planForUsers(users, with: send)
        } else if case .activities(let names) = send.audience, key.group != nil {
            planForActivities(named: names, with: send)
        } else if event == .update {
            update(send)
        } else {
            end(send)
        }
    }

    /// Returns the users that a send to a shared group names. Nil for all other sends.
    func namedUsers(of send: Send) -> [String]? {
        if case .users(let users) = send.audience, key.recipient == nil { users } else { nil }
    }

    /// Returns the only user that a send to a shared group names. Nil for all other sends.
    func singleUser(of send: Send) -> Recipient? {
        namedUsers(of: send).flatMap { $0.count == 1 ? .user($0[0]) : nil }
    }

    func isExpired(_ send: Send) -> Bool { send.deadline.map { $0 <= now } ?? false }

    /// The version of the next send of the group.
    var nextVersion: Int64 { SendSequence.next(after: row.highestVersion, at: stamp) }

    // MARK: Verdicts

    mutating func report(
        _ verdict: ProgressRecord.PlannerVerdict, for send: Send, version: Int64 = 0, generation: Int64 = 0,
        lanes: Int = 0, findings: [String] = [], ended: Int = 0
    ) {
        var part = ProgressRecord.PlannerPart(
            verdict, version: version, generation: generation, laneCount: lanes)
        part.findings = findings
        part.endedRecipients = ended
        part.outline = SendOutline(of: send)
        part.recipient = singleUser(of: send)
        var progress = ProgressRecord(
            send: send.id, key: key, isDryRun: send.isDryRun, acceptedAt: send.acceptedAt, writtenAt: stamp,
            part: .planner(part))
        progress.requestID = send.requestID
        plan.progress.append(progress)
    }

    /// Returns the plan's verdict on the send. The plan may also have verdicts on other sends, such as a superseded
    /// one.
    func verdict(on send: Send) -> GatewayReply.PlannedVerdict {
        for progress in plan.progress.reversed() where progress.send == send.id {
            if case .planner(let part) = progress.part { return .init(part.verdict, version: part.version) }
        }
        preconditionFailure("each send gets a verdict")
    }

    /// Replies to the gateway, if a request waits for the verdict.
    mutating func reply(to send: Send, with verdict: GatewayReply.PlannedVerdict) {
        plan.reply = send.replyTo.map { Plan.Reply(address: $0, verdict: verdict) }
    }

    // MARK: Expansions

    mutating func add(_ request: ExpansionRequest, for lanes: MemberLanes) {
        plan.requests.append(Plan.LaneRequest(request: request, lanes: lanes))
    }

    /// Adds an expansion for the lanes of the scope. Returns the number of these lanes. A send to named activities goes
    /// to every lane, because a lane may have such an activity before the planner knows that the lane has members.
    mutating func addExpansion(_ expansion: Expansion) -> Int {
        let lanes = if case .activities = expansion.targets { MemberLanes.every } else { lanes }
        add(.expansion(expansion), for: lanes)
        return lanes.count(of: planner.lanes)
    }

    /// The lanes of the scope: the lane of a private group's owner, or the lanes with members. Only a lane knows the
    /// owner of an activity without a group, so the sends to it go to every lane.
    var lanes: MemberLanes {
        if let owner = key.recipient { return lane(of: owner) }
        return key.group == nil ? .every : row.memberLanes
    }

    func lane(of recipient: Recipient) -> MemberLanes {
        .only(LaneSet([planner.lane(of: recipient, app: key.app)]))
    }

    /// Returns an expansion with the version and the timestamp of the scope's newest state.
    func expansion(of send: Send, to targets: Expansion.Targets) -> Expansion {
        let deadline = deadline(of: send)
        var expansion = Expansion(
            send: send.id, key: key, targets: targets, content: send.content, priority: send.priority,
            generation: row.generation, version: row.version, timestamp: row.timestamp, deadline: deadline,
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

    func state(of send: Send, version: Int64, timestamp: Int64) -> ScopeState {
        let deadline = deadline(of: send)
        return ScopeState(
            send: send.id, version: version, timestamp: timestamp, content: send.content,
            priority: send.priority, deadline: deadline,
            expiration: min(send.expiration ?? deadline, deadline), acceptedAt: send.acceptedAt)
    }

    /// Returns the deadline. It counts from `deadlinesFrom` and not from `acceptedAt`, because a gateway's clock may be
    /// wrong and a timed send was accepted long before. A send without its own deadline ends at the group's end date at
    /// the latest. An END does not, because no later send replaces it.
    private func deadline(of send: Send) -> Int64 {
        let latest = deadlinesFrom + Self.deadlineSecondsMax
        if let deadline = send.deadline { return min(deadline, latest) }
        let endDate = send.content.event == .end ? Int64.max : row.endDate ?? Int64.max
        let usual = min(endDate, deadlinesFrom + Self.deadlineSecondsDefault)
        // After the end date, too, the jobs have a second to leave.
        return min(max(usual, deadlinesFrom + 1), latest)
    }

    /// Returns the targets of a send to the key's whole scope.
    func targets(of send: Send) -> Expansion.Targets {
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

extension GroupRow {
    /// Takes the send that the scope holds out of the row.
    mutating func takeHeldSend() -> Send? {
        let held = heldSend
        heldSend = nil
        return held
    }

    /// Sets the newest version and timestamp of the whole scope.
    mutating func advance(to version: Int64, timestamp: Int64) {
        (self.version, highestVersion) = (version, version)
        (self.timestamp, highestTimestamp) = (timestamp, timestamp)
    }

    /// Whether the group ended after the send was scheduled. False for a send that was not scheduled.
    func hasEnded(since scheduledAt: Int64?) -> Bool { scheduledAt.map { endStamp > $0 } ?? false }
}
