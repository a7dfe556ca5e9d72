internal import InstallationRecords
internal import SQLite

/// The part of a query for events that an index of the file answers: one user, one installation, or the events of an
/// app or group by their codes. The rows come in the query's order, because SQLite merges the codes.
struct EventSelection {
    /// One value for each number in the statement.
    private(set) var values: [SQLValue]
    private var conditions: [String]
    private var codes: [String] = []
    private let isOldestFirst: Bool

    /// The tie breaker of an event: four bytes for the lane and eight for the offset, both inverted.
    private static let laneBytes = 4
    private static let tieBreakerBytes = 12

    /// - Parameter lane: The lane of the file.
    init(query: LaneQuery, lane: Int32) {
        isOldestFirst = query.isOldestFirst
        let (from, to) = (query.from, query.to)
        values = [.text(query.app)]
        conditions = ["app = ?1"]
        if let user = query.user {
            addCondition("user =", .text(user))
        } else if let installation = query.installation {
            addCondition("installation =", .text(installation))
        } else {
            if let group = query.group { addCondition("group_name =", .text(group)) }
            codes = query.code.map { [$0] } ?? Event.Code.allCases.map(\.rawValue)
        }
        guard let after = query.after else {
            addCondition("at >=", .integer(from))
            addCondition("at <", .integer(to))
            return
        }
        // The time of the position bounds the index, so that a later page does not read the earlier ones.
        addCondition("at >=", .integer(isOldestFirst ? max(from, after.at) : from))
        addCondition("at <", .integer(isOldestFirst ? to : min(to, after.at + 1)))
        // Within the position's millisecond, the list continues behind this offset.
        let offset = Self.offset(after: after, in: lane, isAscending: isOldestFirst)
        values += [.integer(after.at), .integer(offset)]
        let (timeNumber, offsetNumber) = (values.count - 1, values.count)
        conditions.append(
            "(at <> ?\(timeNumber) OR offset \(isOldestFirst ? ">" : "<") ?\(offsetNumber))")
    }

    private mutating func addCondition(_ comparison: String, _ value: SQLValue) {
        values.append(value)
        conditions.append("\(comparison) ?\(values.count)")
    }

    /// Returns the statement. The columns begin with `offset` and `at`.
    func statement(columns: String) -> String {
        let selection = "SELECT \(columns) FROM events WHERE \(conditions.joined(separator: " AND "))"
        let order = isOldestFirst ? "ASC" : "DESC"
        // The codes are names of this program, so they need no placeholder.
        let parts = codes.isEmpty ? [selection] : codes.map { "\(selection) AND code = '\($0)'" }
        return parts.joined(separator: " UNION ALL ") + " ORDER BY at \(order), offset \(order)"
    }

    /// Returns the offset behind which the list continues in a lane, for events of the position's millisecond.
    private static func offset(after position: ListPosition, in lane: Int32, isAscending: Bool) -> Int64 {
        // No event of the millisecond follows.
        let behindAll = isAscending ? Int64.max : -1
        // All events of the millisecond follow.
        let beforeAll = isAscending ? -1 : Int64.max
        guard position.tieBreaker.count == tieBreakerBytes else { return behindAll }
        let invertedLane = position.tieBreaker.prefix(laneBytes).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let cursorLane = Int64(Int32.max) - invertedLane
        if cursorLane == Int64(lane) {
            return Int64.max - Int64(clamping: BigEndian.number(in: position.tieBreaker.span, at: laneBytes))
        }
        // In a list of the newest, higher lanes come first within a millisecond, so earlier pages contained
        // them.
        let isOnEarlierPage = isAscending ? Int64(lane) < cursorLane : Int64(lane) > cursorLane
        return isOnEarlierPage ? behindAll : beforeAll
    }
}
