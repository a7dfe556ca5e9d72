/// Requests whose records are in flight to Kafka. Each record carries the index of its request as its tag. Kafka's
/// client reports the delivery of a record exactly once, with the tag. When the last record of a request is
/// delivered, its index is free for another request.
struct PendingRequests<Request> {
    private struct Entry {
        var request: Request
        /// The records that are still in flight.
        var recordsInFlight: Int
        /// False if a record was not stored, or if its outcome is unknown.
        var isStored: Bool
    }

    private var entries: [Entry?] = []
    private var freeIndices: [Int] = []

    var count: Int { entries.count - freeIndices.count }

    /// Adds a request and returns its tag.
    ///
    /// - Parameter records: The number of records, at least one.
    mutating func add(_ request: Request, records: Int) -> UInt64 {
        precondition(records > 0, "a request waits for at least one record")
        let entry = Entry(request: request, recordsInFlight: records, isStored: true)
        guard let index = freeIndices.popLast() else {
            entries.append(entry)
            return UInt64(entries.count - 1)
        }
        entries[index] = entry
        return UInt64(index)
    }

    /// Notes the outcome of records of a request. After the last one, removes the request, and returns it with
    /// whether all of its records are stored.
    ///
    /// - Parameter records: The number of records with this outcome.
    mutating func settle(tag: UInt64, records: Int = 1, isStored: Bool) -> (Request, isStored: Bool)? {
        let index = Int(tag)
        precondition(entries.indices.contains(index) && entries[index] != nil, "a record returns once")
        entries[index]!.recordsInFlight -= records
        if !isStored { entries[index]!.isStored = false }
        precondition(entries[index]!.recordsInFlight >= 0, "a record returns once")
        guard entries[index]!.recordsInFlight == 0 else { return nil }
        let entry = entries[index]!
        entries[index] = nil
        freeIndices.append(index)
        return (entry.request, entry.isStored)
    }

    /// Removes and returns all requests, for a producer that has failed and delivers nothing more.
    mutating func removeAll() -> [Request] {
        let requests = Array(requests)
        entries = []
        freeIndices = []
        return requests
    }

    /// All waiting requests, unordered.
    var requests: some Sequence<Request> { entries.lazy.compactMap { $0?.request } }
}
