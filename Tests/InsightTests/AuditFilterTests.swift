import CatalogRecords
import RecordFormat
import Store
import Testing

@testable import Insight

/// The filters of the audit: the author, the action and the subject of its entries.
struct AuditFilterTests {
    private static let authors = ["k1", "k2"]
    private static let actions = ["key.create", "key.revoke", "segment.put"]
    private static let subjects = ["a", "b", "c", "d", "e"]

    /// One entry of each combination, and as many of another app.
    private static let entries: [AuditEntry] = ["shop", "bank"].flatMap { app in
        authors.flatMap { author in
            actions.flatMap { action in
                subjects.map { AuditEntry(at: 0, author: author, action: action, app: app, subject: $0) }
            }
        }
    }.enumerated().map { number, entry in
        var entry = entry
        entry.at = Int64(1000 + number)
        return entry
    }

    private static func filledLane() throws -> FilledLane {
        let lane = try FilledLane()
        var batch = RowBatch()
        for entry in entries {
            var value: [UInt8] = []
            BigEndian.append(entry.at, to: &value)
            value += entry.encoded()
            let key = AuditRowMapping.timePrefix(app: entry.app) + RowKey.newestFirst(time: entry.at)
            batch.putWithChecksum(key.span, value: value.span)
        }
        batch.sort()
        try lane.fill(.audit, table: .rows, with: batch)
        return lane
    }

    @Test(arguments: [nil] + authors, [nil] + actions)
    func `a list has exactly the entries of its filters, newest first`(author: String?, action: String?)
        throws
    {
        let lane = try Self.filledLane()
        for subject in [nil, "b", "nobody"] as [String?] {
            var query = LaneQuery(.audit, app: "shop")
            (query.author, query.code, query.subject) = (author, action, subject)
            query.limit = Self.entries.count
            let found = lane.reader.answer(query, budget: QueryBudget(milliseconds: 60_000)).audit
            let wanted = Self.entries.filter {
                $0.app == "shop" && (author == nil || $0.author == author)
                    && (action == nil || $0.action == action) && (subject == nil || $0.subject == subject)
            }
            #expect(found.map(\.value.at) == wanted.map(\.at).reversed())
        }
    }
}
