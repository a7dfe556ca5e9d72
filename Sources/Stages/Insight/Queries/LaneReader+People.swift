internal import Identifiers
internal import InstallationRecords
internal import Kafka
internal import RecordFormat
internal import Schedules
internal import Store

// Phones, users, their timers, and the pushes to them.

extension LaneReader {
    /// The limit of one user's installations in an answer. Further ones are not shown.
    private static let installationsMax = 100
    /// The limit of one recipient's timers in an answer. Further ones are not shown.
    private static let timersMax = 500

    /// Finds the installations, erasures and timers of the named recipients.
    func findPeople(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        for name in query.names {
            try budget.spendRow()
            guard let recipient = Recipient(text: name) else { continue }
            try findErasure(of: recipient, query: query, in: lane, into: &result)
            for key in try installationKeys(of: recipient, app: query.app, in: lane) {
                if let installation = try installation(at: key, in: lane) {
                    result.installations.append(installation)
                }
            }
            let timers = KeyRange(
                prefix: TimerRowMapping.ownerPrefix(app: query.app, owner: .recipient(recipient)))
            for row in try firstRows(
                Self.timersMax, within: timers, topic: .timers, table: .rows, in: lane)
            {
                if let timer = TimerRow.decodeIfValid(row.value, with: reader) { result.timers.append(timer) }
            }
        }
    }

    /// Returns the keys of the recipient's own row and of the user's installations. A user has an own row if a backend
    /// has set a profile.
    private func installationKeys(
        of recipient: Recipient, app: String, in lane: OpenLane
    ) throws(StoreError) -> [[UInt8]] {
        let ownKey = InstallationRowMapping.rowKey(of: recipient, app: app)
        guard case .user = recipient else { return [ownKey] }
        let range = KeyRange(prefix: InstallationRowMapping.recipientPrefix(of: recipient, app: app))
        // The values of the index are keys of rows, and one of them can be the user's own row.
        let keys = try firstRows(
            Self.installationsMax, within: range, topic: .installations, table: .index, in: lane
        ).map(\.value)
        return [ownKey] + keys.filter { $0 != ownKey }
    }

    /// Counts the running activities of the named groups.
    func countRunningActivities(
        _ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult
    ) throws {
        for group in query.names {
            try budget.spendRow()
            let key = InstallationRowMapping.runningCountKey(of: group, app: query.app)
            if let count = try value(of: key, topic: .installations, table: .counts, in: lane) {
                result.running[group] = Int(BigEndian.number(in: count.span, at: 0))
            }
        }
    }

    /// Finds the newest pushes to the named recipients. All pushes to a recipient are in the lane of the recipient's registry
    /// rows, so the other lanes find nothing.
    func findPushes(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let recipients = query.names.compactMap { Recipient(text: $0) }.filter {
            let key = RegistryKey.partitionKey(app: query.app, recipient: $0)
            return Murmur2.partition(forKey: key.span, partitionCount: laneCount) == Int(lane.partition)
        }
        if recipients.isEmpty { return }
        let found = try PushFinder(lane: lane, reader: reader, budget: budget).newest(
            limit: query.limit, to: recipients, on: query.installation, app: query.app)
        result.pushes = found.pushes
        if !found.isComplete { result.limit = .time }
    }

    // MARK: Erasures

    // An erasure is stored as an installation of the user that has only the time `erasedUpTo`.

    /// Finds the erasures of the named users.
    func findErasures(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        for name in query.names {
            try budget.spendRow()
            if let recipient = Recipient(text: name) {
                try findErasure(of: recipient, query: query, in: lane, into: &result)
            }
        }
    }

    private func findErasure(
        of recipient: Recipient, query: LaneQuery, in lane: OpenLane, into result: inout QueryResult
    ) throws {
        if let time = try erasure(of: recipient, app: query.app, in: lane) {
            result.erasures[recipient.text] = time.received
        }
    }

    /// Returns the time up to which the reports of a user are erased, or nil.
    func erasure(of recipient: Recipient, app: String, in lane: OpenLane) throws -> ReportTime? {
        guard case .user(let user) = recipient else { return nil }
        return try storedInstallation(
            at: InstallationRowMapping.erasureKey(ofUser: user, app: app), in: lane)?.erasedUpTo
    }

    /// Returns an installation with erasures applied. Ingest erases the installations of a user within hours,
    /// but an answer must show the erasure at once.
    func installation(at key: [UInt8], in lane: OpenLane) throws -> Installation? {
        guard let stored = try storedInstallation(at: key, in: lane) else { return nil }
        var erased: [Recipient: ReportTime] = [:]
        for recipient in [stored.recipient] + stored.formerRecipients.map(\.recipient) {
            erased[recipient] = try erasure(of: recipient, app: stored.app, in: lane)
        }
        return stored.erasing(users: erased) ?? stored
    }

    private func storedInstallation(at key: [UInt8], in lane: OpenLane) throws -> Installation? {
        try value(of: key, topic: .installations, table: .rows, in: lane).flatMap {
            Installation.decodeIfValid($0, with: reader)
        }
    }
}
