/// Requests whose records are in flight to Kafka. A record carries the index of its request as its tag and
/// returns exactly once with it. The index is free again when the last record has returned.
struct PendingRequests<Request> {
    private struct Entry {
        var request: Request
        var outstanding: Int
        var isStored: Bool
    }

    private var entries: [Entry?] = []
    private var free: [Int] = []

    var count: Int { entries.count - free.count }

    /// Adds a request and returns its tag.
    ///
    /// - Parameter records: The number of records that will return, at least one.
    mutating func add(_ request: Request, records: Int) -> UInt64 {
        precondition(records > 0, "a request waits for at least one record")
        let entry = Entry(request: request, outstanding: records, isStored: true)
        guard let index = free.popLast() else {
            entries.append(entry)
            return UInt64(entries.count - 1)
        }
        entries[index] = entry
        return UInt64(index)
    }

    /// Notes the outcome of records of a request. After the last one, returns the request and whether all
    /// records are stored.
    mutating func settle(tag: UInt64, records: Int = 1, isStored: Bool) -> (Request, isStored: Bool)? {
        let index = Int(tag)
        precondition(entries.indices.contains(index) && entries[index] != nil, "a record returns once")
        entries[index]!.outstanding -= records
        if !isStored { entries[index]!.isStored = false }
        precondition(entries[index]!.outstanding >= 0, "a record returns once")
        guard entries[index]!.outstanding == 0 else { return nil }
        let entry = entries[index]!
        entries[index] = nil
        free.append(index)
        return (entry.request, entry.isStored)
    }

    /// Removes and returns all requests. Their records will not return.
    mutating func removeAll() -> [Request] {
        let requests = Array(requests)
        entries = []
        free = []
        return requests
    }

    /// All waiting requests, unordered.
    var requests: some Sequence<Request> { entries.lazy.compactMap { $0?.request } }
}
