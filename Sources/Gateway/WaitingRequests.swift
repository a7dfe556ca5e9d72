/// Requests whose reports are on their way to Kafka. A record carries its request's place as its tag, and
/// comes back with it exactly once; a place is free again when its last record has come back.
struct WaitingRequests<Request> {
    private struct Place {
        var request: Request
        var outstanding: Int
        var isStored: Bool
    }

    private var places: [Place?] = []
    private var free: [Int] = []

    var count: Int { places.count - free.count }

    /// - Parameter records: how many will come back; at least one.
    mutating func add(_ request: Request, records: Int) -> UInt64 {
        precondition(records > 0, "a request waits for something")
        let place = Place(request: request, outstanding: records, isStored: true)
        guard let index = free.popLast() else {
            places.append(place)
            return UInt64(places.count - 1)
        }
        places[index] = place
        return UInt64(index)
    }

    /// Notes what became of records of a request; returns it when that was the last of them, with whether
    /// all of them are stored.
    mutating func settle(_ tag: UInt64, records: Int = 1, isStored: Bool) -> (Request, isStored: Bool)? {
        let index = Int(tag)
        precondition(places.indices.contains(index) && places[index] != nil, "a record comes back once")
        places[index]!.outstanding -= records
        if !isStored { places[index]!.isStored = false }
        precondition(places[index]!.outstanding >= 0, "a record comes back once")
        guard places[index]!.outstanding == 0 else { return nil }
        let place = places[index]!
        places[index] = nil
        free.append(index)
        return (place.request, place.isStored)
    }

    /// Gives up on all: their records will not come back.
    mutating func removeAll() -> [Request] {
        let requests = Array(requests)
        places = []
        free = []
        return requests
    }

    /// Of all that wait, in no order.
    var requests: some Sequence<Request> { places.lazy.compactMap { $0?.request } }
}
