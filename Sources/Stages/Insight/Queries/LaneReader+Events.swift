internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import RecordFormat

// Events and audit entries.

extension LaneReader {
    /// Lists events by their time.
    func listEvents(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let list = try eventReader(of: lane).events(for: query, lane: lane.partition, budget: budget)
        result.events = list.entries
        result.cuts = list.cuts
    }

    /// Counts events by hour. Counts by user leave out erased events.
    func countEvents(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let reader = try eventReader(of: lane)
        let list: EventReader.CountList
        if query.countsUsers {
            var erasures: [String: Int64] = [:]
            list = try reader.countsByUser(for: query, lane: lane.partition, budget: budget) { user in
                if let known = erasures[user] { return known }
                let erasedUpTo = try erasure(of: .user(user), app: query.app, in: lane)?.received ?? 0
                erasures[user] = erasedUpTo
                return erasedUpTo
            }
        } else {
            list = try reader.counts(for: query, budget: budget)
        }
        result.eventCounts = list.counts
        result.cutHour = list.cutHour
    }

    /// Counts the taps of a group between neighboring times.
    func countTaps(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        result.taps = try eventReader(of: lane).taps(for: query, budget: budget)
    }

    /// Lists audit entries by their time.
    func listAudit(
        _ query: LaneQuery, of topic: InsightTopic, in lane: OpenLane, into result: inout QueryResult
    ) throws {
        let list = try list(
            for: query, topic: topic, table: .rows, prefix: AuditRowMapping.timePrefix(app: query.app),
            in: lane
        ) { value -> AuditEntry? in
            guard let entry = AuditEntry.decodeIfValid(value, with: reader),
                query.author.map({ $0 == entry.author }) ?? true,
                query.code.map({ $0 == entry.action }) ?? true,
                query.subject.map({ $0 == entry.subject }) ?? true
            else { return nil }
            return entry
        }
        result.audit = list.entries
        result.cuts = list.cuts
    }
}
