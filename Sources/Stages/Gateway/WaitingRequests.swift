/// Requests whose records are in flight to Kafka. A record carries the index of its request as its tag and
/// returns exactly once with it. The index is free again when the last record has returned.
struct WaitingRequests<Request> {
    private struct Place {
        var request: Request
        var outstanding: Int
        var isStored: Bool
    }

    private var places: [Place?] = []
    private var free: [Int] = []

    var count: Int { places.count - free.count }

    /// Adds a request and returns its tag.
    ///
    /// - Parameter records: The number of records that will return, at least one.
    mutating func add(_ request: Request, records: Int) -> UInt64 {
        precondition(records > 0, "a request waits for at least one record")
        let place = Place(request: request, outstanding: records, isStored: true)
        guard let index = free.popLast() else {
            places.append(place)
            return UInt64(places.count - 1)
        }
        places[index] = place
        return UInt64(index)
    }

    /// Notes the outcome of records of a request. After the last one, returns the request and whether all
    /// records are stored.
    mutating func settle(_ tag: UInt64, records: Int = 1, isStored: Bool) -> (Request, isStored: Bool)? {
        let index = Int(tag)
        precondition(places.indices.contains(index) && places[index] != nil, "a record returns once")
        places[index]!.outstanding -= records
        if !isStored { places[index]!.isStored = false }
        precondition(places[index]!.outstanding >= 0, "a record returns once")
        guard places[index]!.outstanding == 0 else { return nil }
        let place = places[index]!
        places[index] = nil
        free.append(index)
        return (place.request, place.isStored)
    }

    /// Removes and returns all requests. Their records will not return.
    mutating func removeAll() -> [Request] {
        let requests = Array(requests)
        places = []
        free = []
        return requests
    }

    /// All waiting requests, unordered.
    var requests: some Sequence<Request> { places.lazy.compactMap { $0?.request } }
}
