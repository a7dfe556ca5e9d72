internal import Identifiers
internal import InstallationRecords
internal import RecordFormat
internal import Schedules
internal import Store

extension LaneReader {
    /// The limit of one recipient's installations in an answer.
    private static let installationsMax = 100
    /// The limit of one owner's timers in an answer.
    private static let timersMax = 500

    /// Finds the installations, erasures and timers of the named recipients.
    func findPeople(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let app = query.app
        for text in query.names {
            try budget.spendRow()
            guard let recipient = Recipient(text: text) else { continue }
            var keys = [InstallationRowMapping.rowKey(of: recipient, app: app)]
            try findErasure(of: recipient, query: query, in: lane, into: &result)
            if case .user = recipient {
                let range = KeyRange(prefix: InstallationRowMapping.recipientPrefix(of: recipient, app: app))
                keys += try rows(
                    within: range, topic: .installations, table: .index, in: lane, max: Self.installationsMax
                )
                .map(\.value)
            }
            // The first key is the recipient's own row, which a user has if a backend sent a profile. The
            // index can lead to the same row.
            for key in keys {
                guard let installation = try installation(at: key, in: lane),
                    !result.installations.contains(installation)
                else { continue }
                result.installations.append(installation)
            }
            let timers = KeyRange(prefix: TimerRowMapping.ownerPrefix(app: app, owner: .recipient(recipient)))
            for (_, value) in try rows(
                within: timers, topic: .timers, table: .rows, in: lane, max: Self.timersMax)
            {
                if let row = TimerRow.decodeIfValid(value, with: reader) { result.timers.append(row) }
            }
        }
    }

    /// Finds the time up to which a user's data is erased.
    func findErasure(
        of recipient: Recipient, query: LaneQuery, in lane: OpenLane, into result: inout QueryResult
    ) throws {
        if let erased = try erasure(of: recipient, app: query.app, in: lane) {
            result.erasures[recipient.text] = erased.received
        }
    }

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
