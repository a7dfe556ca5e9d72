/// The search for the first send of a group after a time. Lists begin with the newest send and have a limit, so the
/// first send after an old one may be far behind the beginning of the list.
enum NextSendSearch {
    /// The first range that is searched. A busy group has a send about every second.
    private static let rangeMilliseconds: Int64 = 60_000
    /// The growth of the range after an empty list.
    private static let growth: Int64 = 8

    /// Returns the time of the first send after `start`.
    ///
    /// - Parameters:
    ///   - known: The time of some send after `start`.
    ///   - limit: The number of times that a complete list has at most.
    ///   - list: Returns the times of the sends in a range, the newest first. A list of `limit` times or more may lack
    ///     earlier ones.
    static func firstTime<Failure: Error>(
        after start: Int64, atMost known: Int64, limit: Int,
        list: (Range<Int64>) async throws(Failure) -> [Int64]
    ) async throws(Failure) -> Int64 {
        var lower = start + 1
        var first = known
        var width = rangeMilliseconds
        while lower < first {
            let range = lower..<min(first, lower + width)
            let times = try await list(range)
            if let earliest = times.min(), range.contains(earliest) {
                first = earliest
                if times.count < limit { break }
                // The list may lack earlier sends. Half of the range before its earliest send is searched next.
                width = max(1, (first - lower) / 2)
            } else {
                lower = range.upperBound
                // `known` is a time since 1970, so no range is wider. The limit keeps the width from overflowing.
                width = min(width * growth, known)
            }
        }
        return first
    }
}
