/// The order of a list by time.
struct ListOrder {
    var isOldestFirst = false

    /// Whether the first position comes before the second one.
    func isBefore(_ first: ListPosition, _ second: ListPosition) -> Bool {
        isOldestFirst ? second.isNewer(than: first) : first.isNewer(than: second)
    }

    /// Returns the first entries of all lanes in order, and the position where the list continues. The position is
    /// nil if no entry is left.
    ///
    /// - Parameter cuts: The positions up to which lanes have read. Entries behind the first of them are left for the
    ///   next page, because entries before them may be missing.
    func firstPage<Value>(
        of entries: [ListEntry<Value>], cuts: [ListPosition] = [], limit: Int
    ) -> (page: [ListEntry<Value>], next: ListPosition?) {
        let cut = cuts.min(by: isBefore)
        let complete = entries.filter { entry in cut.map { !isBefore($0, entry.position) } ?? true }
            .sorted { isBefore($0.position, $1.position) }
        let page = Array(complete.prefix(limit))
        return (page, complete.count > limit ? page.last?.position : cut)
    }
}
