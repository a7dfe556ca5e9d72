/// The limits of queries. They keep one API key from delaying the queries of others.
enum QueryLimits {
    /// The threads of one process that read files. A caller has at most one of them, so that the others stay free
    /// for other callers.
    static let threads = 4
    /// The reading time of one lane query in one process. Then a list ends with a cursor, and any other query fails
    /// with `QueryLimit.time`.
    static let readMilliseconds = 1000
    /// The rows that one lane query reads in one process. Beyond it the same happens as at the end of the time.
    static let rowsMax = 2_000_000
    /// The counts in one answer. Beyond it the answer ends with a cursor.
    static let bucketsMax = 20_000
    /// The lane queries of one caller that wait for a thread. Beyond it a query fails with `QueryLimit.waiting`.
    static let waitingPerCallerMax = 100
    /// The waiting lane queries of all callers. Beyond it a query fails with `QueryLimit.waiting`.
    static let waitingMax = 2000
}

/// A limit that ended a lane query early.
enum QueryLimit: String, CaseIterable, Error, Sendable {
    /// The reading time or the number of rows.
    case time
    /// A part of the answer that cannot be divided is too large.
    case size
    /// The number of waiting queries.
    case waiting
}
