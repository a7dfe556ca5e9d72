/// The entries of one lane for a list, in the order of the list.
struct LaneList<Value: Sendable & Hashable> {
    var entries: [ListEntry<Value>] = []
    /// The position behind which rows were not read, because the budget was used up.
    private(set) var cut: ListPosition?

    /// The positions for `QueryResult.cuts`.
    var cuts: [ListPosition] { cut.map { [$0] } ?? [] }

    /// Ends the list early.
    ///
    /// - Parameter lastRead: The position of the last row that was read. Nil makes the query fail, because the next page
    ///   would begin and end at the same row again.
    mutating func cut(behind lastRead: ListPosition?) throws(QueryLimit) {
        guard let lastRead else { throw .time }
        cut = lastRead
    }
}
